#include "harness/scenario/offload_truth/counters.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "dataplane/frame/template.h"
#include "dataplane/judge/rx_verdict.h"
#include "harness/scenario/measures.h"
#include "harness/scenario/offload_truth/path.h"

namespace pathproof::scenario {
namespace {

using frame::ChecksumMode;
using frame::Family;
using frame::Transport;
using truth::counted_kinds;
using truth::CountedKind;
using truth::kCountedKinds;
using truth::KindCount;
using truth::KindCounts;
using truth::PathDrop;
using verdict::Observation;
using verdict::Observed;

// Below, at and above the length from which the kernel puts a sum off (CHECKSUM_BREAK, 76 bytes).
constexpr std::array<std::size_t, 8> kLengths = {0, 1, 17, 18, 60, 77, 256, 1400};
constexpr ChecksumMode kMistakes[] = {ChecksumMode::kPlusOne, ChecksumMode::kComplement,
                                      ChecksumMode::kSwapped, ChecksumMode::kRandom};
constexpr std::uint16_t kClosedPort = 61987;
constexpr std::uint16_t kFirstPort = 20000;
constexpr std::uint8_t kSyn = 0x02;

constexpr std::size_t kMostHeaders = 80;

frame::FrameSpec counted_spec(const CountedKind& kind, const TruthBench& bench, std::size_t number,
                              std::uint64_t seed) {
    frame::FrameSpec spec;
    spec.packet.source_mac = {{2, 0, 0, 0, 0, 1}};
    spec.packet.destination_mac = bench.info().mac;
    spec.packet.source = {AddressedDevice::tester(kind.family),
                          static_cast<std::uint16_t>(kFirstPort + number)};
    spec.packet.destination = {AddressedDevice::own(kind.family), kClosedPort};
    spec.packet.transport = kind.transport;
    spec.packet.tcp_flags = kSyn;
    spec.packet.tcp_acknowledgement = 0;
    spec.seed = seed + number;
    const std::size_t room = bench.device().longest_packet - kMostHeaders;
    for (std::size_t at = 0; at < std::min(kLengths[number % kLengths.size()], room); ++at) {
        spec.payload.push_back(static_cast<std::uint8_t>(at * 29 + number * 3));
    }
    return spec;
}

// Makes as many good frames as bad ones, each mistake with each length.
Result<std::vector<matrix::FrameBytes>> frames_of(const CountedKind& kind, const TruthBench& bench,
                                                  std::uint64_t seed) {
    std::vector<matrix::FrameBytes> frames;
    std::size_t number = 0;
    for (const ChecksumMode mistake : kMistakes) {
        for (std::size_t i = 0; i < 2 * kLengths.size(); ++i) {
            frame::FrameSpec spec = counted_spec(kind, bench, number++, seed);
            if (i >= kLengths.size()) {
                (kind.in_ip_header ? spec.packet.ip_checksum : spec.packet.transport_checksum) =
                    mistake;
            }
            const auto made = TRY(frame::FrameTemplate::make(spec));
            frames.push_back(made.render());
        }
    }
    return frames;
}

agent::CounterSet driver_counters(const agent::DeviceInfo& info) {
    agent::CounterSet chosen;
    for (const auto& [name, value] : info.statistics) {
        if (truth::counts_bad_checksums(name)) {
            chosen.emplace(name, value);
        }
    }
    return chosen;
}

struct Counters {
    agent::CounterSet kernel;
    agent::CounterSet driver;
};

Result<Counters> read_counters(TruthBench& bench) {
    auto kernel = TRY(bench.dut().counters());
    const auto info = TRY(bench.dut().device(bench.device().name));
    return Counters{std::move(kernel), driver_counters(info)};
}

Status count_kind(TruthBench& bench, const CountedKind& kind, std::uint64_t seed,
                  KindCount& count) {
    const auto frames = TRY(frames_of(kind, bench, seed));
    for (const matrix::FrameBytes& bytes : frames) {
        ++(judge::verify(bytes, frame::TunnelPorts(frame::IpTunnels::kIgnored)).any_bad()
               ? count.bad
               : count.good);
    }
    const auto before = TRY(read_counters(bench));
    TRY(bench.send(frames));
    const auto after = TRY(read_counters(bench));
    count.accepted = value_in(after.kernel, kind.accepted) - value_in(before.kernel, kind.accepted);
    count.refused = value_in(after.kernel, kind.refused) - value_in(before.kernel, kind.refused);
    for (const auto& [name, value] : after.driver) {
        count.driver.emplace_back(name, value - value_in(before.driver, name));
    }
    return {};
}

// Counts once more if the counts do not add up, and meanwhile asks the kernel who drops frames.
Status look_again(TruthBench& bench, const CountedKind& kind, std::uint64_t seed,
                  KindCount& count) {
    const Observation first = observation_of(count, kind);
    const Observation of_driver = driver_observation(count);
    if (first.observed == Observed::kRight && of_driver.observed != Observed::kWrong) {
        return {};
    }
    DropWatch watch(bench.dut(), device_end(bench));
    KindCount again;
    TRY(count_kind(bench, kind, seed, again));
    const std::vector<PathDrop> drops = TRY(watch.stop());
    const Observation second = observation_of(again, kind);
    if (second.observed != Observed::kRight && !drops.empty()) {
        again.hidden = drop_sentence(drops.front());
    } else if (second.observed != Observed::kRight && !watch.why_not().empty()) {
        again.hidden = "whether the kernel drops frames cannot be read here: " + watch.why_not();
    } else if (first.observed == Observed::kWrong && second.names != first.names) {
        again.once = first.note;
    } else if (of_driver.observed == Observed::kWrong &&
               driver_observation(again).observed != Observed::kWrong) {
        again.once = of_driver.note;
    }
    count = std::move(again);
    return {};
}

}  // namespace

Result<KindCounts> count_addressed(TruthBench& bench, const AddressedDevice& addressed,
                                   std::uint64_t seed) {
    KindCounts counts;
    for (std::size_t i = 0; i < kCountedKinds; ++i) {
        const CountedKind& kind = counted_kinds()[i];
        counts[i].why_not = addressed.why_not(kind.family);
        if (!counts[i].why_not.empty()) {
            continue;
        }
        TRY(count_kind(bench, kind, seed, counts[i]));
        TRY(look_again(bench, kind, seed, counts[i]));
    }
    return counts;
}

CounterVerdict judge_counters(const KindCounts& counts, const std::string& setting,
                              const std::string& title) {
    CounterVerdict judged{.kernel = {.direction = "Rx"}, .driver = {.direction = "Rx"}, .cell = {}};
    judged.cell = {.id = "rx." + setting + ".counters",
                   .toggles = {{"offloads", title}, {"frames", "to the kernel's own address"}},
                   .verdict = verdict::CellVerdict::kPass};
    std::uint64_t frames = 0;
    std::vector<std::string> wrong;
    std::vector<std::string> doubts;
    std::vector<std::string> hidden;
    std::string who;
    for (std::size_t i = 0; i < kCountedKinds; ++i) {
        const CountedKind& kind = counted_kinds()[i];
        judged.kernel.observed.push_back(observation_of(counts[i], kind));
        judged.driver.observed.push_back(driver_observation(counts[i]));
        for (Observation* seen : {&judged.kernel.observed.back(), &judged.driver.observed.back()}) {
            seen->cell = seen->observed == Observed::kNotTested ? "" : judged.cell.id;
            if (seen->observed == Observed::kWrong) {
                wrong.push_back(fmt::format("{}: {} ({})", kind.name, fmt::join(seen->names, ", "),
                                            seen->note));
            }
        }
        const Observation& kernel = judged.kernel.observed.back();
        if (kernel.observed != Observed::kNotTested) {
            frames += kernel.frames;
            judged.cell.measures.push_back(
                words_of(fmt::format("counted_{}", i), kind.name, kernel.note));
        }
        if (!counts[i].hidden.empty()) {
            hidden.push_back(kind.name);
            who = who.empty() ? counts[i].hidden : who;
        } else if (!counts[i].once.empty()) {
            doubts.push_back(
                fmt::format("{}: seen once, not confirmed: {}", kind.name, counts[i].once));
        }
    }
    if (!hidden.empty()) {
        doubts.push_back(fmt::format("frames of {} are kept from the counters; of the first, {}",
                                     fmt::join(hidden, ", "), who));
    }
    if (wrong.empty() && !doubts.empty()) {
        judged.cell.verdict = verdict::CellVerdict::kInconclusive;
        judged.cell.reason = fmt::format("{}", fmt::join(doubts, "; "));
    } else if (!wrong.empty()) {
        judged.cell.verdict = verdict::CellVerdict::kFail;
        judged.cell.reason = fmt::format("{}", fmt::join(wrong, "; "));
        judged.cell.cause = judge::name(judge::RxFault::kCounterLies);
        judged.kernel.finding = judged.cell.reason;
    } else if (frames == 0) {
        judged.cell.verdict = verdict::CellVerdict::kSkip;
        judged.cell.reason = judged.kernel.observed.front().note;
    }
    return judged;
}

}  // namespace pathproof::scenario
