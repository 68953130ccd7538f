#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <thread>

#include "harness/netfilter/clashes.h"
#include "harness/netfilter/dump.h"
#include "harness/netfilter/events.h"
#include "harness/netfilter/stats.h"
#include "harness/process/netns.h"
#include "harness/process/program.h"
#include "tests/netfilter/lab_namespace.h"
#include "tests/netfilter/nfqueue.h"
#include "tests/netfilter/watching.h"

using namespace pathproof;
using namespace pathproof::netfilter;
using namespace std::chrono_literals;

namespace {

constexpr std::uint16_t kQueue = 7;
constexpr const char* kService = "198.18.9.10";

// A UDP socket inside the namespace, bound to an address.
class UdpSocket {
  public:
    UdpSocket(const std::string& netns, const char* address, std::uint16_t port) {
        const auto opened = process::in_netns(netns, [&]() -> Status {
            fd_ = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
            return {};
        });
        BOOST_REQUIRE(opened && fd_ >= 0);
        const timeval wait{.tv_sec = 3, .tv_usec = 0};
        setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
        const sockaddr_in here = end(address, port);
        BOOST_REQUIRE(bind(fd_, reinterpret_cast<const sockaddr*>(&here), sizeof here) == 0);
    }
    ~UdpSocket() { close(fd_); }
    UdpSocket(const UdpSocket&) = delete;

    static sockaddr_in end(const char* address, std::uint16_t port) {
        sockaddr_in there{};
        there.sin_family = AF_INET;
        there.sin_port = htons(port);
        inet_pton(AF_INET, address, &there.sin_addr);
        return there;
    }

    void send_to(const sockaddr_in& there) {
        BOOST_REQUIRE(
            sendto(fd_, "q", 1, 0, reinterpret_cast<const sockaddr*>(&there), sizeof there) == 1);
    }

    // Takes one packet; who sent it.
    sockaddr_in receive() {
        sockaddr_in from{};
        socklen_t length = sizeof from;
        char byte = 0;
        BOOST_REQUIRE(recvfrom(fd_, &byte, 1, 0, reinterpret_cast<sockaddr*>(&from), &length) == 1);
        return from;
    }

  private:
    int fd_ = -1;
};

// A client, a service with two backends, and the client's two first packets held just before they
// are confirmed.
struct Race {
    lab::Namespace space{"clash"};
    std::unique_ptr<lab::HeldPackets> held;
    std::unique_ptr<UdpSocket> client, first, second;
    std::unique_ptr<EventListener> listener;

    Race() {
        for (const char* address : {"198.18.9.1", "198.18.9.2", "198.18.9.3", kService}) {
            space.run(fmt::format("ip address add {}/32 dev lo", address));
        }
        space.run(fmt::format(
            "iptables -t nat -A OUTPUT -p udp -d {} --dport 53 -m statistic --mode nth --every 2 "
            "--packet 0 -j DNAT --to-destination 198.18.9.2:53",
            kService));
        space.run(
            fmt::format("iptables -t nat -A OUTPUT -p udp -d {} --dport 53 -j DNAT "
                        "--to-destination 198.18.9.3:53",
                        kService));
        space.run(
            fmt::format("iptables -t mangle -A POSTROUTING -p udp --dport 53 -m conntrack "
                        "--ctstate NEW -j NFQUEUE "
                        "--queue-num {}",
                        kQueue));
        held = std::make_unique<lab::HeldPackets>(space.name(), kQueue);
        client = std::make_unique<UdpSocket>(space.name(), "198.18.9.1", 40000);
        first = std::make_unique<UdpSocket>(space.name(), "198.18.9.2", 53);
        second = std::make_unique<UdpSocket>(space.name(), "198.18.9.3", 53);
        auto started =
            EventListener::start({.netns = space.name(), .filter = {.protocol = IPPROTO_UDP}});
        BOOST_REQUIRE_MESSAGE(started, started.error().message);
        listener = std::move(*started);
    }

    // Both packets look up, find nothing, and are then confirmed one after the other.
    void clash() {
        for (int i = 0; i < 2; ++i) {
            client->send_to(UdpSocket::end(kService, 53));
        }
        for (const std::uint32_t id : held->wait_for(2)) {
            held->release(id);
        }
    }

    EventLog log() {
        auto stopped = listener->stop();
        BOOST_REQUIRE_MESSAGE(stopped, stopped.error().message);
        return *stopped;
    }
};

std::string from(const sockaddr_in& sender) {
    char text[INET_ADDRSTRLEN];
    return inet_ntop(AF_INET, &sender.sin_addr, text, sizeof text);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_clash_answered_in_time_is_found_with_both_tuples) {
    Race race;
    race.clash();
    for (UdpSocket* backend : {race.first.get(), race.second.get()}) {
        backend->send_to(backend->receive());
    }
    BOOST_TEST(from(race.client->receive()) == kService);
    BOOST_TEST(from(race.client->receive()) == kService);

    // First, for the hidden entry lives for a second and a listing walks the whole kernel's table.
    const auto size = table_size(race.space.name());
    BOOST_REQUIRE(size);
    BOOST_TEST(size->entries == 2U);
    const auto stats = cpu_stats(race.space.name());
    BOOST_REQUIRE(stats);
    BOOST_TEST(total(*stats, "clash_resolve") == 1U);
    const auto listed = dump_all(race.space.name(), {.protocol = IPPROTO_UDP});
    BOOST_REQUIRE(listed);
    BOOST_TEST(listed->size() == 1U);

    const ClashReport report = find_clashes(race.log());
    BOOST_REQUIRE_EQUAL(report.clashes.size(), 1U);
    const Clash& clash = report.clashes[0];
    BOOST_TEST((clash.fate == Clash::Fate::kAnswered));
    BOOST_TEST(frame::to_string(clash.hidden.original.destination) == "198.18.9.10:53");
    BOOST_TEST(frame::to_string(clash.hidden.reply.source) == "198.18.9.3:53");
    BOOST_REQUIRE(clash.winner);
    BOOST_TEST(frame::to_string(clash.winner->reply.source) == "198.18.9.2:53");
    BOOST_TEST(report.late_answers.empty());
}

BOOST_AUTO_TEST_CASE(an_answer_after_one_second_comes_untranslated_and_is_named) {
    Race race;
    race.clash();
    race.first->send_to(race.first->receive());
    const sockaddr_in asker = race.second->receive();
    std::this_thread::sleep_for(1500ms);
    race.second->send_to(asker);
    BOOST_TEST(from(race.client->receive()) == kService);
    BOOST_TEST(from(race.client->receive()) == "198.18.9.3");

    const ClashReport report = find_clashes(race.log());
    BOOST_REQUIRE_EQUAL(report.clashes.size(), 1U);
    BOOST_TEST((report.clashes[0].fate == Clash::Fate::kUnanswered));
    BOOST_REQUIRE_EQUAL(report.late_answers.size(), 1U);
    BOOST_TEST((report.late_answers[0].clash == std::optional<std::size_t>(0)));
    BOOST_TEST(frame::to_string(report.late_answers[0].event.entry.original.source) ==
               "198.18.9.3:53");
}

BOOST_AUTO_TEST_CASE(packets_that_do_not_meet_make_no_clash) {
    Race race;
    for (int i = 0; i < 2; ++i) {
        race.client->send_to(UdpSocket::end(kService, 53));
        if (i == 0) {
            race.held->release(race.held->wait_for(1)[0]);
            race.first->send_to(race.first->receive());
            BOOST_TEST(from(race.client->receive()) == kService);
        }
    }
    const EventLog log = race.log();
    BOOST_TEST(!log.events.empty());
    const ClashReport report = find_clashes(log);
    BOOST_TEST(report.clashes.empty());
    BOOST_TEST(report.late_answers.empty());
}

BOOST_AUTO_TEST_CASE(watch_marks_the_hidden_entry) {
    Race race;
    const auto watch = [&](const char* format) {
        return fmt::format("udp --duration 1.5 --netns {} {}", race.space.name(), format);
    };
    lab::Watching in_text(watch("-oid")), in_json(watch("--json"));
    race.clash();
    for (UdpSocket* backend : {race.first.get(), race.second.get()}) {
        backend->send_to(backend->receive());
    }
    const process::ProgramOutput text = in_text.finish(), lines = in_json.finish();
    const auto count = [](const std::string& output, const std::string& mark) {
        std::size_t found = 0;
        for (std::size_t at = output.find(mark); at != std::string::npos;
             at = output.find(mark, at + 1)) {
            ++found;
        }
        return found;
    };
    // The hidden entry's update, and its destruction if it came in time; the winner's two events
    // are not marked.
    const std::size_t marked = count(text.out, " [NAT_CLASH]\n");
    BOOST_TEST(marked >= 1U, text.out);
    BOOST_TEST(count(text.out, "src=198.18.9.3 dst=198.18.9.1 sport=53 dport=40000") == marked,
               text.out);
    BOOST_TEST(count(text.out, "\n") == marked + 2, text.out);
    BOOST_TEST(count(lines.out, "\"nat_clash\":true,\"time_ns\"") >= 1U, lines.out);
}
