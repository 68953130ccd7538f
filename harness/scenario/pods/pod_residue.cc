// pod-residue: state that plug-ins leave behind on a node.
//
// Set:  a node with no pod.
// Done: ADD and DEL in order, twice, without the other, killed in the middle, two at once, and with the
//       pod's namespace gone; what a pod hands on to what comes after it (pod_handover.h).
// Seen: rules, devices, addresses, routes and leases of the node before and after; whom packets to what was
//       handed on reach then.

#include <future>

#include "harness/scenario/first_error.h"
#include "harness/scenario/pods/pod_bench.h"
#include "harness/scenario/pods/pod_handover.h"

namespace pathproof::scenario {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kCyclesAsIs = 10;
constexpr std::array kLives{2ms, 4ms, 7ms, 11ms, 16ms, 24ms, 40ms, 70ms};

class PodResidueRun {
  public:
    using Measured = MeasuredPodResidue;

    PodResidueRun(Context& context, const std::string& chain) : context_(context), chain_(chain) {}

    // The first one is what the others are held against.
    static bool takes(const PodResidueCell& what) { return what.event == PodEvent::kFirst; }

    Status open() {
        nodes_ = TRY(context_.lab.pods(chain_, context_.journal));
        one_ = TRY(nodes_->make_pod(0, "a1"));
        other_ = TRY(nodes_->make_pod(0, "a2"));
        one_.attachment.ports = {{30'053, 53, "udp"}, {35'001, 5001, "tcp"}};
        handover_.emplace(context_.journal, *nodes_, one_, other_);
        return {};
    }

    // All cells lack what the first one lacks.
    Status measure(const PodResidueCell& what, PodResidueValues& seen) {
        if (!lacks_.empty()) {
            seen.lacks = lacks_;
            return {};
        }
        const auto before = nodes_->state(0);
        const std::size_t calls = nodes_->runtime(0).calls().size();
        if (before) {
            seen.of_pods = {one_.attachment.container_id, other_.attachment.container_id};
            make(what.event, seen);
        }
        const auto after = nodes_->state(0);
        lacks_ = what.event == PodEvent::kFirst ? seen.lacks : lacks_;
        TRY(first_error(before, after));
        const auto& all = nodes_->runtime(0).calls();
        for (std::size_t i = calls; i < all.size(); ++i) {
            seen.milliseconds += all[i].milliseconds;
        }
        seen.left = left_of(*before, *after);
        if (is_reboot(what.event)) {
            handover_->detach_the_one_before(seen);
            seen.left_after_del = left_of(*before, TRY(nodes_->state(0)));
        }
        return {};
    }

  private:
    void add_and_del(PodResidueValues& seen) {
        const Status added = nodes_->attach(one_);
        hear(added, seen);
        if (added) {
            for (const cni::PodAddress& ip : one_.added.addresses) {
                seen.of_pods.push_back(
                    to_string(ip.address) +
                    (ip.address.family == frame::Family::kIpv4 ? "/32" : "/128"));
                seen.of_pods.push_back("/" + to_string(ip.address));
            }
            hear(nodes_->detach(one_), seen);
        }
        ++seen.times;
    }

    void make(PodEvent event, PodResidueValues& seen) {
        switch (event) {
            case PodEvent::kFirst: return add_and_del(seen);
            case PodEvent::kCycles:
                for (std::uint64_t i = context_.options.number("cycles", kCyclesAsIs); i > 0; --i) {
                    add_and_del(seen);
                    if (!context_.journal.is_open() || seen.complaints.size() > 10) {
                        return;
                    }
                }
                return;
            case PodEvent::kDelTwice:
                add_and_del(seen);
                hear(nodes_->detach(one_), seen);
                return;
            case PodEvent::kDelWithoutAdd:
                seen.times = 1;
                hear(nodes_->detach(other_), seen);
                return;
            case PodEvent::kAddKilled: return kill_adds(seen);
            case PodEvent::kTwoAdds: return add_two(seen);
            case PodEvent::kNetnsGone: return lose_netns(seen);
            case PodEvent::kPortAgain: return handover_->port_to_pod(seen);
            case PodEvent::kAddressAgain: return handover_->address_to_pod(seen);
            case PodEvent::kPortToHost: return handover_->port_to_host(seen);
            case PodEvent::kReboot: return handover_->reboot(RulesAtBoot::kAsBefore, seen);
            case PodEvent::kRebootRules: return handover_->reboot(RulesAtBoot::kRestored, seen);
            case PodEvent::kRaRoute: return handover_->advertised_route(seen);
            case PodEvent::kStatus:
                seen.times = 1;
                hear(nodes_->runtime(0).status(), seen);
                return;
            case PodEvent::kGc: return collect(seen);
        }
    }

    void lose_netns(PodResidueValues& seen) {
        seen.times = 1;
        auto gone = nodes_->make_pod(0, "gone");
        hear(gone ? nodes_->attach(*gone) : pass_on(gone.error()), seen);
        if (gone) {
            hear(context_.journal.remove_netns({gone->netns}), seen);
            hear(nodes_->detach(*gone), seen);
        }
    }

    // Makes the situation after a node's reboot or a runtime's crash.
    void collect(PodResidueValues& seen) {
        seen.times = 1;
        // GC must keep what is in order: nothing is lost yet.
        if (const Status asked = nodes_->runtime(0).gc({}); !asked) {
            return hear(asked, seen);
        }
        auto lost = nodes_->make_pod(0, "lost");
        hear(lost ? nodes_->attach(*lost) : pass_on(lost.error()), seen);
        if (lost) {
            seen.of_pods.push_back(lost->attachment.container_id);
            hear(context_.journal.remove_netns({lost->netns}), seen);
        }
        hear(nodes_->runtime(0).gc({}), seen);
    }

    void kill_adds(PodResidueValues& seen) {
        for (const auto life : kLives) {
            const auto killed = nodes_->runtime(0).add_killed_after(one_.attachment, life);
            ++seen.times;
            if (!killed) {
                seen.complaints.push_back(killed.error().message);
            } else {
                seen.killed += killed->empty() ? 0 : 1;
            }
            hear(nodes_->detach(one_), seen);
        }
        // The pod can still be attached now.
        add_and_del(seen);
    }

    void add_two(PodResidueValues& seen) {
        // Two runtimes, as a node's kubelet may run two at a time.
        cni::Runtime mine = nodes_->runtime(0), theirs = nodes_->runtime(0);
        auto other = std::async(std::launch::async, [&] { return theirs.add(other_.attachment); });
        const auto one = mine.add(one_.attachment);
        const auto two = other.get();
        seen.times = 2;
        for (const auto* added : {&one, &two}) {
            if (!*added) {
                seen.complaints.push_back(added->error().message);
            }
        }
        if (one && two && !one->addresses.empty() && one->addresses == two->addresses) {
            seen.complaints.push_back(
                fmt::format("both pods got {}", to_string(one->addresses.front().address)));
        }
        hear(mine.del(one_.attachment), seen);
        hear(theirs.del(other_.attachment), seen);
    }

    Context& context_;
    std::string chain_;
    std::string lacks_;
    std::unique_ptr<lab::PodNodes> nodes_;
    lab::Pod one_, other_;
    std::optional<PodHandover> handover_;
};

}  // namespace

Scenario pod_residue_scenario() {
    return {"pod-residue",
            "What CNI plug-ins leave behind",
            "Is a node as it was once a pod was attached and detached, whatever came between?",
            lab::Role::kPods,
            run_chains<PodResidueRun, pod_residue_plan>,
            chain_ids<pod_residue_plan>,
            Scenario::When::kOnItsLab,
            {kCycles}};
}

}  // namespace pathproof::scenario
