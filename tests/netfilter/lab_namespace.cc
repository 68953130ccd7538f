#include "tests/netfilter/lab_namespace.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/netlink.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <sstream>

#include "dataplane/base/pattern.h"
#include "harness/process/program.h"

namespace pathproof::netfilter::lab {
namespace {

std::vector<std::string> split(const std::string& command) {
    std::istringstream words(command);
    return {std::istream_iterator<std::string>(words), {}};
}

}  // namespace

Namespace::Namespace(const std::string& word) : name_(fmt::format("pp-nf-{}-{}", getpid(), word)) {
    const auto added = process::run_checked({"ip", "netns", "add", name_});
    BOOST_REQUIRE_MESSAGE(added, added.error().message);
    run("ip link set lo up");
}

Namespace::~Namespace() {
    (void)process::run_program({"ip", "netns", "delete", name_});
}

std::string Namespace::run(const std::vector<std::string>& argv) const {
    const auto output = process::run_checked(argv, {.netns = name_});
    BOOST_REQUIRE_MESSAGE(output, output.error().message);
    return *output;
}

std::string Namespace::run(const std::string& command) const {
    return run(split(command));
}

void Namespace::load(const std::vector<std::string>& lines) const {
    const auto output = process::run_checked(
        {"conntrack", "-R", "-"},
        {.netns = name_, .input = fmt::format("{}\n", fmt::join(lines, "\n"))});
    BOOST_REQUIRE_MESSAGE(output, output.error().message);
}

bool Namespace::has_listener() const {
    std::istringstream table(run("cat /proc/net/netlink"));
    for (std::string line; std::getline(table, line);) {
        // sk, Eth (the netlink protocol), Pid, Groups ...
        std::istringstream words(line);
        std::string socket, protocol, port, groups;
        words >> socket >> protocol >> port >> groups;
        if (protocol == std::to_string(NETLINK_NETFILTER) &&
            groups.find_first_not_of('0') != std::string::npos) {
            return true;
        }
    }
    return false;
}

std::string without_times(const std::string& line) {
    static const Pattern timeout(
        "^(( *\\[[A-Z]+\\] )?(ipv[46] +[0-9]+ )?[a-z0-9]+ +[0-9]+ )[0-9]+ ");
    static const Pattern age(" delta-time=[0-9]+");
    const auto begin = timeout.search(line);
    return age.replace(begin ? (*begin)[1] + "T " + line.substr((*begin)[0].size()) : line,
                       " delta-time=T");
}

std::vector<std::string> comparable(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(without_times(line));
    }
    std::sort(lines.begin(), lines.end());
    return lines;
}

std::vector<std::string> mixed_table() {
    std::vector<std::string> lines;
    const auto add = [&](const std::string& rest) { lines.push_back("-A -t 600 " + rest); };
    for (unsigned i = 0; i < 400; ++i) {
        const std::string ports = fmt::format("--sport {} --dport {}", 1024 + i, 53 + i % 3);
        add(fmt::format("-p udp -s 198.18.0.{} -d 198.18.1.1 {}", 1 + i % 200, ports));
        add(fmt::format("-p udp -s 198.18.0.{} -d 198.18.1.2 {} -w {} -m {}", 1 + i % 200, ports,
                        i % 7 + 1, i));
        add(fmt::format("-p udp -s 198.18.2.1 -d 198.18.3.1 {} --dst-nat 203.0.113.{}", ports,
                        1 + i % 4));
        add(fmt::format(
            "-p tcp -s 198.18.2.2 -d 198.18.3.2 {} --src-nat 203.0.113.77 --state ESTABLISHED "
            "-u ASSURED,SEEN_REPLY",
            ports));
        add(fmt::format("-p tcp -s 198.18.2.3 -d 198.18.3.3 {} --state SYN_SENT", ports));
        add(fmt::format(
            "-p tcp -s 2001:db8::{:x} -d 2001:db8:1::1 {} --state TIME_WAIT -u SEEN_REPLY", i + 1,
            ports));
        add(fmt::format(
            "-p icmp -s 198.18.4.1 -d 198.18.4.2 --icmp-type 8 --icmp-code 0 --icmp-id {}", i));
        add(
            fmt::format("-p icmpv6 -s 2001:db8::1 -d 2001:db8::2 --icmpv6-type 128 --icmpv6-code 0 "
                        "--icmpv6-id {}",
                        i));
    }
    for (unsigned i = 0; i < 50; ++i) {
        const std::string ports = fmt::format("--sport {} --dport {}", 2000 + i, 80);
        add(
            fmt::format("-p sctp -s 198.18.5.1 -d 198.18.5.2 {} --state ESTABLISHED --orig-vtag 1 "
                        "--reply-vtag 2",
                        ports));
        add(fmt::format("-p udplite -s 198.18.5.3 -d 198.18.5.4 {}", ports));
        add(fmt::format("-p gre -s 198.18.5.5 -d 198.18.5.6 --srckey {} --dstkey 7", i + 1));
        add(fmt::format("-p 50 -s 198.18.6.{} -d 198.18.5.8", i + 1));
        add(fmt::format("-p udp -s 198.18.7.1 -d 198.18.7.2 {} --orig-zone {}", ports, i % 5 + 1));
        add(fmt::format("-p udp -s 198.18.7.3 -d 198.18.7.4 {} --reply-zone {}", ports, i % 5 + 1));
    }
    return lines;
}

}  // namespace pathproof::netfilter::lab
