#include "harness/scenario/offload_truth/path.h"

#include <algorithm>
#include <utility>

#include "dataplane/base/contains.h"
#include "dataplane/frame/template.h"
#include "dataplane/port/device_name.h"
#include "harness/agent/counters.h"
#include "harness/agent/offload_frames.h"
#include "harness/agent/path_events.h"
#include "harness/scenario/first_error.h"
#include "harness/scenario/offload_truth/between.h"

namespace pathproof::scenario {
namespace {

using namespace std::chrono_literals;
using matrix::FrameBytes;
using matrix::Probe;
using truth::Carried;
using truth::is_on;
using truth::PathCount;
using truth::PathDrop;
using truth::PathEnd;
using truth::PathFacts;
using truth::PathSample;
using truth::ProbeSet;
using truth::Setting;
using truth::TesterTally;

// Smallest MTU with room for a row of 256 bytes inside a tunnel's headers.
constexpr std::uint32_t kLeastMtu = 704;
constexpr std::size_t kMostAgain = 64;  // frames that are sent again
constexpr std::size_t kLastTry = 8;     // and where nothing came at all
constexpr auto kLongPatience = 1200ms;

const std::vector<std::string> kMerging = {"rx-gro", "rx-gro-hw", "rx-lro", "rx-gro-list",
                                           "rx-udp-gro-forwarding"};

std::vector<std::string> known_merging(const std::vector<agent::Feature>& features) {
    std::vector<std::string> names;
    std::ranges::copy_if(kMerging, std::back_inserter(names), [&](const std::string& name) {
        return feature_named(features, name) != nullptr;
    });
    return names;
}

// Returns the device's XDP program; empty: none, or `ip` does not report it, because it is missing
// for example.
std::string xdp_of(agent::Client& host, const std::string& device) {
    return host.xdp_program(device).value_or("");
}

// A datagram whose IP packet has so many bytes.
Result<FrameBytes> packet_of(std::uint32_t bytes) {
    constexpr std::uint32_t kHeaders = 28;
    frame::FrameSpec spec;
    spec.packet.source_mac = {{2, 0, 0, 0, 0, 1}};
    spec.packet.destination_mac = {{2, 0, 0, 0, 0, 2}};
    spec.packet.source = {frame::IpAddress::v4(0xc6120001), 20'000};
    spec.packet.destination = {frame::IpAddress::v4(0xc6130001), 5201};
    spec.payload.assign(bytes - kHeaders, 0x5a);
    const auto made = TRY(frame::FrameTemplate::make(spec));
    return made.render();
}

// Returns whether the packet came, with whatever end. A cut or padded packet is a finding of the
// path's proof, and no limit of its length.
bool came_as(const FrameBytes& frame, const FrameBytes& sent) {
    constexpr std::size_t kHeaders = 42;
    return frame.size() >= kHeaders &&
           std::equal(sent.begin(), sent.begin() + kHeaders, frame.begin());
}

// Returns whether packets of that length pass. One of several copies is enough: a path's losses say
// nothing about a limit of length.
Result<bool> passes(TruthBench& bench, std::uint32_t bytes) {
    const auto frame = TRY(packet_of(bytes));
    const std::vector<FrameBytes> copies(3, frame);
    const std::string& device = bench.device().name;
    const auto there = TRY(bench.record([&]() -> Result<std::uint64_t> {
        TRY(bench.dut().send_frames(device, std::vector<agent::OffloadFrame>(
                                                copies.size(), {.bytes = frame, .request = {}})));
        return copies.size();
    }));
    const auto is_it = [&](const FrameBytes& seen) { return came_as(seen, frame); };
    if (std::ranges::none_of(there.frames, is_it)) {
        return false;
    }
    TRY(bench.dut().start_capture({.device = device}));
    const Status sent = bench.send(copies);
    const auto back = TRY(bench.dut().stop_capture());
    return sent && std::ranges::any_of(back.frames, is_it, &agent::CapturedFrame::bytes);
}

// Counts what happened to the plain frames of one probe.
void count_probe(const Probe& probe, const Carried& seen, PathCount& count) {
    std::vector<FrameBytes> left = seen.wire;
    std::size_t longest = 0;
    std::uint64_t absent = 0;
    for (const FrameBytes& intended : probe.intended) {
        longest = std::max(longest, intended.size());
        const auto exact = std::ranges::find(left, intended);
        if (exact == left.end()) {
            ++absent;
        } else {
            left.erase(exact);
        }
    }
    const bool merged =
        std::ranges::any_of(left, [&](const FrameBytes& bytes) { return bytes.size() > longest; });
    count.sent += probe.intended.size();
    count.right += probe.intended.size() - absent;
    count.merged += merged ? absent : 0;
    count.changed += merged ? 0 : std::min<std::uint64_t>(absent, left.size());
}

// Sends the probes and gives those that did not come as they were sent.
Result<std::vector<Probe>> try_probes(TruthBench& bench, const matrix::ProbeMaker& maker,
                                      const std::vector<Probe>& probes, PathCount& count) {
    TesterTally tally;
    const auto carried = TRY(bench.carry(probes, maker, tally));
    std::vector<Probe> failed;
    count = {.own_loss = tally.lost};
    for (std::size_t at = 0; at < probes.size(); ++at) {
        const std::uint64_t before = count.right;
        count_probe(probes[at], carried[at], count);
        if (count.right - before != probes[at].intended.size()) {
            failed.push_back(probes[at]);
        }
    }
    return failed;
}

// Adds a further try to the count. `again`: the result of the last try for the frames that the
// first did not bring. Frames that came now are right.
void amend(PathCount& count, const PathCount& again, std::uint64_t tried) {
    count.right += again.right;
    const std::uint64_t rest = count.sent - count.right;
    if (tried == rest + again.right) {  // all of them were sent again
        count.merged = again.merged;
        count.changed = again.changed;
    }
    count.merged = std::min(count.merged, rest);
    count.changed = std::min(count.changed, rest - count.merged);
    count.own_loss += again.own_loss;
}

std::uint64_t frames_in(const std::vector<Probe>& probes) {
    std::uint64_t frames = 0;
    for (const Probe& probe : probes) {
        frames += probe.intended.size();
    }
    return frames;
}

// Returns one probe of each row, with nothing left to the device. Frames that the tester cannot see
// as they were sent are not sent later either.
std::vector<Probe> plain_probes(const TruthBench& bench, const ProbeSet& set) {
    std::vector<Probe> plain;
    for (const Probe& probe : set.probes) {
        if (probe.label.index == 0 && !bench.blind_to(set.matrix.rows.at(probe.label.row))) {
            plain.push_back(matrix::as_plain(probe));
        }
    }
    return plain;
}

Status prove_sent(TruthBench& bench, const ProbeSet& set, PathFacts& path) {
    PathCount& count = path.to_tester;
    const std::vector<Probe> plain = plain_probes(bench, set);
    auto failed = try_probes(bench, set.maker, plain, count);
    path.changed_at_first = count.changed;
    const Pace first = bench.pace();
    const std::vector<Pace> slower = {{32, first.patience}, {32, kLongPatience}};
    for (const Pace& pace : slower) {
        if (!failed || failed->empty() || (count.silent() && pace.patience == first.patience)) {
            continue;
        }
        bench.set_pace(pace);
        failed->resize(std::min(failed->size(), count.silent() ? kLastTry : kMostAgain));
        const std::uint64_t tried = frames_in(*failed);
        PathCount again;
        failed = try_probes(bench, set.maker, *failed, again);
        if (failed) {
            // All that was tried again came: what was not tried again would have.
            const bool all = again.proven();
            const std::uint64_t rest = count.sent - count.right;
            (pace.patience == first.patience ? path.paced : path.late) += all ? rest : again.right;
            amend(count, all ? PathCount{.right = rest} : again, all ? rest : tried);
        }
    }
    return failed ? Status() : Status(pass_on(failed.error()));
}

Status prove_received(TruthBench& bench, truth::RowSettings settings, PathFacts& path) {
    settings.plain = true;
    settings.probes = 1;
    for (const auto patience : {settings.patience, std::chrono::milliseconds(kLongPatience)}) {
        settings.patience = patience;
        const auto run = TRY(bench.receive(settings));
        const PathCount before = path.to_device;
        PathCount& count = path.to_device;
        count = {.own_loss = run.objections.size()};
        for (const truth::RxRow& row : run.received) {
            const matrix::Deliveries& delivered = row.result.deliveries;
            count.sent += row.result.frames;
            count.right += row.result.frames - delivered.good_lost - delivered.bad_lost;
            for (const matrix::RxFinding& finding : row.result.findings) {
                if (finding.kind == matrix::RxFindingKind::kChanged) {
                    count.changed += finding.frames;
                    count.right -= std::min(count.right, finding.frames);
                }
            }
        }
        if (count.proven()) {
            if (before.sent != 0) {
                path.late += before.missing();
                bench.set_pace({bench.pace().frames, 2 * patience});
            }
            return {};
        }
    }
    return {};
}

constexpr int kFaultLooks = 3;

// Sends the probes by that device, either way, and returns the frames that came of each.
Result<std::vector<std::vector<FrameBytes>>> came_of(TruthBench& bench, const std::string& device,
                                                     const matrix::ProbeMaker& maker,
                                                     truth::Way way,
                                                     const std::vector<Probe>& probes) {
    std::vector<std::vector<FrameBytes>> came;
    truth::KernelExchange cable = bench.exchange_by(device);
    if (way == truth::Way::kFromDevice) {
        TesterTally tally;
        const bool is_dut = device == bench.device().name;
        for (Carried& carried :
             TRY(is_dut ? bench.carry(probes, maker, tally)
                        : truth::carry(cable.path(), probes, maker, bench.pace().frames, tally))) {
            came.push_back(std::move(carried.wire));
        }
        return came;
    }
    constexpr std::size_t kAtATime = 64;
    for (std::size_t begin = 0; begin < probes.size(); begin += kAtATime) {
        const std::span<const Probe> batch =
            std::span(probes).subspan(begin, std::min(kAtATime, probes.size() - begin));
        const auto outcome = TRY(truth::exchange_batch(cable, way, maker, batch));
        for (std::size_t i = 0; i < batch.size(); ++i) {
            std::vector<FrameBytes>& frames = came.emplace_back();
            for (const traffic::ArrivedFrame& arrived : outcome.probes[i].arrived) {
                const std::size_t last = batch[i].intended.size() - 1;
                frames.push_back(
                    truth::as_on_the_wire(arrived, batch[i].intended[std::min(frames.size(), last)],
                                          truth::TagType::kKept));
            }
        }
    }
    return came;
}

// Returns the frame that came of each intended one: those with equal bytes first, the others in
// order.
std::vector<FrameBytes> paired(const Probe& probe, std::vector<FrameBytes> came) {
    std::vector<FrameBytes> pairs(probe.intended.size());
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        const auto exact = std::ranges::find(came, probe.intended[i]);
        if (exact != came.end()) {
            pairs[i] = std::move(*exact);
            came.erase(exact);
        }
    }
    for (std::size_t i = 0; i < pairs.size() && !came.empty(); ++i) {
        if (pairs[i].empty()) {
            pairs[i] = std::move(came.front());
            came.erase(came.begin());
        }
    }
    return pairs;
}

// The faults of one way, and the frames that showed none.
struct Looks {
    std::vector<truth::PathFault> faults;
    std::uint64_t sent = 0;
    std::uint64_t right = 0;
};

// Sends all plain frames this way, and again and again.
Result<Looks> look_for_faults(TruthBench& bench, const std::string& device, const ProbeSet& set,
                              truth::Way way) {
    const std::vector<Probe> plain = plain_probes(bench, set);
    std::vector<PathSample> samples;
    for (const Probe& probe : plain) {
        for (std::size_t part = 0; part < probe.intended.size(); ++part) {
            samples.push_back({.row = &set.matrix.rows[probe.label.row],
                               .probe = &probe,
                               .part = part,
                               .came = {}});
        }
    }
    for (int look = 0; look < kFaultLooks; ++look) {
        auto came = TRY(came_of(bench, device, set.maker, way, plain));
        std::size_t next = 0;
        for (std::size_t i = 0; i < plain.size(); ++i) {
            for (FrameBytes& frame : paired(plain[i], std::move(came[i]))) {
                samples[next++].came.push_back(std::move(frame));
            }
        }
    }
    Looks looks{.faults = truth::path_faults(way, samples)};
    for (const PathSample& sample : samples) {
        looks.sent += sample.came.size();
        looks.right += static_cast<std::uint64_t>(
            std::ranges::count(sample.came, sample.probe->intended[sample.part]));
    }
    return looks;
}

Status find_faults(TruthBench& bench, const ProbeSet& set, truth::Way way, PathFacts& path) {
    Looks looks = TRY(look_for_faults(bench, bench.device().name, set, way));
    std::ranges::move(looks.faults, std::back_inserter(path.faults));
    return {};
}

// Sends the same frames by another device, in each way that shows a fault.
Status prove_by_other(TruthBench& bench, const ProbeSet& set, PathFacts& path) {
    path.proof.name = bench.device().proven_by;
    for (const truth::Way way : {truth::Way::kFromDevice, truth::Way::kToDevice}) {
        if (std::ranges::none_of(path.faults,
                                 [&](const truth::PathFault& fault) { return fault.way == way; })) {
            continue;
        }
        Looks looks = TRY(doing(look_for_faults(bench, path.proof.name, set, way),
                                "--path-proven-by {}", path.proof.name));
        path.proof.sent += looks.sent;
        path.proof.right += looks.right;
        std::ranges::move(looks.faults, std::back_inserter(path.proof.faults));
    }
    return {};
}

// Rows that are received have not every kind and length of those that are sent: whether each plain
// frame of these comes right the other way too.
Result<bool> come_back_right(TruthBench& bench, const ProbeSet& set) {
    const std::vector<Probe> plain = plain_probes(bench, set);
    auto came = TRY(came_of(bench, bench.device().name, set.maker, truth::Way::kToDevice, plain));
    for (std::size_t i = 0; i < plain.size(); ++i) {
        if (paired(plain[i], std::move(came[i])) != plain[i].intended) {
            return false;
        }
    }
    return true;
}

bool is_of_a_checksum(const std::string& reason) {
    return reason.find("CSUM") != std::string::npos || reason == "NO_SOCKET" ||
           reason == "OTHERHOST" || reason == "UNHANDLED_PROTO" || reason == "SKB_CONSUMED";
}

}  // namespace

FarEnd::~FarEnd() {
    if (features_) {
        // A failure here stays in the journal, which tries again and reports it.
        static_cast<void>(features_->put_back());
    }
}

Result<FarEnd> FarEnd::take(const TruthDevice& device) {
    FarEnd far;
    far.end_.name = device.tester_port.name;
    const auto behind = port::kernel_port(device.tester_port.device);
    if (!behind) {
        return far;
    }
    far.end_.name = behind->interface;
    far.end_.netns = device.tester_netns;
    far.agent_ = TRY(agent::Client::start_in_netns(device.tester_netns));
    const auto info = far.agent_->device(far.end_.name);
    const auto before = far.agent_->features(far.end_.name);
    TRY(first_error(info, before));
    far.end_.mtu = info->mtu;
    far.end_.xdp = xdp_of(*far.agent_, far.end_.name);
    auto features =
        TRY(FeatureSwitch::take(TruthHost(*far.agent_), far.end_.name, known_merging(*before)));
    far.features_ = std::make_unique<FeatureSwitch>(std::move(features));
    const auto taken = TRY(far.features_->set({Setting::Kind::kAllOff, ""}));
    std::ranges::copy_if(kMerging, std::back_inserter(far.end_.merging),
                         [&](const std::string& name) { return is_on(taken.features, name); });
    return far;
}

Result<std::uint32_t> find_mtu(TruthBench& bench, std::uint32_t longest) {
    const bool whole = TRY(passes(bench, longest));
    if (whole) {
        return longest;
    }
    std::uint32_t carried = kLeastMtu;
    const bool least = TRY(passes(bench, carried));
    if (!least) {
        return 0;
    }
    for (std::uint32_t refused = longest; refused - carried > 1;) {
        const std::uint32_t middle = carried + (refused - carried) / 2;
        const auto passed = TRY(passes(bench, middle));
        (passed ? carried : refused) = middle;
    }
    return carried;
}

Status prove_path(TruthBench& bench, const ProbeSet& set, const truth::RowSettings& received,
                  PathFacts& path) {
    path.device.xdp = xdp_of(bench.dut(), path.device.name);
    DropWatch watch(bench.dut(), path.device, path.far);
    Status proven = prove_sent(bench, set, path);
    if (proven && !path.to_tester.silent()) {
        proven = prove_received(bench, received, path);
    }
    auto drops = watch.stop();
    if (!drops) {
        return proven ? Status(pass_on(drops.error())) : proven;
    }
    path.drops = std::move(*drops);
    path.backlog = watch.backlog();
    const bool doubtful = !path.proven() || path.changed_at_first != 0;
    const bool back = TRY(!proven || path.to_tester.silent() || path.to_device.silent()
                              ? Result<bool>(true)
                              : come_back_right(bench, set));
    if (!proven || (!doubtful && back) || path.to_tester.silent()) {
        return proven;
    }
    if (!path.to_tester.proven() || path.changed_at_first != 0) {
        TRY(find_faults(bench, set, truth::Way::kFromDevice, path));
    }
    if (path.to_tester.proven() && !path.faults.empty()) {
        // Each came right at last, and yet the path changes frames.
        path.to_tester.changed = path.changed_at_first;
        path.to_tester.right -= path.changed_at_first;
    }
    if ((!path.to_device.proven() || !back) && !path.to_device.silent()) {
        const std::size_t before = path.faults.size();
        TRY(find_faults(bench, set, truth::Way::kToDevice, path));
        for (std::size_t i = before; i < path.faults.size() && path.to_device.proven(); ++i) {
            // These kinds are in no row of the received frames.
            path.to_device.sent += path.faults[i].frames;
            path.to_device.changed += path.faults[i].lost ? 0 : path.faults[i].frames;
        }
    }
    if (path.faults.empty()) {
        return {};
    }
    if (bench.device().proven_by.empty()) {
        path.between = between(bench.device(), path);
        return {};
    }
    TRY(prove_by_other(bench, set, path));
    // The far end is the other device's too: programs at the device alone are left.
    PathFacts near = path;
    near.far = {};
    path.between = between(bench.device(), near);
    return {};
}

PathEnd device_end(const TruthBench& bench) {
    const TruthDevice& device = bench.device();
    return {
        .name = device.name, .netns = device.netns, .host = device.host, .mtu = bench.info().mtu};
}

DropWatch::DropWatch(agent::Client& dut, PathEnd device, const PathEnd& far)
    : dut_(dut), device_(std::move(device)) {
    if (const Status started = dut.start_path_watch(); !started) {
        why_not_ = started.error().message;
        return;
    }
    watched_ = true;
    // The far end is this machine's; a DPDK port on hardware is nobody's namespace.
    if (!device_.host.empty()) {
        backlog_before_ = agent::backlog_drops();
    }
    if (far.name.empty() || (device_.host.empty() && device_.netns == far.netns)) {
        return;
    }
    auto tracer = drops::DropTracer::start({.netns = far.netns});
    if (tracer) {
        far_ = far;
        tracer_ = std::move(*tracer);
    } else {
        why_not_ = tracer.error().message;
    }
}

DropWatch::~DropWatch() {
    if (watched_) {
        static_cast<void>(dut_.stop_path_watch());  // an agent that is gone watches no more
    }
}

Result<std::vector<PathDrop>> DropWatch::stop() {
    std::vector<PathDrop> all;
    if (!std::exchange(watched_, false)) {
        return all;
    }
    const auto add = [&](const drops::DropSummary& summary, const PathEnd& end) {
        const std::size_t others = all.size();
        for (const drops::DropCount& count : summary.counts) {
            if (is_of_a_checksum(count.reason)) {
                continue;
            }
            // There is a count for each protocol.
            const auto known = std::find_if(all.begin() + static_cast<std::ptrdiff_t>(others),
                                            all.end(), [&](const PathDrop& drop) {
                                                return drop.reason == count.reason &&
                                                       drop.location == count.location;
                                            });
            if (known != all.end()) {
                known->packets += count.packets;
            } else {
                all.push_back({count.reason, count.location, end, count.packets});
            }
        }
    };
    const agent::PathEvents seen = TRY(dut_.stop_path_watch());
    backlog_ = seen.backlog + (device_.host.empty() ? 0 : agent::backlog_drops() - backlog_before_);
    why_not_ = why_not_.empty() ? seen.untraced : why_not_;
    add(seen.drops, device_);
    if (tracer_) {
        const drops::DropSummary summary = tracer_->stop();
        if (summary.scope == drops::Scope::kNamespace) {
            add(summary, far_);
        } else {
            why_not_ = summary.scope_reason;
        }
    }
    if (!why_not_.empty()) {
        all.clear();
    }
    std::ranges::stable_sort(all, std::greater<>(), &PathDrop::packets);
    return all;
}

}  // namespace pathproof::scenario
