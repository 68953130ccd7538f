// pod-paths: the connectivity truth table of pods that CNI plug-ins attached. Measuring and concluding
// are apart: pod_paths.cc runs cells, pod_paths_conclude.cc makes verdicts of plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/scenario/concluded.h"
#include "harness/scenario/own_ends.h"

namespace pathproof::scenario {

enum class PodPath : std::uint8_t {
    kSameNode,     // pod to pod on one node
    kAcross,       // pod to pod on the other node
    kService,      // pod to a service whose endpoint is on the other node
    kServiceSelf,  // pod to a service whose endpoint is itself
    kNodePod,      // node to a pod of its own
    kHostPort,     // from outside to a port of the node that a plug-in leads to a pod
    kExternal,     // pod to a host outside of the cluster
};
inline constexpr std::size_t kPodPaths = 7;
enum class PodProtocol : std::uint8_t { kTcp, kUdp, kSctp, kIcmp };
const char* name(PodPath path);          // "pod-pod.same-node"
const char* name(PodProtocol protocol);  // "tcp"

struct PodPathCell {
    std::string id;  // "pod-pod.across.udp.ipv6", behind its network's name where there are several
    verdict::Cell::Role role = verdict::Cell::Role::kMatrix;
    std::string chain;
    PodPath path = PodPath::kSameNode;
    PodProtocol protocol = PodProtocol::kTcp;
    frame::Family family = frame::Family::kIpv4;
};

// A network's properties, as far as they decide which combinations exist.
struct PodNetwork {
    bool ipv6 = false;         // pods have an IPv6 address
    bool passes_nodes = true;  // their packets pass the node's rules
    bool host_ports = false;   // a plug-in of the list is portmap
    // Something translates what leaves the cluster.
    bool masquerades = false, masquerades6 = false;
};
// Returns the reason why there is no such combination; empty: there is.
std::string absent(const PodNetwork& network, PodPath path, PodProtocol protocol,
                   frame::Family family);

struct PodPathValues {
    std::vector<std::string> objections;  // why it is no result; empty when it is one
    struct Size {
        std::string name;         // "small", "mtu", "over"
        std::uint32_t bytes = 0;  // of the IP packet; of TCP that were transferred
        bool arrived = false;     // whole, at the receiver
        bool answered = false;    // and its answer at the sender, from whom was asked
        std::string outcome;
    };
    std::vector<Size> sizes;            // one that fails is the last one
    std::string no_pieces;              // why nothing above the MTU is sent; empty: it is
    std::uint64_t receiver_frames = 0;  // of the probes, that came in at the receiver
    std::uint64_t receiver_bad = 0;     // of them with a wrong checksum
    bool crosses_wire = false;
    std::uint64_t wire_frames = 0;
    std::uint64_t wire_bad = 0;        // with a wrong checksum
    std::uint64_t wire_lost = 0;       // not carried on by the tester
    std::uint64_t too_big = 0;         // packets that the nodes refused as larger than the next hop
    std::vector<std::string> sources;  // addresses seen at the receiver
    std::vector<std::string> expected;  // one of these
    std::vector<std::string> entries;   // conntrack's of the nodes, as conntrack(8) prints them
    struct Hit {
        std::string node, rule;
        std::uint64_t packets = 0;
    };
    std::vector<Hit> hits;  // rules that counted
    // Ends of a lost probe's packets, sent once more and followed; `netns` is the host's name.
    OwnEnds ends;
    bool passed_again = false;    // sent once more, the probe came through
    std::optional<bool> hairpin;  // of the pod's bridge port; nothing: it is at no bridge
    std::string received_at;      // "pod b1"

    bool lost() const { return !sizes.empty() && !(sizes.back().arrived && sizes.back().answered); }
};

using MeasuredPodPath = Measurement<PodPathCell, PodPathValues>;

// Result of ADD, CHECK or DEL for a network's pods.
struct PodProtocolStep {
    std::string id;  // "attach", "check", "detach", as of cells
    std::string chain;
    std::vector<std::string> complaints;  // of the plug-ins
    bool kernel_lacks = false;            // what a plug-in complained of
    std::uint64_t calls = 0;
    double milliseconds = 0;  // of all calls
    std::vector<verdict::EvidenceFile> evidence;
};

struct PodHazard {
    std::string chain, id, scenario, what, where, rule;
    std::string command;  // that shows it on this network; empty: no scenario does
};

struct PodPathsMeasured {
    std::vector<PodProtocolStep> steps;
    std::vector<MeasuredPodPath> cells;
    struct Chain {
        std::string name;
        PodNetwork network;
    };
    std::vector<Chain> chains;  // whose pods were attached
    std::vector<PodHazard> hazards;
    std::vector<std::string> unread;  // of hazards
    // Verdicts of the scenarios that this run had before, by id.
    std::map<std::string, verdict::ScenarioVerdict> earlier;
};

// Returns one network's cells in the order in which they run.
std::vector<PodPathCell> pod_paths_plan(const std::string& chain, const std::string& prefix);

verdict::Cell conclude(const PodPathCell& what, const PodPathValues& seen);
verdict::Cell conclude(const PodProtocolStep& step);
// The whole scenario but for its id and duration.
verdict::ScenarioResult conclude(const PodPathsMeasured& measured);

Scenario pod_paths_scenario();

}  // namespace pathproof::scenario
