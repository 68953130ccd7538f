// pod-residue: state that plug-ins leave behind on a node.
//
// Set:  a node with no pod.
// Done: ADD and DEL in order, twice, without the other, killed in the middle, two at once, and with the
//       pod's namespace gone; a host port and an address that go to the next pod.
// Seen: rules, devices, addresses, routes and leases of the node before and after; whom a flow to the
//       port or the address reaches then.

#include <netinet/in.h>

#include <future>
#include <thread>

#include "harness/agent/offload_frames.h"
#include "harness/agent/probes.h"
#include "harness/netfilter/dump.h"
#include "harness/netfilter/text.h"
#include "harness/scenario/first_error.h"
#include "harness/scenario/pods/pod_bench.h"
#include "harness/scenario/pods/pod_life.h"

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
        return {};
    }

  private:
    void hear(const Status& status, PodResidueValues& seen) {
        if (!status && (status.error().code == ErrorCode::kKernelLacks ||
                        status.error().code == ErrorCode::kNotSupported)) {
            seen.lacks = status.error().message;
        } else if (!status) {
            seen.complaints.push_back(status.error().message);
        }
    }

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
            case PodEvent::kPortAgain: return hand_port_on(seen);
            case PodEvent::kAddressAgain: return hand_address_on(seen);
            case PodEvent::kStatus:
                seen.times = 1;
                hear(nodes_->runtime(0).status(), seen);
                return;
            case PodEvent::kGc: return collect(seen);
        }
    }

    void lose_netns(PodResidueValues& seen) {
        seen.times = 1;
        hear(nodes_->attach(other_), seen);
        hear(context_.journal.remove_netns({other_.netns}), seen);
        hear(nodes_->detach(other_), seen);
    }

    // A client keeps its socket: its datagrams have one source port before and after.
    void hand_port_on(PodResidueValues& seen) {
        constexpr std::uint16_t kHostPort = 30'054, kClientPort = 40'054;
        const auto& plugins = nodes_->runtime(0).conflist().plugins;
        if (std::ranges::none_of(
                plugins, [](const cni::Plugin& plugin) { return plugin.can("portMappings"); })) {
            seen.lacks = "no plug-in of the network makes host ports";
            return;
        }
        lab::Pod one = one_, other = other_;
        one.attachment.ports = other.attachment.ports = {{kHostPort, kPodDnsPort, "udp"}};
        seen.times = 1;
        seen.before = "pod " + one.name;
        seen.now = "pod " + other.name;
        const frame::Endpoint port{nodes_->names().node_address(0, frame::Family::kIpv4),
                                   kHostPort};
        const auto send = [&] {
            const auto sent = nodes_->shared_agent(0)->send_datagrams(
                {.source = {{.family = frame::Family::kIpv4}, kClientPort},
                 .destination = port,
                 .payloads = {{1}}});
            hear(sent ? Status() : pass_on(sent.error()), seen);
        };
        hear(nodes_->attach(one), seen);
        send();
        hear(nodes_->detach(one), seen);
        const auto old = one.address(frame::Family::kIpv4);
        for (const netfilter::Entry& entry : entries_to(port, seen)) {
            if (old && entry.reply.source.address == *old) {
                seen.entries.push_back(line_of(entry));
            }
        }
        hear(nodes_->attach(other), seen);
        send();
        const auto fresh = other.address(frame::Family::kIpv4);
        for (const netfilter::Entry& entry : entries_to(port, seen)) {
            if (entry.original.source.port == kClientPort) {
                const frame::IpAddress& goes = entry.reply.source.address;
                if (fresh && goes == *fresh) {
                    seen.reached = seen.now;
                } else if (old && goes == *old) {
                    seen.reached = seen.before;
                } else {
                    seen.reached = to_string(goes);
                }
            }
        }
        hear(nodes_->detach(other), seen);
    }

    std::vector<netfilter::Entry> entries_to(const frame::Endpoint& port, PodResidueValues& seen) {
        netfilter::Filter filter{.family = frame::Family::kIpv4, .protocol = IPPROTO_UDP};
        filter.original.destination_port = port.port;
        auto found = netfilter::dump_all(nodes_->names().nodes[0], filter);
        hear(found ? Status() : pass_on(found.error()), seen);
        return found ? std::move(*found) : std::vector<netfilter::Entry>();
    }

    static std::string line_of(const netfilter::Entry& entry) {
        std::string text;
        netfilter::append_text(text, entry);
        return text;
    }

    // host-local gives an address that CNI_ARGS names.
    void hand_address_on(PodResidueValues& seen) {
        constexpr auto kPatience = 12s;
        constexpr auto kAtOnce = 1s;
        lab::Pod one = one_, other = other_;
        seen.times = 1;
        seen.before = "pod " + one.name;
        seen.now = "pod " + other.name;
        hear(nodes_->attach(one), seen);
        const auto address = one.address(frame::Family::kIpv4);
        if (!seen.complaints.empty() || !address) {
            return;
        }
        const auto reaches = [&] {
            const auto probe = nodes_->shared_agent(0)->ping(
                {.destination = *address, .count = 1, .timeout = 200ms});
            return probe && probe->ok;
        };
        const bool was_reached = reaches();
        hear(nodes_->detach(one), seen);
        other.attachment.args += ";IP=" + to_string(*address);
        hear(nodes_->attach(other), seen);
        if (other.address(frame::Family::kIpv4) != address || !was_reached) {
            seen.lacks = was_reached ? "the plug-ins give a pod no address that is asked for"
                                     : "the node does not reach its pods by the plug-ins' rules";
        } else if (seen.complaints.empty()) {
            const auto began = std::chrono::steady_clock::now();
            const auto passed = [&] { return std::chrono::steady_clock::now() - began; };
            bool reached = reaches();
            while (!reached && passed() < kPatience && context_.journal.is_open()) {
                std::this_thread::sleep_for(50ms);
                reached = reaches();
            }
            seen.wrong_ms = std::chrono::duration<double, std::milli>(passed()).count();
            seen.reached = reached && passed() < kAtOnce ? seen.now : "";
        }
        hear(nodes_->detach(other), seen);
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
