#include "harness/truth/batch.h"

#include <rte_mbuf_core.h>

#include <algorithm>
#include <optional>

#include "dataplane/base/contains.h"
#include "dataplane/frame/view.h"

namespace pathproof::truth {
namespace {

constexpr std::size_t kShortestFrame = 60;  // IEEE 802.3, without FCS
constexpr std::size_t kMacs = 12;
constexpr int kTries = 3;

constexpr std::uint16_t kCustomerTag = 0x8100;  // IEEE 802.1Q
constexpr std::uint16_t kServiceTag = 0x88a8;

std::uint16_t type_of(const matrix::FrameBytes& frame) {
    return frame.size() < kMacs + 2
               ? std::uint16_t{0}
               : static_cast<std::uint16_t>(frame[kMacs] << 8 | frame[kMacs + 1]);
}

// Returns, for each frame of the plan, the index of its probe.
std::vector<std::size_t> owners_of(std::span<const matrix::Probe> probes) {
    std::vector<std::size_t> owners;
    for (std::size_t probe = 0; probe < probes.size(); ++probe) {
        owners.insert(owners.end(), probes[probe].handed.size(), probe);
    }
    return owners;
}

class Sorting {
  public:
    Sorting(const matrix::ProbeMaker& maker, std::span<const matrix::Probe> probes,
            Unreadable unreadable)
        : maker_(maker), probes_(probes), unreadable_(unreadable) {
        for (const matrix::Probe& probe : probes) {
            if (!contains(readings_, probe.tunnels)) {
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
        return unreadable_ == Unreadable::kOfFirstLacking && bears_our_mac(frame)
                   ? first_lacking(so_far)
                   : std::nullopt;
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
    const Unreadable unreadable_;
    std::vector<frame::TunnelPorts> readings_;
};

// Probes of which fewer frames came than were intended although the driver took them.
std::vector<std::size_t> incomplete(std::span<const matrix::Probe> probes,
                                    const BatchOutcome& outcome) {
    std::vector<std::size_t> numbers;
    for (std::size_t i = 0; i < probes.size(); ++i) {
        const ProbeOutcome& probe = outcome.probes[i];
        if (probe.refusal.empty() && probe.arrived.size() < probes[i].intended.size()) {
            numbers.push_back(i);
        }
    }
    return numbers;
}

std::vector<bool> came_of(const BatchOutcome& outcome) {
    std::vector<bool> came;
    for (const ProbeOutcome& probe : outcome.probes) {
        came.push_back(!probe.arrived.empty() || !probe.refusal.empty());
    }
    return came;
}

// The end of the probes from `begin` on that go out together.
std::size_t end_of_batch(std::span<const matrix::Probe> probes, std::size_t begin,
                         std::size_t most_frames) {
    std::size_t end = begin;
    for (std::size_t frames = 0; end < probes.size(); ++end) {
        frames += std::max(probes[end].handed.size(), probes[end].intended.size());
        if (frames > most_frames && end > begin) {
            break;
        }
    }
    return end;
}

}  // namespace

traffic::ExchangePlan plan_of(std::span<const matrix::Probe> probes) {
    traffic::ExchangePlan plan;
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

BatchOutcome sort_out(const matrix::ProbeMaker& maker, std::span<const matrix::Probe> probes,
                      traffic::ExchangeReport&& report, Unreadable unreadable) {
    BatchOutcome outcome{.probes = std::vector<ProbeOutcome>(probes.size())};
    outcome.objections = std::move(report.objections);
    const std::vector<std::size_t> owners = owners_of(probes);
    for (const traffic::FrameRefusal& refusal : report.refusals) {
        outcome.probes[owners.at(refusal.index)].refusal = refusal.reason;
    }
    const Sorting sorting(maker, probes, unreadable);
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

// A counter of drops may count what was no loss of ours (the kernel's rx_dropped has frames that no
// protocol wanted, of which the port got its copy). So it matters only where frames are missing,
// and not where the same ones are missing every time: chance does not choose so.
Result<BatchOutcome> exchange_batch(Exchange& exchange, Way way, const matrix::ProbeMaker& maker,
                                    std::span<const matrix::Probe> probes) {
    std::optional<std::vector<std::size_t>> missing_before;
    bool always_the_same = true;
    BatchOutcome outcome;
    for (int attempt = 0; attempt < kTries; ++attempt) {
        auto exchanged = TRY(exchange.send(way, probes));
        outcome = sort_out(maker, probes, std::move(exchanged.report), Unreadable::kOfFirstLacking);
        const std::vector<std::size_t> missing = incomplete(probes, outcome);
        if (outcome.objections.empty()) {
            return outcome;
        }
        if (missing.empty()) {
            outcome.objections.clear();
            return outcome;
        }
        always_the_same = always_the_same && (!missing_before || *missing_before == missing);
        missing_before = missing;
    }
    if (always_the_same) {
        outcome.objections.clear();
    }
    return outcome;
}

Result<std::vector<Carried>> carry(const Path& path, std::span<const matrix::Probe> probes,
                                   const matrix::ProbeMaker& maker, std::size_t most_frames,
                                   TesterTally& tally, StallWatch* watch) {
    const TagType tag = tag_type_at(path.far);
    std::vector<Carried> carried;
    while (carried.size() < probes.size()) {
        const std::size_t begin = carried.size();
        const auto batch = probes.subspan(begin, end_of_batch(probes, begin, most_frames) - begin);
        const auto sent = std::chrono::steady_clock::now();
        auto exchanged = TRY(path.exchange.send(Way::kFromDevice, batch));
        const BatchOutcome outcome =
            sort_out(maker, batch, std::move(exchanged.report), Unreadable::kForeign);
        std::size_t done = batch.size();
        if (watch != nullptr && exchanged.lost == 0) {
            done = TRY(watch->look(path, batch, came_of(outcome), sent));
        }
        for (std::size_t i = 0; i < done; ++i) {
            Carried& one = carried.emplace_back();
            one.refusal = outcome.probes[i].refusal;
            for (const traffic::ArrivedFrame& arrived : outcome.probes[i].arrived) {
                const std::size_t last = batch[i].intended.size() - 1;
                one.wire.push_back(as_on_the_wire(
                    arrived, batch[i].intended[std::min(one.wire.size(), last)], tag));
            }
        }
        tally.received += exchanged.received;
        tally.lost += exchanged.lost;
        tally.strays += outcome.foreign;
    }
    return carried;
}

TagType tag_type_at(const port::PortInfo& port) {
    return port.driver == "net_af_packet" ? TagType::kLost : TagType::kKept;
}

bool is_put_together(const matrix::Row& row, const port::PortInfo& receiver) {
    return receiver.driver == "net_af_packet" && is_ipv4(row) &&
           row.encap == matrix::Encap::kNone && row.fragmentation != matrix::Fragmentation::kNone;
}

matrix::FrameBytes as_on_the_wire(const traffic::ArrivedFrame& arrived,
                                  const matrix::FrameBytes& intended, TagType tag) {
    matrix::FrameBytes bytes = arrived.bytes;
    const bool stripped = (arrived.mbuf_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0;
    if (stripped && bytes.size() >= kMacs) {
        bytes = matrix::with_tag(std::move(bytes), arrived.vlan_tci);
    }
    if ((stripped || tag == TagType::kLost) && type_of(bytes) == kCustomerTag &&
        type_of(intended) == kServiceTag) {
        std::copy_n(intended.begin() + kMacs, 2, bytes.begin() + kMacs);
    }
    const bool padded = bytes.size() > intended.size() && bytes.size() <= kShortestFrame + 8 &&
                        intended.size() < kShortestFrame + 4 && !intended.empty();
    const bool zeros =
        padded && std::all_of(bytes.begin() + static_cast<std::ptrdiff_t>(intended.size()),
                              bytes.end(), [](std::uint8_t byte) { return byte == 0; });
    if (zeros) {
        bytes.resize(intended.size());
    }
    return bytes;
}

}  // namespace pathproof::truth
