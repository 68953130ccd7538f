#include "harness/scenario/truth_bench.h"

#include <algorithm>
#include <map>

#include "dataplane/frame/view.h"
#include "harness/offload/batch.h"
#include "harness/scenario/measures.h"
#include "harness/tester/port_choice.h"

namespace pathproof::scenario {
namespace {

using namespace std::chrono_literals;
using matrix::FrameBytes;
using matrix::Label;
using matrix::Probe;
using matrix::Row;

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

// Tells whose frame it is. How a frame is to be read depends on its row, and the row is known only
// once it was read: each way in which the rows' frames are read is tried, and the row must agree.
class Finder {
  public:
    Finder(const std::vector<Row>& rows, const matrix::ProbeMaker& maker)
        : rows_(rows), maker_(maker) {
        for (const Row& row : rows) {
            const frame::TunnelPorts way = matrix::tunnels_of(row);
            if (std::ranges::find(ways_, way) == ways_.end()) {
                ways_.push_back(way);
            }
        }
    }

    std::optional<Label> label_of(const FrameBytes& bytes) const {
        for (const frame::TunnelPorts& way : ways_) {
            const frame::FrameView view = frame::parse_frame(bytes, way);
            const auto label = maker_.label_of(view.innermost());
            if (label && label->row < rows_.size() &&
                matrix::tunnels_of(rows_[label->row]) == way) {
                return label;
            }
        }
        return std::nullopt;
    }

  private:
    const std::vector<Row>& rows_;
    const matrix::ProbeMaker& maker_;
    std::vector<frame::TunnelPorts> ways_;
};

}  // namespace

void TesterTally::operator+=(const TesterTally& other) {
    received += other.received;
    lost += other.lost;
    if (strays == 0) {
        stray = other.stray;
    }
    strays += other.strays;
}

Result<std::unique_ptr<TruthBench>> TruthBench::open(Context& context, const TruthDevice& device,
                                                     std::shared_ptr<agent::Client> dut) {
    std::unique_ptr<TruthBench> bench(new TruthBench);
    bench->device_ = device;
    bench->dut_ = dut ? std::move(dut) : context.lab.dut();
    if (!bench->dut_) {
        bench->dut_ = TRY(agent::Client::start_in_netns(device.netns));
    }
    bench->host_ = device.host.empty() ? TruthHost(context.journal, device.netns, *bench->dut_)
                                       : TruthHost(*bench->dut_);
    bench->info_ = TRY(bench->dut_->device(device.name));
    const auto start_tester = [&]() -> Status {
        bench->tester_ = TRY(tester::Client::start({.netns = device.tester_netns,
                                                    .ports = {device.tester_port},
                                                    .worker_cpus = {context.options.cpus.back()},
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
    const bool plain_fragments = row.fragmentation != matrix::Fragmentation::kNone &&
                                 row.encap == matrix::Encap::kNone &&
                                 (row.network == matrix::InnerNetwork::kIpv4 ||
                                  row.network == matrix::InnerNetwork::kIpv4Options);
    if (plain_fragments && tester_port().driver == "net_af_packet") {
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

Result<traffic::Recording> TruthBench::record(std::uint64_t expected,
                                              const std::function<Status()>& send) {
    TRY(tester_->start_recording({}));
    const Status sent = send();
    auto recording = tester_->stop_recording(
        {.expected = expected, .quiet = pace_.patience, .longest = 2s + 3 * pace_.patience});
    if (!sent) {
        return pass_on(sent.error());
    }
    return recording;
}

Result<std::vector<verdict::EvidenceFile>> TruthBench::keep(const std::string& out_dir,
                                                            const std::string& cell,
                                                            const std::vector<FrameBytes>& frames,
                                                            const std::string& explanation) {
    const std::string name = device_.label.empty() ? cell : device_.label + "." + cell;
    auto files = keep_evidence(out_dir, name + ".txt",
                               "what is wrong in these frames, field by field", explanation);
    if (!files || out_dir.empty() || frames.empty()) {
        return files;
    }
    static_cast<void>(tester_->write_frames(evidence_path(out_dir, name + ".pcapng"),
                                            "pathproof: frames as they came at the tester's port",
                                            frames));
    files->push_back({"evidence/" + name + ".pcapng",
                      "the frames as they crossed the wire (pcapng; tcpdump, Wireshark)"});
    return files;
}

Result<std::vector<Carried>> TruthBench::carry(const std::vector<Row>& rows,
                                               const std::vector<Probe>& probes,
                                               const matrix::ProbeMaker& maker,
                                               TesterTally& tally) {
    const Finder finder(rows, maker);
    const offload::TagType tag = offload::tag_type_at(tester_port());
    std::vector<Carried> carried(probes.size());
    for (std::size_t begin = 0; begin < probes.size();) {
        const std::size_t end = end_of_batch(probes, begin, pace_.frames);
        std::vector<agent::OffloadFrame> frames;
        std::vector<std::size_t> owners;  // the probe of each frame
        std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> by_label;
        std::uint64_t expected = 0;
        for (std::size_t at = begin; at < end; ++at) {
            by_label[{probes[at].label.row, probes[at].label.index}] = at;
            expected += probes[at].intended.size();
            for (const matrix::HandedFrame& handed : probes[at].handed) {
                frames.push_back({handed.bytes, handed.virtio});
                owners.push_back(at);
            }
        }
        const auto recording = TRY(record(expected, [&]() -> Status {
            const auto report = TRY(dut_->send_frames(device_.name, frames));
            for (const agent::SendRefusal& refused : report.refusals) {
                carried[owners.at(refused.index)].refusal = refused.reason;
            }
            return {};
        }));
        TesterTally seen{.received = recording.received,
                         .lost = recording.tester_lost + recording.left_out + recording.cut};
        for (const FrameBytes& bytes : recording.frames) {
            const auto label = finder.label_of(bytes);
            const auto owner = label ? by_label.find({label->row, label->index}) : by_label.end();
            if (owner == by_label.end()) {
                seen.stray = seen.strays++ == 0 ? bytes : seen.stray;
                continue;
            }
            std::vector<FrameBytes>& wire = carried[owner->second].wire;
            const std::vector<FrameBytes>& intended = probes[owner->second].intended;
            wire.push_back(offload::as_on_the_wire(
                {.bytes = bytes}, intended[std::min(wire.size(), intended.size() - 1)], tag));
        }
        tally += seen;
        begin = end;
    }
    return carried;
}

}  // namespace pathproof::scenario
