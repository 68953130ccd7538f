// Everyday set-ups in which nothing is wrong: a client, a node on the way and a server.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace pathproof::monitor::lab {

// A shell script for one of the namespaces; {c}, {n} and {s} in it are their names.
struct Step {
    char where;  // 'c', 'n', 's'
    std::string script;
};

enum class Talk : std::uint8_t {
    kUdp,       // each datagram is answered
    kUdpRare,   // one in eight is, as acknowledgements of an upload are
    kUdpOther,  // answered from a port of the server's own, as TFTP does it
    kTcp,
    kIcmp,
};

struct Setup {
    std::string name;
    std::vector<Step> steps;
    Talk talk = Talk::kUdp;
    std::string client = "10.1.0.2";
    char client_in = 'c';
    std::string called = "10.2.0.2";  // by the client
    std::uint16_t called_port = 53;
    std::vector<std::string> servers = {"10.2.0.2"};
    char server_in = 's';
    std::uint16_t server_port = 53;
    std::size_t bytes = 100;  // of each question
    // The client's address as the server sees it; empty: the server's side is not asked, as its
    // tuple depends on chance.
    std::string seen_as = "10.1.0.2";
    bool transparent = false;     // the server takes what is for other addresses
    std::string watched = "ncs";  // the namespaces that are asked
    // A kind of device (or "ipvs") that the kernel may not have, and the set-up that stands for it then.
    std::string wants = "", instead = "";
};

inline std::ostream& operator<<(std::ostream& out, const Setup& setup) {
    return out << setup.name;
}

std::vector<Setup> healthy_setups();

}  // namespace pathproof::monitor::lab
