#include "harness/cli/inspect/findings.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "dataplane/base/clock.h"
#include "harness/process/child.h"
#include "harness/process/foreign.h"
#include "harness/process/json_text.h"
#include "harness/process/stop.h"

namespace pathproof::cli::inspect {
namespace {

using nlohmann::json;
using process::part;
using process::text_of;
using Clock = std::chrono::steady_clock;

constexpr auto kNotice = std::chrono::milliseconds(100);
constexpr std::size_t kMostBytes = std::size_t{16} << 20;
constexpr std::size_t kMostFindings = 256;

}  // namespace

std::optional<monitor::Findings> parse_findings(const std::string& lines) {
    monitor::Findings findings;
    bool is_whole = false;
    for (const std::string& line : process::lines_of(lines)) {
        const json value = process::parse_foreign(line);
        if (part(value, "complaints").is_number_unsigned()) {
            is_whole = true;
            for (const json& missing : part(value, "not_seen")) {
                findings.missing.push_back(text_of(missing));
            }
        } else if (part(value, "kind").is_string() && findings.found.size() < kMostFindings) {
            findings.found.push_back({.kind = text_of(part(value, "kind")),
                                      .cause = text_of(part(value, "cause")),
                                      .count = process::number_of(part(value, "count")),
                                      .what = text_of(part(value, "what")),
                                      .next = text_of(part(value, "next"))});
        }
    }
    return is_whole ? std::optional(findings) : std::nullopt;
}

FindingsWatch::FindingsWatch(FindingsOptions options) : options_(std::move(options)) {
    if (options_.every > std::chrono::nanoseconds(0)) {
        thread_ = std::thread([this] { run(); });
    }
}

FindingsWatch::~FindingsWatch() {
    stopping_ = true;
    if (thread_.joinable()) {
        thread_.join();
    }
}

std::optional<monitor::Findings> FindingsWatch::of(const std::string& netns) const {
    const std::scoped_lock lock(mutex_);
    const auto found = last_.find(netns);
    return found == last_.end() ? std::nullopt : std::optional(found->second);
}

bool FindingsWatch::wait_until(Clock::time_point moment) const {
    while (Clock::now() < moment && !stopping_ && !process::stopping()) {
        std::this_thread::sleep_for(kNotice);
    }
    return !stopping_ && !process::stopping();
}

void FindingsWatch::run() {
    for (auto next = Clock::now(); wait_until(next);) {
        next += std::chrono::duration_cast<Clock::duration>(options_.every);
        for (const std::string& netns : options_.netns) {
            if (!stopping_) {
                look(netns);
            }
        }
        next = std::max(next, Clock::now());
    }
}

// The last conclusions stay, with their age, where the doctor cannot be started or does not end whole.
void FindingsWatch::look(const std::string& netns) {
    std::vector<std::string> command{process::own_binary(),
                                     "inspect",
                                     "doctor",
                                     "--json",
                                     "--duration",
                                     fmt::format("{}", options_.look_s)};
    if (!netns.empty()) {
        command.insert(command.end(), {"--netns", netns});
    }
    if (!options_.drops) {
        command.emplace_back("--no-drops");
    }
    auto child = process::Child::start(command, {.netns = {}, .keep_errors = true});
    if (!child) {
        return;
    }
    std::string text;
    char piece[4096];
    for (bool open = true; open && text.size() < kMostBytes;) {
        pollfd waiting[] = {{child->socket(), POLLIN, 0}, {child->errors(), POLLIN, 0}};
        (void)poll(waiting, 2, static_cast<int>(kNotice.count()));
        if (stopping_ || process::stopping()) {
            kill(child->pid(), SIGKILL);
            return;
        }
        if ((waiting[1].revents & POLLIN) != 0) {
            (void)!read(child->errors(), piece, sizeof piece);
        }
        if ((waiting[0].revents & (POLLIN | POLLHUP)) != 0) {
            const ssize_t got = read(child->socket(), piece, sizeof piece);
            open = got > 0;
            text.append(piece, static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
        }
    }
    if (auto findings = parse_findings(text)) {
        findings->time_ns = realtime_ns();
        const std::scoped_lock lock(mutex_);
        last_[netns] = std::move(*findings);
    }
}

}  // namespace pathproof::cli::inspect
