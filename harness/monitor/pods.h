// Flows by the pod that began them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "harness/netfilter/clashes.h"
#include "harness/netfilter/entry.h"

namespace pathproof::monitor {

// By Kubernetes' names.
struct Pod {
    std::string pod_namespace;
    std::string name;
    auto operator<=>(const Pod&) const = default;
};
using PodAddresses = std::map<frame::IpAddress, Pod>;

// The pods that somebody told of.
struct KnownPods {
    PodAddresses addresses;
    bool readable = true;        // else the source of all this could not be read, and none is known
    std::size_t unreadable = 0;  // parts of the source that no pod was read from
};

// Since the pod is known.
struct PodCounts {
    std::uint64_t flows = 0;       // that it began
    std::uint64_t unanswered = 0;  // of its flows, those that ended without an answer
    std::uint64_t clashes = 0;     // hidden entries of resolved clashes of its flows
    std::uint64_t late_answers = 0;
    bool operator==(const PodCounts&) const = default;
};

class PodTable {
  public:
    // The pods from now on. The counts of those that are not among them any more are forgotten.
    void know(KnownPods pods);

    void take(const netfilter::Event& event);
    void take_clash(const netfilter::Clash& clash);
    // As ClashSink::late_answer tells of them, some of them twice.
    void take_late_answer(const netfilter::LateAnswer& late);

    // Returns the pods that were told; nothing: know() was not called.
    const std::optional<KnownPods>& known() const { return known_; }
    const std::map<Pod, PodCounts>& counts() const { return counts_; }

  private:
    PodCounts* counts_of(const frame::IpAddress& client);

    std::optional<KnownPods> known_;
    std::map<Pod, PodCounts> counts_;
    std::size_t next_late_answer_ = 0;
};

}  // namespace pathproof::monitor
