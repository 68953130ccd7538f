#include <fmt/format.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "harness/monitor/monitor.h"
#include "harness/netfilter/events.h"
#include "harness/netfilter/stats.h"
#include "tests/monitor/lab_socket.h"
#include "tests/netfilter/lab_namespace.h"
#include "tests/netfilter/nfqueue.h"

BOOST_AUTO_TEST_SUITE(clashes_lab)

using namespace pathproof;
using namespace std::chrono_literals;
using monitor::lab::LabSocket;
using nlohmann::json;

namespace {

constexpr std::uint16_t kQueue = 9;
constexpr const char* kService = "198.18.9.10";
constexpr unsigned kAnswered = 12, kUnanswered = 8, kLate = 3, kMerged = 5;

// A client, a service with two backends on port 53 and with one on port 54, and first packets held
// just before their entries are confirmed.
struct Races {
    netfilter::lab::Namespace space{"races"};
    std::unique_ptr<netfilter::lab::HeldPackets> held;
    std::unique_ptr<LabSocket> first, second, only;
    std::vector<LabSocket> clients;
    std::vector<sockaddr_in> waiting;  // clients whose query the second backend has not answered

    Races() {
        for (const char* address : {"198.18.9.1", "198.18.9.2", "198.18.9.3", kService}) {
            space.run(fmt::format("ip address add {}/32 dev lo", address));
        }
        dnat("--dport 53 -m statistic --mode nth --every 2 --packet 0", "198.18.9.2:53");
        dnat("--dport 53", "198.18.9.3:53");
        dnat("--dport 54", "198.18.9.2:54");
        space.run(fmt::format(
            "iptables -t mangle -A POSTROUTING -p udp --dport 53:54 -m conntrack --ctstate NEW -j "
            "NFQUEUE --queue-num {}",
            kQueue));
        held = std::make_unique<netfilter::lab::HeldPackets>(space.name(), kQueue);
        first = server("198.18.9.2", 53);
        second = server("198.18.9.3", 53);
        only = server("198.18.9.2", 54);
    }

    void dnat(const char* match, const char* backend) const {
        space.run(
            fmt::format("iptables -t nat -A OUTPUT -p udp -d {} {} -j DNAT --to-destination {}",
                        kService, match, backend));
    }

    std::unique_ptr<LabSocket> server(const char* address, std::uint16_t port) const {
        auto socket = std::make_unique<LabSocket>(space.name(), SOCK_DGRAM);
        socket->bind(address, port);
        return socket;
    }

    // Two packets of one socket look up, find nothing, and are then confirmed one after the other.
    void race(std::uint16_t port) {
        clients.emplace_back(space.name(), SOCK_DGRAM);
        clients.back().bind("198.18.9.1", static_cast<std::uint16_t>(40'000 + clients.size()));
        for (int i = 0; i < 2; ++i) {
            clients.back().send_to(monitor::lab::end_of(kService, port));
        }
        for (const std::uint32_t id : held->wait_for(2)) {
            held->release(id);
        }
    }

    static sockaddr_in query(LabSocket& server) {
        const auto from = server.receive();
        BOOST_REQUIRE(from.has_value());
        return *from;
    }

    void run_all() {
        for (unsigned i = 0; i < kMerged; ++i) {
            race(54);
            only->send_to(query(*only));
            only->send_to(query(*only));
        }
        for (unsigned i = 0; i < kAnswered + kUnanswered; ++i) {
            race(53);
            first->send_to(query(*first));
            const sockaddr_in asker = query(*second);
            if (i < kAnswered) {
                second->send_to(asker);
            } else {
                waiting.push_back(asker);
            }
        }
    }

    void answer_late() {
        std::this_thread::sleep_for(1300ms);
        for (unsigned i = 0; i < kLate; ++i) {
            second->send_to(waiting[i]);
        }
    }
};

// `pathproof inspect ...` until it is interrupted.
class Inspect {
  public:
    explicit Inspect(const std::vector<std::string>& arguments) {
        int ends[2];
        BOOST_REQUIRE(pipe(ends) == 0);
        pid_ = fork();
        BOOST_REQUIRE(pid_ >= 0);
        if (pid_ == 0) {
            dup2(ends[1], STDOUT_FILENO);
            dup2(ends[1], STDERR_FILENO);
            close(ends[0]);
            close(ends[1]);
            std::vector<char*> argv{std::getenv("PATHPROOF")};
            for (const std::string& argument : arguments) {
                argv.push_back(const_cast<char*>(argument.c_str()));
            }
            argv.push_back(nullptr);
            execv(argv[0], argv.data());
            _exit(127);
        }
        close(ends[1]);
        output_ = fdopen(ends[0], "r");
    }
    ~Inspect() {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
        fclose(output_);
    }
    Inspect(const Inspect&) = delete;

    std::string read_line() {
        char line[16'384];
        return std::fgets(line, sizeof line, output_) == nullptr ? "" : line;
    }

    std::vector<json> interrupt_and_read() {
        kill(pid_, SIGINT);
        std::vector<json> lines;
        for (std::string line = read_line(); !line.empty(); line = read_line()) {
            lines.push_back(json::parse(line));
        }
        return lines;
    }

  private:
    pid_t pid_ = -1;
    FILE* output_ = nullptr;
};

std::size_t count_fate(const std::vector<json>& lines, const std::string& fate) {
    return static_cast<std::size_t>(std::count_if(
        lines.begin(), lines.end(),
        [&](const json& line) { return line.contains("clash") && line["clash"]["fate"] == fate; }));
}

}  // namespace

BOOST_AUTO_TEST_CASE(
    clashes_equal_the_kernels_counter_less_the_merged_ones_and_the_marked_destroys) {
    Races races;
    auto listener = netfilter::EventListener::start({.netns = races.space.name()});
    BOOST_REQUIRE_MESSAGE(listener, listener.error().message);
    Inspect inspect({"inspect", "clashes", "--json", "--netns", races.space.name()});
    BOOST_REQUIRE(inspect.read_line().find("listening") != std::string::npos);

    races.run_all();
    races.answer_late();
    const auto lines = inspect.interrupt_and_read();

    const auto stats = netfilter::cpu_stats(races.space.name());
    const auto log = (*listener)->stop();
    BOOST_REQUIRE(stats && log);
    constexpr unsigned kHidden = kAnswered + kUnanswered;
    BOOST_TEST(netfilter::total(*stats, "clash_resolve") == kHidden + kMerged);
    const auto marked =
        std::count_if(log->events.begin(), log->events.end(), [](const netfilter::Event& event) {
            return event.kind == netfilter::EventKind::kDestroy &&
                   (event.entry.status & 0x1000) != 0;
        });
    BOOST_TEST(marked == kHidden);

    BOOST_REQUIRE(!lines.empty() && lines.back().contains("summary"));
    const json& balance = lines.back()["summary"]["balance"];
    BOOST_TEST(balance["clash_resolve"] == kHidden + kMerged);
    BOOST_TEST(balance["hidden"] == kHidden);
    BOOST_TEST(balance["merged"] == kMerged);
    BOOST_TEST(balance["hidden_before"] == 0);
    BOOST_TEST(balance["agree"] == true);
    // Entries that the table counts and a dump does not list are the hidden ones.
    BOOST_TEST(balance["entries"].get<unsigned>() - balance["listed"].get<unsigned>() ==
               balance["hidden_gone_later"].get<unsigned>());
    const json& counts = lines.back()["summary"]["counts"];
    BOOST_TEST(counts["answered"] == kAnswered);
    BOOST_TEST(counts["unanswered"] == kUnanswered);
    BOOST_TEST(counts["late_answers"] == kLate);
    BOOST_TEST(counts["late_after_a_clash"] == kLate);
    BOOST_TEST(count_fate(lines, "answered") == kAnswered);
    BOOST_TEST(count_fate(lines, "unanswered") == kUnanswered);
    for (const json& line : lines) {
        if (line.contains("clash")) {
            BOOST_TEST(!line["clash"]["winner"].is_null());
        }
    }
}

BOOST_AUTO_TEST_CASE(the_monitor_counts_clashes_and_filters_them_by_service) {
    Races races;
    auto all = monitor::Monitor::start({.netns = races.space.name()});
    monitor::MonitorOptions other{.netns = races.space.name()};
    other.filter.original.destination_port = 54;
    auto filtered = monitor::Monitor::start(other);
    BOOST_REQUIRE(all && filtered);
    for (unsigned i = 0; i < 4; ++i) {
        races.race(53);
        races.first->send_to(Races::query(*races.first));
        races.second->send_to(Races::query(*races.second));
    }
    for (int waited = 0; waited < 100 && (*all)->snapshot().clashes.answered < 4; ++waited) {
        std::this_thread::sleep_for(50ms);
    }
    const monitor::Snapshot snapshot = (*all)->snapshot();
    BOOST_TEST(snapshot.clashes.hidden == 4U);
    BOOST_TEST(snapshot.clashes.answered == 4U);
    BOOST_TEST(snapshot.events.created == 4U);
    BOOST_REQUIRE_EQUAL(snapshot.last_clashes.size(), 4U);
    BOOST_TEST(snapshot.last_clashes.front().number == 3U);
    BOOST_TEST((*filtered)->snapshot().clashes.hidden == 0U);
    BOOST_TEST((*filtered)->snapshot().events.created == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
