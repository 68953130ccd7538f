// Diagnoses a sick flow: compares what was seen of it with what the rules, routes, neighbours and
// sockets of this host do with it. Values in, a conclusion out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/predict/stale.h"

namespace pathproof::predict {

enum class Health : std::uint8_t { kHealthy, kCause, kNotDecided };
const char* name(Health health);  // "healthy", "cause found", "not decided"

// The next hop's entry in `ip -j neigh show`.
struct Neighbour {
    frame::IpAddress address;
    std::string device;
    std::string state = "";     // "FAILED", "INCOMPLETE", "REACHABLE", ...; empty: there is none
    std::string gone_mac = "";  // that the entry leads to and no port of its bridge has
};
// The first neighbour of that text. kBadInput where it is no such JSON.
Result<Neighbour> parse_neighbour(std::string_view text, const frame::IpAddress& address,
                                  const std::string& device);

// A line of /proc/net/udp, tcp and their likes.
struct LocalSocket {
    frame::Endpoint local, remote;
    unsigned state = 0;  // of TCP: 10 listens
    std::uint32_t user = 0;
};
// Lines that are of another form are passed over.
std::vector<LocalSocket> parse_sockets(std::string_view text);
// Returns whether a socket takes a packet to that address and port: bound to it or to any address.
bool takes(const std::vector<LocalSocket>& sockets, const netfilter::Tuple& tuple,
           const frame::Endpoint& destination);
// Returns the user who owns the socket that sends from that end.
std::optional<std::uint32_t> owner_of(const std::vector<LocalSocket>& sockets,
                                      const frame::Endpoint& source);

// Packets of the flow that ended on this machine, as they were followed.
struct FlowDrop {
    bool of_answers = false;
    std::uint64_t packets = 0;
    std::string cause;    // fate::End::cause
    std::string text;     // "by tc at ingress, device d0"
    std::string place{};  // the kernel function
};

struct FlowSeen {
    netfilter::Tuple tuple;
    bool sent_here = false;  // by a socket of this host
    // Packets, each once, wherever it was seen: asked and answered.
    std::uint64_t forth_in = 0, forth_out = 0, back_in = 0, back_out = 0;
    std::optional<netfilter::Entry> entry;
    StaleVerdict stale;
    std::vector<Outcome> outcomes;  // of a new flow
    std::optional<Neighbour> neighbour;
    std::optional<bool> socket_open;  // of a destination that is this host
    // Outcomes without the rule that translates the flow.
    std::vector<Outcome> without_rule;
    // Answers from another port than the one that was asked, the port of the last ones, and whether
    // they leave for who asked, or are taken by its socket.
    std::uint64_t stray_answers = 0;
    std::uint16_t stray_port = 0;
    bool strays_pass = false;
    // Packets in a row without an answer between them, at most; 0: not known.
    std::uint64_t longest_silence = 0;
    std::vector<FlowDrop> drops;  // most packets first
    std::string other_cause;      // what conntrack or the counters have concluded already
};

struct Diagnosis {
    Health health = Health::kNotDecided;
    std::string cause;  // one word of a list: "dropped-by-rule", "no-neighbour", ...; empty: none
    std::string text;
    std::string remedy;              // a command; empty: none
    std::vector<std::string> rules;  // chain by chain, of the outcome that fits
};

// The outcomes that do with the flow as its entry does; all of them where none does, or there is none.
std::vector<Outcome> fitting(const std::vector<Outcome>& outcomes,
                             const std::optional<netfilter::Entry>& entry);

Diagnosis diagnose(const FlowSeen& seen, std::int64_t now_ns);

// The command that takes a rule away.
std::string remove_command(const hazards::Rule& rule);

}  // namespace pathproof::predict
