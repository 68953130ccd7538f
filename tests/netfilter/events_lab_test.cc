#include <fmt/ranges.h>
#include <netinet/in.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

#include "harness/netfilter/events.h"
#include "harness/netfilter/text.h"
#include "harness/process/child.h"
#include "tests/netfilter/lab_namespace.h"

using namespace pathproof;
using namespace pathproof::netfilter;
using namespace std::chrono_literals;

namespace {

std::unique_ptr<EventListener> listen(const ListenOptions& options) {
    auto started = EventListener::start(options);
    BOOST_REQUIRE_MESSAGE(started, started.error().message);
    return std::move(*started);
}

EventLog stop(EventListener& listener) {
    auto stopped = listener.stop();
    BOOST_REQUIRE_MESSAGE(stopped, stopped.error().message);
    return *stopped;
}

// New, changed and deleted entries of several kinds.
void act(const lab::Namespace& space) {
    space.load(
        {"-A -t 600 -p udp -s 198.18.0.1 -d 198.18.0.2 --sport 1 --dport 53 -m 3",
         "-A -t 600 -p tcp -s 198.18.0.1 -d 198.18.0.2 --sport 2 --dport 80 --state SYN_SENT -w 4",
         "-A -t 600 -p udp -s 2001:db8::1 -d 2001:db8::2 --sport 3 --dport 53",
         "-A -t 600 -p icmp -s 198.18.0.1 -d 198.18.0.2 --icmp-type 8 --icmp-code 0 --icmp-id 9",
         "-A -t 600 -p udp -s 198.18.0.7 -d 198.18.0.9 --sport 4 --dport 53 --dst-nat "
         "203.0.113.1"});
    space.run("conntrack -U -p udp -s 198.18.0.1 -m 0");
    space.run("conntrack -D -p udp -s 198.18.0.1");
    space.run("conntrack -D -p tcp -s 198.18.0.1");
    space.run("conntrack -D -p udp -s 198.18.0.7");
}

std::vector<std::string> file_lines(const std::string& path) {
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) {
        // conntrack looks the sender up in /proc, and finds it when it still runs.
        lines.push_back(lab::without_times(line.substr(0, line.find(" progname="))));
    }
    return lines;
}

std::vector<std::string> as_text(const std::vector<Event>& events) {
    std::vector<std::string> lines;
    for (const Event& event : events) {
        std::string line;
        append_text(line, event);
        lines.push_back(lab::without_times(line));
    }
    return lines;
}

// conntrack -E into a file until it is ended.
class Reference {
  public:
    explicit Reference(const lab::Namespace& space)
        : path_(fmt::format("/tmp/{}.events", space.name())) {
        auto child =
            process::Child::start({"/bin/sh", "-c", "exec conntrack -E >" + path_ + " 2>/dev/null"},
                                  {.netns = space.name()});
        BOOST_REQUIRE_MESSAGE(child, child.error().message);
        child_.emplace(std::move(*child));
        for (int i = 0; i < 500 && !space.has_listener(); ++i) {
            std::this_thread::sleep_for(10ms);
        }
        BOOST_REQUIRE(space.has_listener());
    }
    ~Reference() { unlink(path_.c_str()); }

    // Lines of the file once it has `count` of them, or what came within ten seconds.
    std::vector<std::string> lines(std::size_t count) {
        std::vector<std::string> lines;
        for (int i = 0; i < 200 && lines.size() < count; ++i) {
            std::this_thread::sleep_for(50ms);
            lines = file_lines(path_);
        }
        kill(child_->pid(), SIGTERM);
        child_->stop();
        return file_lines(path_);
    }

  private:
    std::string path_;
    std::optional<process::Child> child_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(events_read_as_conntrack_prints_them) {
    const lab::Namespace space("events");
    Reference reference(space);
    const auto listener = listen({.netns = space.name()});
    act(space);
    const EventLog log = stop(*listener);
    BOOST_TEST(log.overruns == 0U);
    BOOST_TEST(log.unreadable == 0U);
    BOOST_TEST(log.events.size() == 9U);  // 5 new, 1 changed mark, 3 destroyed
    BOOST_TEST(as_text(log.events) == reference.lines(log.events.size()),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(filtering_in_the_kernel_gives_the_same_events_as_filtering_here) {
    const lab::Namespace space("bpf");
    for (const std::vector<std::string>& words : {std::vector<std::string>{"udp"},
                                                  {"udp", "src=198.18.0.1"},
                                                  {"src=198.18.0.0/30"},
                                                  {"tcp"},
                                                  {"icmp"},
                                                  {"dst=198.18.0.9"},
                                                  {"udp", "ipv6"},
                                                  {"dport=53"}}) {
        const auto filter = *parse_filter(words);
        const auto kernel = listen({.netns = space.name(), .filter = filter});
        const auto all = listen({.netns = space.name()});
        act(space);
        space.run("conntrack -F");
        auto matching = stop(*all).events;
        std::erase_if(matching, [&](const Event& event) { return !matches(filter, event.entry); });
        const auto expected = as_text(matching);
        BOOST_TEST_CONTEXT(fmt::format("{}", fmt::join(words, " "))) {
            BOOST_TEST(!expected.empty());
            BOOST_TEST(as_text(stop(*kernel).events) == expected, boost::test_tools::per_element());
        }
    }
}

BOOST_AUTO_TEST_CASE(delivered_events_are_not_in_the_log_again) {
    const lab::Namespace space("deliver");
    const auto listener = listen({.netns = space.name()});
    space.load({"-A -t 600 -p udp -s 198.18.0.1 -d 198.18.0.2 --sport 1 --dport 53"});
    std::vector<Event> delivered;
    const EventSink sink{.event = [&](const Event& event) { delivered.push_back(event); },
                         .overrun = [](const Overrun&) { BOOST_ERROR("an overrun"); }};
    const auto gave = listener->deliver(2s, sink);
    BOOST_REQUIRE_MESSAGE(gave, gave.error().message);
    BOOST_REQUIRE_EQUAL(delivered.size(), 1U);
    BOOST_TEST((delivered[0].kind == EventKind::kNew));
    BOOST_TEST(delivered[0].cause_port != 0U);
    const auto age = std::chrono::system_clock::now().time_since_epoch() -
                     std::chrono::nanoseconds(delivered[0].time_ns);
    BOOST_TEST((age >= 0s && age < 10s));
    space.run("conntrack -D -p udp");
    const EventLog log = stop(*listener);
    BOOST_REQUIRE_EQUAL(log.events.size(), 1U);
    BOOST_TEST((log.events[0].kind == EventKind::kDestroy));
    BOOST_TEST(log.events[0].entry.id == delivered[0].entry.id);
    BOOST_TEST(!listener->deliver(1ms, sink));
}

BOOST_AUTO_TEST_CASE(a_quiet_namespace_runs_into_the_timeout) {
    const lab::Namespace space("quiet");
    const auto listener = listen({.netns = space.name()});
    const auto start = std::chrono::steady_clock::now();
    BOOST_TEST(static_cast<bool>(
        listener->deliver(100ms, {.event = [](const Event&) { BOOST_ERROR("an event"); },
                                  .overrun = [](const Overrun&) {}})));
    BOOST_TEST((std::chrono::steady_clock::now() - start >= 100ms));
    BOOST_TEST(stop(*listener).events.empty());
}

BOOST_AUTO_TEST_CASE(an_overrun_is_counted_and_shown_at_its_place) {
    const lab::Namespace space("overrun");
    // The consumer does not take anything, so that the reader stops after its first chunk of 256
    // KiB; what the kernel can keep is a few events.
    const auto listener =
        listen({.netns = space.name(), .receive_buffer_bytes = 4096, .backlog_bytes = 1});
    std::uint64_t before = 0, after = 0, told = 0;
    const EventSink sink{.event = [&](const Event&) { ++(told == 0 ? before : after); },
                         .overrun = [&](const Overrun& overrun) { told = overrun.total; }};
    space.load({"-A -t 600 -p udp -s 198.18.0.2 -d 198.18.0.1 --sport 1 --dport 53"});
    BOOST_TEST(static_cast<bool>(listener->deliver(2s, sink)));
    std::vector<std::string> lines;
    for (unsigned i = 0; i < 4000; ++i) {
        lines.push_back(fmt::format(
            "-A -t 600 -p udp -s 198.18.0.1 -d 198.18.0.2 --sport {} --dport 53", i + 1));
    }
    space.load(lines);
    // Each delivery makes room for the reader to go on, until the kernel's buffer is empty: it
    // takes no new events before (NETLINK_S_CONGESTED).
    for (int quiet = 0; quiet < 3;) {
        const std::uint64_t seen = before + after + told;
        BOOST_TEST(static_cast<bool>(listener->deliver(200ms, sink)));
        quiet = seen == before + after + told ? quiet + 1 : 0;
    }
    BOOST_TEST(before > 0U);
    BOOST_TEST(told > 0U);
    space.load({"-A -t 600 -p udp -s 198.18.0.3 -d 198.18.0.2 --sport 1 --dport 53"});
    const EventLog log = stop(*listener);
    BOOST_TEST(log.overruns >= told);
    BOOST_TEST(log.overruns == listener->overruns());
    BOOST_TEST(before + after + log.events.size() < 4002U);
    BOOST_REQUIRE(!log.events.empty());
    BOOST_TEST(frame::to_string(log.events.back().entry.original.source.address) == "198.18.0.3");
}

BOOST_AUTO_TEST_CASE(the_receive_buffer_goes_beyond_rmem_max) {
    const lab::Namespace space("buffer");
    const auto listener = listen({.netns = space.name()});
    BOOST_TEST(listener->receive_buffer_bytes() >= 64U << 20);
}
