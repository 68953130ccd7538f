// Two namespaces of their own, joined by a veth pair "e0"-"e0" and by a vxlan device "vx.pp" on
// top.
#pragma once

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "harness/agent/client.h"
#include "harness/process/netns.h"
#include "harness/process/program.h"

namespace pathproof::agent::test {

inline frame::Endpoint endpoint(const std::string& text) {
    return frame::parse_endpoint(text).value();
}
inline frame::IpAddress ip(const std::string& text) {
    return frame::parse_ip(text).value();
}

// Runs a command line (split at blanks) in a namespace and gives what it printed.
inline std::string run_in(const std::string& netns, const std::string& line) {
    std::vector<std::string> argv{"ip", "netns", "exec", netns};
    std::string word;
    for (char letter : line + " ") {
        if (letter != ' ') {
            word += letter;
        } else if (!word.empty()) {
            argv.push_back(std::exchange(word, {}));
        }
    }
    const auto output = process::run_checked(argv);
    BOOST_REQUIRE_MESSAGE(output, output.error().message);
    return *output;
}

class Lab {
  public:
    Lab()
        : a("pp-agent-" + std::to_string(getpid()) + "-a"),
          b("pp-agent-" + std::to_string(getpid()) + "-b") {
        ip_command("netns add " + a);
        ip_command("netns add " + b);
        ip_command("link add e0 netns " + a + " type veth peer name e0 netns " + b);
        set_up(a, "1", "2");
        set_up(b, "2", "1");
    }
    ~Lab() {
        (void)process::run_program({"ip", "netns", "del", a});
        (void)process::run_program({"ip", "netns", "del", b});
    }
    Lab(const Lab&) = delete;
    Lab& operator=(const Lab&) = delete;

    const std::string a;  // 198.18.77.1, 2001:db8:77::1; over vxlan 198.19.77.1
    const std::string b;  // the same with .2

    // For tests with IPv6. The kernel announces carriers from a work queue, at most once a second
    // (linkwatch_event); IPv6 addresses work from then on, IPv4 at once.
    void wait_for_links() const {
        for (const std::string& netns : {a, b}) {
            for (int waited_ms = 0; run_in(netns, "cat /sys/class/net/e0/operstate") != "up\n";
                 waited_ms += 20) {
                BOOST_REQUIRE_MESSAGE(waited_ms < 5000, "e0 of " << netns << " does not come up");
                usleep(20'000);
            }
        }
    }

  private:
    static void ip_command(const std::string& line) {
        std::vector<std::string> argv{"ip"};
        std::string word;
        for (char letter : line + " ") {
            if (letter != ' ') {
                word += letter;
            } else if (!word.empty()) {
                argv.push_back(std::exchange(word, {}));
            }
        }
        const auto done = process::run_checked(argv);
        BOOST_REQUIRE_MESSAGE(done, done.error().message);
    }

    static void set_up(const std::string& netns, const std::string& mine,
                       const std::string& other) {
        const std::string in = "-n " + netns + " ";
        ip_command(in + "link set lo up");
        ip_command(in + "address add 198.18.77." + mine + "/24 dev e0");
        ip_command(in + "address add 2001:db8:77::" + mine + "/64 dev e0 nodad");
        // No link-local addresses: nothing is sent but what a test sends.
        ip_command(in + "link set e0 addrgenmode none");
        ip_command(in + "link set e0 up");
        ip_command(in + "link add vx.pp type vxlan id 42 dstport 4789 local 198.18.77." + mine +
                   " remote 198.18.77." + other);
        ip_command(in + "link set vx.pp addrgenmode none");
        ip_command(in + "address add 198.19.77." + mine + "/24 dev vx.pp");
        ip_command(in + "link set vx.pp up");
    }
};

inline std::unique_ptr<Client> agent_in(const std::string& netns) {
    auto client = Client::start_in_netns(netns);
    BOOST_REQUIRE_MESSAGE(client, client.error().message);
    return std::move(*client);
}

}  // namespace pathproof::agent::test
