// pod-residue and pod-churn: what CNI plug-ins leave behind on a node, and what they disturb there.
// Measuring and concluding are apart: pod_residue.cc and pod_churn.cc run cells, pod_life_conclude.cc
// makes verdicts of plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/lab/pod_nodes.h"
#include "harness/scenario/concluded.h"

namespace pathproof::scenario {

enum class PodEvent : std::uint8_t {
    kFirst,          // the first ADD and DEL of a node
    kCycles,         // ADD and DEL again and again
    kDelTwice,       //
    kDelWithoutAdd,  //
    kAddKilled,      // ADD, killed in the middle, then DEL
    kTwoAdds,        // two pods at once, then DEL of both
    kNetnsGone,      // the pod's namespace goes before DEL
    kPortAgain,      // a host port goes to the next pod, and a flow to it goes on
    kAddressAgain,   // an address goes to the next pod, and the node goes on to send to it
    kPortToHost,     // a host port goes to a process on the node
    kReboot,       // the node starts anew with its leases, nobody calls DEL, and a pod is attached
    kRebootRules,  // the same, and its rules were saved and are there again
    kRaRoute,      // a pod of a node whose IPv6 default route comes by router advertisement
    kStatus,       // STATUS (CNI 1.1.0): nothing is attached
    kGc,           // the pod's namespace goes, nobody calls DEL, then GC (CNI 1.1.0)
};

constexpr bool is_reboot(PodEvent event) {
    return event == PodEvent::kReboot || event == PodEvent::kRebootRules;
}

struct PodResidueCell {
    std::string id;
    std::string chain;
    PodEvent event = PodEvent::kFirst;
    verdict::Cell::Role role = verdict::Cell::Role::kMatrix;
};

struct PodResidueValues {
    std::vector<std::string> objections;
    std::string lacks;                    // what this kernel has not
    std::vector<std::string> complaints;  // of calls that should have worked
    std::uint64_t times = 0;              // that the event was made
    std::uint64_t killed = 0;             // of them, in the middle of a plug-in
    double milliseconds = 0;              // of all calls of plug-ins
    // Owners of the port, the address or the route, now and before, and the one whom packets reach for
    // `wrong_ms` (those of the old flow where there is one). Empty: they reach nobody.
    std::string now, before, reached;
    // Entries of conntrack that still led to the pod behind its DEL.
    std::vector<std::string> entries;
    double wrong_ms = 0;
    // The rule by which a host port still leads to who had it before, and whom a new flow to it
    // reaches; nothing: no new flow was sent.
    std::string rule;
    std::optional<std::string> fresh;
    bool pod_reached = true;     // after a reboot, the next pod by the node
    bool is_forwarding = false;  // kRaRoute: ADD has the node forward IPv6
    bool has_route = true;       // kRaRoute: the advertised route is still there
    bool is_cured = false;       // kRaRoute: by accept_ra=2
    // The part of `left` that DEL of the pod from before a reboot does not remove.
    lab::NodeState left_after_del;
    std::string del_refused;
    // State that the event left behind, by kind: there after it, and not before.
    lab::NodeState left;
    // Words that only what belongs to one pod has: its address, its id.
    std::vector<std::string> of_pods;
};

using MeasuredPodResidue = Measurement<PodResidueCell, PodResidueValues>;

struct PodChurnCell {
    std::string id;
    std::string chain;
    bool churn = true;    // else the stream alone
    bool leaves = false;  // by the gateway, to the host outside; else to a pod of the node
    verdict::Cell::Role role = verdict::Cell::Role::kMatrix;
};

struct PodChurnValues {
    std::vector<std::string> objections;
    std::string lacks;
    std::uint64_t pods = 0;          // that came and went
    std::uint64_t sent = 0;          // datagrams of the numbered stream
    std::uint64_t arrived = 0;       // of them, each once
    std::uint64_t twice = 0;         //
    std::uint64_t reordered = 0;     // that came after a later one
    std::uint64_t longest_loss = 0;  // lost in a row
    double longest_gap_ms = 0;       // between two that arrived
    std::uint64_t transfers = 0;     // over TCP beside it
    std::uint64_t broken = 0;        // of them
    std::string first_broken;        // what became of it
    std::uint64_t lost() const { return sent - arrived; }
};

using MeasuredPodChurn = Measurement<PodChurnCell, PodChurnValues>;

// Returns the lines of `after` that are not in `before`.
lab::NodeState left_of(const lab::NodeState& before, const lab::NodeState& after);

std::vector<PodResidueCell> pod_residue_plan(const std::string& chain, const std::string& prefix);
std::vector<PodChurnCell> pod_churn_plan(const std::string& chain, const std::string& prefix);

verdict::Cell conclude(const PodResidueCell& what, const PodResidueValues& seen);
verdict::Cell conclude(const PodChurnCell& what, const PodChurnValues& seen);
verdict::ScenarioResult conclude(const std::vector<MeasuredPodResidue>& cells);
verdict::ScenarioResult conclude(const std::vector<MeasuredPodChurn>& cells);

inline constexpr OptionRow kCycles{
    "cycles", "pods that are attached and detached in a row (0: each its own number)", 1000};
Scenario pod_residue_scenario();
Scenario pod_churn_scenario();

}  // namespace pathproof::scenario
