#include "harness/offload/batch.h"

#include <rte_mbuf_core.h>

#include <algorithm>
#include <optional>

#include "dataplane/frame/view.h"

namespace pathproof::offload {
namespace {

constexpr std::size_t kShortestFrame = 60;  // IEEE 802.3, without FCS
constexpr std::size_t kMacs = 12;
constexpr int kTries = 3;

traffic::ExchangePlan plan_of(std::span<const matrix::Probe> probes, std::size_t from,
                              std::size_t to) {
    traffic::ExchangePlan plan{.from = from, .to = to};
    for (const matrix::Probe& probe : probes) {
        for (const matrix::HandedFrame& handed : probe.handed) {
            plan.frames.push_back({.bytes = handed.bytes,
                                   .request = handed.request,
                                   .vlan_tci = handed.vlan_tci,
                                   .buffers = handed.buffers});
        }
    }
    return plan;
}

// Which probe each frame of the plan is of.
std::vector<std::size_t> owners_of(std::span<const matrix::Probe> probes) {
    std::vector<std::size_t> owners;
    for (std::size_t probe = 0; probe < probes.size(); ++probe) {
        owners.insert(owners.end(), probes[probe].handed.size(), probe);
    }
    return owners;
}

class Sorting {
  public:
    Sorting(const matrix::ProbeMaker& maker, std::span<const matrix::Probe> probes)
        : maker_(maker), probes_(probes) {
        for (const matrix::Probe& probe : probes) {
            if (std::ranges::find(readings_, probe.tunnels) == readings_.end()) {
                readings_.push_back(probe.tunnels);
            }
        }
    }

    // Null: not ours.
    std::optional<std::size_t> owner(const matrix::FrameBytes& frame,
                                     const std::vector<ProbeOutcome>& so_far) const {
        for (const frame::TunnelPorts& tunnels : readings_) {
            const frame::FrameView view = frame::parse_frame(frame, tunnels);
            const auto label = maker_.label_of(view.innermost());
            if (const auto probe = label ? find(*label, tunnels) : std::nullopt) {
                return probe;
            }
        }
        return bears_our_mac(frame) ? first_lacking(so_far) : std::nullopt;
    }

  private:
    std::optional<std::size_t> find(const matrix::Label& label,
                                    const frame::TunnelPorts& tunnels) const {
        const auto at = std::ranges::find_if(probes_, [&](const matrix::Probe& probe) {
            return probe.label == label && probe.tunnels == tunnels;
        });
        return at == probes_.end() ? std::nullopt
                                   : std::optional<std::size_t>(at - probes_.begin());
    }

    bool bears_our_mac(const matrix::FrameBytes& frame) const {
        const auto& mac = maker_.addresses().source_mac.bytes;
        return frame.size() >= kMacs && std::equal(mac.begin(), mac.end(), frame.begin() + 6);
    }

    std::optional<std::size_t> first_lacking(const std::vector<ProbeOutcome>& so_far) const {
        for (std::size_t i = 0; i < probes_.size(); ++i) {
            if (so_far[i].arrived.size() < probes_[i].intended.size()) {
                return i;
            }
        }
        return std::nullopt;
    }

    const matrix::ProbeMaker& maker_;
    std::span<const matrix::Probe> probes_;
    std::vector<frame::TunnelPorts> readings_;
};

BatchOutcome sort_out(const matrix::ProbeMaker& maker, std::span<const matrix::Probe> probes,
                      traffic::ExchangeReport&& report) {
    BatchOutcome outcome{.probes = std::vector<ProbeOutcome>(probes.size())};
    outcome.objections = std::move(report.objections);
    const std::vector<std::size_t> owners = owners_of(probes);
    for (const traffic::FrameRefusal& refusal : report.refusals) {
        outcome.probes[owners.at(refusal.index)].refusal = refusal.reason;
    }
    const Sorting sorting(maker, probes);
    for (traffic::ArrivedFrame& arrived : report.arrived) {
        const auto owner = sorting.owner(arrived.bytes, outcome.probes);
        if (!owner) {
            ++outcome.foreign;
            continue;
        }
        outcome.probes[*owner].arrived.push_back(std::move(arrived));
    }
    return outcome;
}

}  // namespace

Result<BatchOutcome> exchange_batch(tester::Client& tester, std::size_t from, std::size_t to,
                                    const matrix::ProbeMaker& maker,
                                    std::span<const matrix::Probe> probes) {
    const traffic::ExchangePlan plan = plan_of(probes, from, to);
    BatchOutcome outcome;
    for (int attempt = 0; attempt < kTries; ++attempt) {
        auto report = tester.exchange(plan);
        if (!report) {
            return pass_on(report.error());
        }
        outcome = sort_out(maker, probes, std::move(*report));
        if (outcome.objections.empty()) {
            break;
        }
    }
    return outcome;
}

matrix::FrameBytes as_on_the_wire(const traffic::ArrivedFrame& arrived,
                                  std::size_t intended_bytes) {
    matrix::FrameBytes bytes = arrived.bytes;
    if ((arrived.mbuf_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0 && bytes.size() >= kMacs) {
        const std::array<std::uint8_t, 4> tag = {0x81, 0x00,
                                                 static_cast<std::uint8_t>(arrived.vlan_tci >> 8),
                                                 static_cast<std::uint8_t>(arrived.vlan_tci)};
        bytes.insert(bytes.begin() + kMacs, tag.begin(), tag.end());
    }
    const bool padded = bytes.size() > intended_bytes && bytes.size() <= kShortestFrame + 8 &&
                        intended_bytes < kShortestFrame + 4;
    const bool zeros =
        padded && std::all_of(bytes.begin() + static_cast<std::ptrdiff_t>(intended_bytes),
                              bytes.end(), [](std::uint8_t byte) { return byte == 0; });
    if (zeros) {
        bytes.resize(intended_bytes);
    }
    return bytes;
}

}  // namespace pathproof::offload
