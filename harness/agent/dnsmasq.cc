#include "harness/agent/dnsmasq.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <mutex>
#include <thread>

#include "dataplane/base/file.h"
#include "harness/agent/operations.h"
#include "harness/process/child.h"
#include "harness/process/program.h"

namespace pathproof::agent {
namespace {

constexpr std::size_t kMostLines = 400;
constexpr milliseconds kStartsWithin{10'000};
constexpr milliseconds kSaysWithin{2'000};
constexpr const char* kInstall = "install the package dnsmasq-base";
constexpr std::string_view kWorkers = "child processes for TCP requests: in use ";
// The last line of its answer to SIGUSR1 that every version has.
constexpr const char* kServer = ": queries sent ";

struct Process {
    pid_t pid = 0;
    pid_t parent = 0;
};

// Lists the processes of one process group (setpgid(2) of the one that was started).
std::vector<Process> processes_of(pid_t group) {
    std::vector<Process> found;
    std::error_code gone;
    for (const auto& folder : std::filesystem::directory_iterator("/proc", gone)) {
        const pid_t pid = std::atoi(folder.path().filename().c_str());
        if (pid == 0) {
            continue;
        }
        const std::string text = read_file(folder.path() / "stat").value_or("");
        const std::size_t end = text.rfind(')');  // of the command's name, which may hold any
        Process process{.pid = pid};
        pid_t own = 0;
        if (end != std::string::npos &&
            std::sscanf(text.c_str() + end + 1, " %*c %d %d", &process.parent, &own) == 2 &&
            own == group) {
            found.push_back(process);
        }
    }
    return found;
}

Result<std::string> find_program() {
    for (const char* folder :
         {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}) {
        const std::string path = std::string(folder) + "/dnsmasq";
        if (access(path.c_str(), X_OK) == 0) {
            return path;
        }
    }
    return fail(ErrorCode::kNotFound, "dnsmasq is not installed: {}", kInstall);
}

// A shell is the first process of the PID namespace: it ends with unshare(1), whatever becomes of
// dnsmasq, which would not once it changes its group (PR_SET_PDEATHSIG).
std::vector<std::string> command_of(const std::string& program, const DnsmasqOptions& options) {
    std::vector<std::string> argv{
        "unshare",
        "--pid",
        "--fork",
        "--kill-child",
        "--",
        "sh",
        "-c",
        "\"$0\" \"$@\"; exit $?",
        program,
        "--keep-in-foreground",
        "--conf-file=/dev/null",
        "--user=root",
        "--pid-file=",
        "--log-facility=-",
        "--no-resolv",
        "--no-hosts",
        "--bind-interfaces",
        "--port=53",
        fmt::format("--cache-size={}", options.cache_size),
        fmt::format("--server={}#{}", to_string(options.upstream.address), options.upstream.port)};
    for (const frame::IpAddress& address : options.addresses) {
        argv.push_back("--listen-address=" + to_string(address));
    }
    if (options.max_tcp_connections != 0) {
        argv.push_back(fmt::format("--max-tcp-connections={}", options.max_tcp_connections));
    }
    if (options.dns_forward_max != 0) {
        argv.push_back(fmt::format("--dns-forward-max={}", options.dns_forward_max));
    }
    return argv;
}

bool line_has(const std::string& line, const char* words) {
    return line.find(words) != std::string::npos;
}

// The one that is installed. It runs in a PID namespace of its own, so that its workers end with it,
// and it ends with this process.
struct Dnsmasq {
    std::mutex mutex;  // of all below
    std::condition_variable news;
    std::deque<std::string> lines;
    std::uint64_t lines_ever = 0;
    bool serves = false;
    std::string ended;  // how; empty: it runs
    pid_t pid = -1;     // of unshare(1): the leader of its process group
    std::jthread keeper;

    // Waits until it serves. Errors: not installed (kNotFound), an option that it does not know
    // (kNotSupported), or its last words.
    static Result<std::unique_ptr<Dnsmasq>> start(const DnsmasqOptions& options);

    ~Dnsmasq() {
        const std::lock_guard lock(mutex);
        if (pid > 0) {
            kill(pid, SIGKILL);
        }
    }

    // The thread that forks: the child dies with it (process::Child).
    void keep(const std::vector<std::string>& argv) {
        auto child = process::Child::start(argv, {.keep_errors = true});
        {
            const std::lock_guard lock(mutex);
            pid = child ? child->pid() : -1;
            ended = child ? "" : child.error().message;
        }
        std::string rest;
        char chunk[4096];
        for (ssize_t got = 1; child && got > 0;) {
            got = read(child->errors(), chunk, sizeof chunk);
            rest.append(chunk, static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
            take_lines(rest);
        }
        {
            const std::lock_guard lock(mutex);
            pid = -1;  // nobody may kill what has its number next
        }
        const std::string how = child ? child->stop() : "";
        const std::lock_guard lock(mutex);
        ended = child ? how : ended;
        news.notify_all();
    }

    void take_lines(std::string& text) {
        const std::lock_guard lock(mutex);
        for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
            lines.push_back(text.substr(0, end));
            serves |= line_has(lines.back(), "started, version");
            ++lines_ever;
            text.erase(0, end + 1);
        }
        while (lines.size() > kMostLines) {
            lines.pop_front();
        }
        news.notify_all();
    }

    std::string last_line() const { return lines.empty() ? "it said nothing" : lines.back(); }

    // True once a line after the first `before` ones has the words.
    bool says(std::unique_lock<std::mutex>& lock, std::uint64_t before, const char* words) {
        return news.wait_for(lock, kSaysWithin, [&] {
            const std::uint64_t fresh = std::min<std::uint64_t>(lines_ever - before, lines.size());
            return !ended.empty() ||
                   std::any_of(lines.end() - static_cast<std::ptrdiff_t>(fresh), lines.end(),
                               [&](const std::string& line) { return line_has(line, words); });
        });
    }

    // With what it says itself of its workers (SIGUSR1).
    DnsmasqReport report() {
        DnsmasqReport now;
        std::unique_lock lock(mutex);
        // unshare(1), the shell, dnsmasq, its workers.
        const auto group = pid > 0 ? processes_of(pid) : std::vector<Process>();
        const auto shell = std::ranges::find(group, pid, &Process::parent);
        for (const Process& main : group) {
            if (shell == group.end() || main.parent != shell->pid) {
                continue;
            }
            const std::uint64_t before = lines_ever;
            now.workers =
                static_cast<std::uint32_t>(std::ranges::count(group, main.pid, &Process::parent));
            if (kill(main.pid, SIGUSR1) == 0 && says(lock, before, kServer)) {
                now.said = workers_said({lines.begin(), lines.end()});
            }
        }
        now.log = {lines.begin(), lines.end()};
        if (!ended.empty()) {
            now.ended = fmt::format("dnsmasq ended ({}): {}", ended, last_line());
        }
        return now;
    }
};

Result<std::unique_ptr<Dnsmasq>> Dnsmasq::start(const DnsmasqOptions& options) {
    const std::string program = TRY(find_program());
    if (options.max_tcp_connections != 0) {
        const auto help = TRY(process::run_program({program, "--help"}));
        if (!line_has(help.out + help.err, "--max-tcp-connections")) {
            return fail(ErrorCode::kNotSupported,
                        "this dnsmasq does not know --max-tcp-connections, which is new in 2.90");
        }
    }
    auto dnsmasq = std::make_unique<Dnsmasq>();
    Dnsmasq& own = *dnsmasq;
    own.keeper = std::jthread([&own, argv = command_of(program, options)] { own.keep(argv); });
    std::unique_lock lock(own.mutex);
    own.news.wait_for(lock, kStartsWithin, [&] { return own.serves || !own.ended.empty(); });
    if (!own.ended.empty()) {
        return fail(ErrorCode::kUnavailable, "dnsmasq ended ({}): {}", own.ended, own.last_line());
    }
    if (!own.serves) {
        const std::string last = own.last_line();
        lock.unlock();
        return fail(ErrorCode::kUnavailable, "dnsmasq did not come to serve within {} s: {}",
                    kStartsWithin.count() / 1000, last);
    }
    return dnsmasq;
}

}  // namespace

std::optional<DnsmasqWorkers> workers_said(const std::vector<std::string>& log) {
    for (auto line = log.rbegin(); line != log.rend(); ++line) {
        const std::size_t at = line->find(kWorkers);
        DnsmasqWorkers said;
        if (at != std::string::npos &&
            std::sscanf(line->c_str() + at + kWorkers.size(),
                        "%u, highest since last SIGUSR1 %u, max allowed %u", &said.in_use,
                        &said.highest, &said.most) == 3) {
            return said;
        }
    }
    return std::nullopt;
}

Status Client::start_dnsmasq(const DnsmasqOptions& options) {
    return impl_->ask_for<void>(kStartTime, "start_dnsmasq", options);
}

Result<DnsmasqReport> Client::dnsmasq_report() {
    return impl_->ask<DnsmasqReport>("dnsmasq_report");
}

Status Client::stop_dnsmasq() {
    return impl_->ask<void>("stop_dnsmasq");
}

void add_dnsmasq(Operations& operations) {
    const auto dnsmasq = std::make_shared<One<Dnsmasq>>("dnsmasq");
    operations.add("start_dnsmasq",
                   [dnsmasq](const DnsmasqOptions& options) { return dnsmasq->start(options); });
    operations.add("dnsmasq_report",
                   [dnsmasq] { return dnsmasq->look([](Dnsmasq& one) { return one.report(); }); });
    operations.add("stop_dnsmasq", [dnsmasq]() -> Status {
        dnsmasq->drop();
        return {};
    });
}

}  // namespace pathproof::agent
