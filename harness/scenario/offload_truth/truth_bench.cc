#include "harness/scenario/offload_truth/truth_bench.h"

#include "harness/ports/open.h"
#include "harness/scenario/measures.h"
#include "harness/truth/batch.h"
#include "harness/truth/kernel_rx.h"

namespace pathproof::scenario {
namespace {

using matrix::FrameBytes;
using matrix::Probe;
using matrix::Row;

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
    bench->host_ = TruthHost(*bench->dut_);
    bench->info_ = TRY(bench->dut_->device(device.name));
    const int lcore = device.tester_lcore.value_or(context.options.cpus.back());
    const std::vector<port::PortRequest> ports{device.tester_port};
    bench->tester_ = TRY(ports::open_tester(
        {.netns = device.tester_netns,
         .ports = ports,
         .worker_cpus = {lcore},
         .hugepages = context.options.hugepages},
        context.options.device ? ports : std::vector<port::PortRequest>(), context.journal));
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

Result<std::vector<truth::Carried>> TruthBench::carry(const std::vector<Probe>& probes,
                                                      const matrix::ProbeMaker& maker,
                                                      truth::TesterTally& tally) {
    truth::KernelExchange cable = exchange();
    return truth::carry(cable.path(), probes, maker, pace_.frames, tally, watch_);
}

}  // namespace pathproof::scenario
