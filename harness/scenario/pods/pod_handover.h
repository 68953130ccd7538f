// Events in which a pod hands something on to what comes after it on its node: a host port, an address,
// its leftovers after a reboot; and the effect of a first pod on its node's own default route.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/netfilter/entry.h"
#include "harness/scenario/pods/pod_life.h"

namespace pathproof::scenario {

enum class RulesAtBoot : std::uint8_t {
    kAsBefore,  // those that the node had before its first pod
    kRestored,  // all that it had, as netfilter-persistent saves them
};

class PodHandover {
  public:
    // All must outlive it. `one` and `other` are not attached, before and after each of these.
    PodHandover(lab::Journal& journal, lab::PodNodes& nodes, const lab::Pod& one,
                const lab::Pod& other)
        : journal_(journal), nodes_(nodes), first_(one), second_(other) {}

    void port_to_pod(PodResidueValues& seen);
    // Hands a host port on to a process on the node (a pod of the host's network).
    void port_to_host(PodResidueValues& seen);
    void address_to_pod(PodResidueValues& seen);
    // Namespaces, devices and entries go, and leases stay, as in /var/lib; nobody detaches the pod of
    // before, and the next one is attached.
    void reboot(RulesAtBoot rules, PodResidueValues& seen);
    // Detaches the pod of before the reboot, as a kubelet does that remembers it.
    void detach_the_one_before(PodResidueValues& seen);
    // A pod is attached to a node whose IPv6 default route comes by router advertisement.
    void advertised_route(PodResidueValues& seen);

  private:
    struct Snapshot {
        std::string program, rules;
    };

    agent::Client& node() { return *nodes_.shared_agent(0); }
    bool makes_host_ports(PodResidueValues& seen) const;
    frame::Endpoint host_port(std::uint16_t port) const;
    // Sends a datagram as a client on the node does that keeps its socket: from the same port each time.
    void send_to(const frame::Endpoint& port, PodResidueValues& seen);
    enum class Flow : std::uint8_t { kKept, kNew };  // by the client's source port, or by another
    // Returns whom its entry leads to; empty: there is none.
    std::string reached_by(Flow flow, const frame::Endpoint& port, const lab::Pod& old,
                           const lab::Pod& fresh, PodResidueValues& seen);
    std::vector<netfilter::Entry> entries_to(const frame::Endpoint& port, PodResidueValues& seen);
    void note_entries_to(const frame::Endpoint& port, const lab::Pod& old, PodResidueValues& seen);
    // Returns the rule by which a host port still leads to that pod; empty: there is none.
    std::string host_port_rule_of(const lab::Pod& pod, PodResidueValues& seen) const;
    bool reaches(const frame::IpAddress& address);
    bool comes_to_reach(agent::Client& from, const frame::IpAddress& to) const;
    std::vector<Snapshot> rules_now(PodResidueValues& seen);
    Status advertise();
    bool has_advertised_route();

    lab::Journal& journal_;
    lab::PodNodes& nodes_;
    const lab::Pod &first_, &second_;
    std::optional<lab::Pod> before_reboot_;
};

// Notes an error as a complaint, or as what the machine lacks.
void hear(const Status& status, PodResidueValues& seen);

}  // namespace pathproof::scenario
