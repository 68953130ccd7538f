// The options that say which frames to send, shared by the commands that send at a rate.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/load/load_plan.h"
#include "dataplane/load/tracked_intake.h"

namespace CLI {
class App;
}

namespace pathproof::cli {

// link.h
struct LinkOptions {
    bool no_arp = false;
    std::optional<frame::IpAddress> gateway;  // nothing: the destination is the next hop
};

// Options as typed; empty texts were not given.
struct TrafficOptions {
    bool pairs = false;
    std::string type = "A";
    std::string mix;
    std::string size;
    std::uint64_t flows = 0;  // 0: as many as the caller has frames, within the addresses
    std::string suffix = "pathproof.test";
    std::string source;
    std::uint16_t source_port = 10'000;
    std::uint16_t source_ports = 1000;
    std::string destination;
    std::string source_mac;
    std::string destination_mac;
    std::vector<std::uint16_t> vlans;
    std::optional<std::uint32_t> vni;
    std::string outer_source;
    std::string outer_destination;
    std::string outer_source_mac;
    std::string outer_destination_mac;
    std::vector<std::uint16_t> outer_source_ports = {49'152};
    std::vector<std::string> checksums;
    std::string expect;  // "answers" or "frames"; empty: answers
    std::string allow;   // empty: nothing ("wire")
    std::vector<std::string> expected_answers;
    double timeout_s = 5;
    std::uint64_t seed = 1;
    LinkOptions link;

    unsigned frames_in_unit() const { return pairs ? 2 : 1; }
    // No MAC address was typed of the frame, or of the envelope around it: it is asked for.
    bool asks_next_hop() const { return (vni ? outer_destination_mac : destination_mac).empty(); }
};

void add_traffic_options(CLI::App& command, TrafficOptions& options);

struct Traffic {
    load::SourcePlan source;
    load::IntakePlan intake;
    std::uint64_t port_offloads = 0;  // RTE_ETH_TX_OFFLOAD_* that the sending port must have
    bool wrong_on_purpose = false;    // some frames leave with wrong checksums
};

// Turns the typed options into plans, and tries out their frames. `flows` counts if --flows was not
// given. MAC addresses that were not given are zero: the port's own and the next hop's are to be
// put there. Errors name option and value.
Result<Traffic> traffic_of(const TrafficOptions& options, std::uint64_t flows);

}  // namespace pathproof::cli
