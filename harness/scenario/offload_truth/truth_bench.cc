#include "harness/scenario/offload_truth/truth_bench.h"

#include <algorithm>

#include "harness/scenario/measures.h"
#include "harness/tester/port_choice.h"
#include "harness/truth/batch.h"
#include "harness/truth/kernel_rx.h"

namespace pathproof::scenario {
namespace {

using namespace std::chrono_literals;
using matrix::FrameBytes;
using matrix::Probe;
using matrix::Row;

constexpr std::uint64_t kRecordedBytes = 8u << 20;  // of one batch, of jumbo frames too

std::size_t frames_of(const Probe& probe) {
    return std::max(probe.handed.size(), probe.intended.size());
}

// The probes [begin, end) that go out together.
std::size_t end_of_batch(const std::vector<Probe>& probes, std::size_t begin, std::size_t most) {
    std::size_t end = begin;
    for (std::size_t frames = 0; end < probes.size(); ++end) {
        frames += frames_of(probes[end]);
        if (frames > most && end > begin) {
            break;
        }
    }
    return end;
}

}  // namespace

Result<std::unique_ptr<TruthBench>> TruthBench::open(Context& context, const TruthDevice& device,
                                                     std::shared_ptr<agent::Client> dut) {
    std::unique_ptr<TruthBench> bench(new TruthBench);
    bench->device_ = device;
    bench->out_dir_ = context.options.out_dir;
    bench->dut_ = dut ? std::move(dut) : context.lab.dut();
    if (!bench->dut_) {
        bench->dut_ = TRY(agent::Client::start_in_netns(device.netns));
    }
    bench->host_ = device.host.empty() ? TruthHost(context.journal, device.netns, *bench->dut_)
                                       : TruthHost(*bench->dut_);
    bench->info_ = TRY(bench->dut_->device(device.name));
    const auto start_tester = [&]() -> Status {
        const int lcore = device.tester_lcore.value_or(context.options.cpus.back());
        bench->tester_ = TRY(tester::Client::start({.netns = device.tester_netns,
                                                    .ports = {device.tester_port},
                                                    .worker_cpus = {lcore},
                                                    .hugepages = context.options.hugepages}));
        return {};
    };
    // The lab's own interfaces go with their namespaces.
    const auto programs = context.options.device
                              ? tester::interfaces_with_programs({device.tester_port})
                              : std::vector<std::string>();
    TRY(context.journal.open_ports(device.tester_netns, programs, start_tester));
    context.measured.know_dpdk(bench->tester_->dpdk_version());
    return bench;
}

std::optional<std::string> TruthBench::blind_to(const matrix::Row& row) const {
    if (truth::is_put_together(row, tester_port())) {
        return "the tester's af_packet port has the kernel put IPv4 fragments together "
               "(PACKET_FANOUT_FLAG_DEFRAG) before it sees them";
    }
    return std::nullopt;
}

Status TruthBench::send(const std::vector<FrameBytes>& frames) {
    traffic::ExchangePlan plan{.from = 0, .to = 0, .frames = {}, .quiet = pace_.patience / 2};
    for (const FrameBytes& bytes : frames) {
        plan.frames.push_back({.bytes = bytes});
    }
    const auto report = TRY(tester_->exchange(plan));
    if (!report.refusals.empty()) {
        return fail(ErrorCode::kFailed, "the tester's port would not take a frame: {}",
                    report.refusals.front().reason);
    }
    return {};
}

Result<truth::RowsRun> TruthBench::receive(const truth::RowSettings& rows) {
    return truth::receive_by_kernel(*tester_, *dut_, device_.name, rows);
}

Result<traffic::Recording> TruthBench::record(const std::function<Result<std::uint64_t>()>& send) {
    TRY(tester_->start_recording({.most_bytes = kRecordedBytes}));
    const auto expected = send();
    auto recording = tester_->stop_recording({.expected = expected.value_or(0),
                                              .quiet = pace_.patience,
                                              .longest = 2s + 3 * pace_.patience});
    return expected ? std::move(recording) : pass_on(expected.error());
}

void TruthBench::keep(const std::vector<FrameBytes>& frames, const std::string& explanation,
                      verdict::Cell& cell) {
    const std::string name = device_.label.empty() ? cell.id : device_.label + "." + cell.id;
    keep_evidence(out_dir_, name + ".txt", "what is wrong in these frames, field by field",
                  explanation, cell.evidence);
    if (out_dir_.empty() || frames.empty()) {
        return;
    }
    static_cast<void>(tester_->write_frames(evidence_path(out_dir_, name + ".pcapng"),
                                            "pathproof: frames as they came at the tester's port",
                                            frames));
    cell.evidence.push_back({"evidence/" + name + ".pcapng",
                             "the frames as they crossed the wire (pcapng; tcpdump, Wireshark)"});
}

Result<std::vector<Carried>> TruthBench::carry(const std::vector<Probe>& probes,
                                               const matrix::ProbeMaker& maker,
                                               TesterTally& tally) {
    const truth::TagType tag = truth::tag_type_at(tester_port());
    std::vector<Carried> carried;
    while (carried.size() < probes.size()) {
        const std::size_t begin = carried.size();
        const std::span<const Probe> batch(probes.data() + begin,
                                           end_of_batch(probes, begin, pace_.frames) - begin);
        std::vector<agent::OffloadFrame> frames;
        std::vector<std::uint64_t> whole;  // frames on the wire of each that is handed over
        std::uint64_t expected = 0;
        for (const Probe& probe : batch) {
            expected += probe.intended.size();
            for (const matrix::HandedFrame& handed : probe.handed) {
                frames.push_back({handed.bytes, handed.virtio});
                whole.push_back(probe.handed.size() == 1 ? probe.intended.size() : 1);
            }
        }
        traffic::ExchangeReport report;
        const auto recording = TRY(record([&]() -> Result<std::uint64_t> {
            const auto sent = TRY(dut_->send_frames(device_.name, frames));
            for (const agent::SendRefusal& refused : sent.refusals) {
                if (refused.index >= whole.size()) {
                    return fail(ErrorCode::kFailed,
                                "the agent at {} refused frame {} of {}: it was not given one",
                                device_.name, refused.index, whole.size());
                }
                report.refusals.push_back({refused.index, refused.reason});
                expected -= std::min(expected, whole[refused.index]);
            }
            return expected;
        }));
        for (const FrameBytes& bytes : recording.frames) {
            report.arrived.push_back({.bytes = bytes});
        }
        const truth::BatchOutcome outcome =
            truth::sort_out(maker, batch, std::move(report), truth::Unreadable::kForeign);
        for (std::size_t i = 0; i < batch.size(); ++i) {
            Carried& one = carried.emplace_back();
            one.refusal = outcome.probes[i].refusal;
            for (const traffic::ArrivedFrame& arrived : outcome.probes[i].arrived) {
                const std::size_t last = batch[i].intended.size() - 1;
                one.wire.push_back(truth::as_on_the_wire(
                    arrived, batch[i].intended[std::min(one.wire.size(), last)], tag));
            }
        }
        tally.received += recording.received;
        tally.lost += recording.tester_lost + recording.left_out + recording.cut;
        tally.strays += outcome.foreign;
    }
    return carried;
}

}  // namespace pathproof::scenario
