// What the kernel would do with one packet of a new flow under the rules, routes and addresses that
// were read: chain by chain and rule by rule, to a verdict, a translation and a route. What cannot be
// decided (chance, limits, matches that are not modelled) gives one outcome for each way, and each
// says why.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/hazards/facts.h"
#include "harness/netfilter/entry.h"
#include "harness/predict/router.h"

namespace pathproof::predict {

// A rule that the packet met, or, without a rule, the policy of a base chain.
struct Step {
    const hazards::Chain* chain = nullptr;
    const hazards::Rule* rule = nullptr;
};

enum class End : std::uint8_t {
    kDelivered,      // to this host
    kForwarded,      // leaves by `out`
    kBridged,        // from port to port of a bridge, past the rules of IP
    kDropped,        // by a rule or a policy
    kRejected,       // likewise, and the sender is told
    kNoRoute,        // or a route that refuses
    kReversePath,    // no way back by the device it came by
    kNotForwarding,  // the device does not forward
    kUnmodelled,     // handed to what is not modelled: a queue, a proxy
};
const char* name(End end);  // "delivered", "no route", ...

struct Outcome {
    End end = End::kUnmodelled;
    std::vector<Step> steps;
    const hazards::Chain* by_chain = nullptr;  // of kDropped and kRejected
    const hazards::Rule* by_rule = nullptr;    // null: the policy

    bool tracked = true;     // by conntrack
    bool taken_out = false;  // not so for a rule that says so (NOTRACK)
    std::uint16_t zone = 0;  // of both directions
    bool zone_known = true;
    std::uint32_t mark = 0;

    // The destination at the end. With `destinations`: one of these addresses, by chance.
    frame::Endpoint destination;
    const hazards::Rule* destination_rule = nullptr;  // null: not translated
    std::optional<hazards::AddressRange> destinations = std::nullopt;
    std::optional<std::pair<std::uint16_t, std::uint16_t>> destination_ports = std::nullopt;

    // The source at the end: one of these; empty: not translated.
    std::vector<hazards::AddressRange> sources = {};
    const hazards::Rule* source_rule = nullptr;

    std::string in, out;
    std::optional<frame::IpAddress> gateway = std::nullopt;
    std::vector<std::string> doubts = {};  // why this is one outcome of several; empty: certain
    // Every rule on the way is known to have matched, and no other did.
    bool steps_certain = true;
    bool has_doubt(std::string_view about) const;
};

struct Question {
    netfilter::Tuple tuple;
    std::string in = "";      // the device by which it comes; empty: sent by this host
    bool any_device = false;  // with `in`: rules that ask for the device may match or not
    std::uint32_t mark = 0;
    std::optional<std::uint32_t> user = std::nullopt;  // who owns the sending socket
};

// Sources for which an answer is the same.
struct Region {
    frame::IpAddress first_source;  // 0.0.0.0
    frame::IpAddress last_source = {
        .family = frame::Family::kIpv6,
        .bytes = {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}};
    std::uint16_t first_port = 0, last_port = 0xffff;
    bool contains(const frame::Endpoint& source) const {
        return first_source <= source.address && source.address <= last_source &&
               first_port <= source.port && source.port <= last_port;
    }
};

class Simulator {
  public:
    // Both must outlive it.
    Simulator(const hazards::Facts& facts, Router& router);
    ~Simulator();

    // Never empty; one outcome without doubts is a decision. At most kMostOutcomes.
    std::vector<Outcome> simulate(const Question& question) const;
    static constexpr std::size_t kMostOutcomes = 1024;
    // The same, with the other sources to which the same destination, port and protocol answer alike.
    std::vector<Outcome> simulate(const Question& question, Region& region) const;

    // What a packet of an answer meets before conntrack looks for its entry: zone and NOTRACK. `in`
    // as above.
    std::vector<Outcome> simulate_before_tracking(const Question& question) const;

    // Whether any rule sets zones, or takes packets out of conntrack, before it sees them.
    bool before_tracking() const;
    bool is_local(const frame::IpAddress& address) const;
    const hazards::Facts& facts() const;

  private:
    struct Compiled;
    std::unique_ptr<Compiled> compiled_;
};

// "nat PREROUTING handle 7 (ip, nftables): ip daddr ... dnat to ...".
std::string place_of(const hazards::Rule& rule);
std::string rule_text(const hazards::Rule& rule);
// "policy DROP of filter FORWARD (ip, iptables (nf_tables))".
std::string policy_text(const hazards::Chain& chain);
// One line a step, and the end: for --rules.
std::vector<std::string> lines_of(const Outcome& outcome);
// "goes to 10.244.1.2:53, leaves by cni0", "is dropped by ...".
std::string sentence_of(const Outcome& outcome);

}  // namespace pathproof::predict
