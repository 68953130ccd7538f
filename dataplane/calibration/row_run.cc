#include "dataplane/calibration/row_run.h"

#include <algorithm>
#include <functional>
#include <string_view>

#include "dataplane/base/counts.h"
#include "dataplane/matrix/causes.h"

namespace pathproof::calibration {
namespace {

using matrix::FindingKind;

// Shows whether two runs saw the same; comparable within this process only.
class Digest {
  public:
    void add(std::span<const std::uint8_t> bytes) {
        add(std::hash<std::string_view>()(
            {reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
    }
    void add(std::uint64_t number) { value_ = (value_ ^ number) * 0x100000001b3; }
    std::uint64_t value() const { return value_; }

  private:
    std::uint64_t value_ = 0xcbf29ce484222325;
};

matrix::Arrival arrival_of(const softnic::RxResult& result) {
    matrix::Arrival arrival;
    if (result.delivery == softnic::RxResult::Delivery::kDelivered) {
        arrival.bytes = result.bytes;
    }
    arrival.claims = matrix::claims_of(result.verdict);
    return arrival;
}

// The receiving half of a run.
class Receiver {
  public:
    explicit Receiver(softnic::SoftNic& nic) : nic_(nic), bad_before_(nic.counters().rx_csum_bad) {}

    void take(const matrix::Label& label, const FrameBytes& wire,
              const frame::TunnelPorts& tunnels) {
        nic_.receive(wire, result_);
        cell_.add(label, wire, tunnels, arrival_of(result_));
        digest_.add(wire);
        digest_.add(result_.bytes);
        digest_.add(static_cast<std::uint64_t>(result_.delivery));
        digest_.add(softnic::mbuf_flags(result_.verdict));
    }

    void finish(RowResult& row) {
        const std::uint64_t delta = nic_.counters().rx_csum_bad - bad_before_;
        cell_.counter("rx_csum_bad", delta);
        digest_.add(delta);
        const matrix::RxCellResult result = cell_.result();
        const std::vector<Verdict> causes = causes_of(result);
        row.verdicts.insert(row.verdicts.end(), causes.begin(), causes.end());
        row.deliveries = result.deliveries;
        row.frames = result.frames;
        row.digest = digest_.value();
        std::uint64_t objected = 0;
        for (const matrix::RxFinding& finding : result.findings) {
            objected = std::max(objected, finding.frames);
        }
        row.caught = std::max(row.caught, objected);
    }

  private:
    softnic::SoftNic& nic_;
    std::uint64_t bad_before_;
    softnic::RxResult result_;
    matrix::RxCell cell_;
    Digest digest_;
};

Verdict cause_of(const matrix::TxFinding& finding) {
    Verdict cause{
        .title = finding.title, .place = finding.place, .candidates = {}, .frames = finding.frames};
    for (const judge::ChecksumName name : finding.candidates) {
        cause.candidates.push_back(judge::name(name));
    }
    return cause;
}

}  // namespace

std::vector<Verdict> causes_of(const matrix::TxCellResult& result) {
    std::vector<Verdict> causes;
    for (const auto& [finding, named] : matrix::causes_among(result.findings)) {
        causes.push_back(cause_of(*finding));
        if (!named) {
            causes.back().candidates = {finding->title};
            causes.back().title = judge::name(judge::ChecksumName::kUnknown);
        }
    }
    return causes;
}

std::vector<Verdict> causes_of(const matrix::RxCellResult& result) {
    std::vector<Verdict> causes;
    for (const matrix::RxFinding& finding : result.findings) {
        causes.push_back({.title = finding.title,
                          .place = finding.place,
                          .candidates = {},
                          .frames = finding.frames});
    }
    return causes;
}

RowResult run_row(const SendRow& row, softnic::SoftNic& nic,
                  const matrix::FreeFields& free_fields) {
    matrix::TxCell cell(row.row, free_fields);
    Receiver receiver(nic);
    softnic::TxResult sent;
    std::vector<FrameBytes> wire;
    for (const SentProbe& probe : row.probes) {
        wire.clear();
        softnic::Refusal refusal = softnic::Refusal::kNone;
        for (const softnic::TxFrame& frame : probe.frames) {
            nic.transmit(frame, sent);
            refusal = sent.refusal == softnic::Refusal::kNone ? refusal : sent.refusal;
            wire.insert(wire.end(), sent.frames.begin(), sent.frames.end());
        }
        if (refusal != softnic::Refusal::kNone) {
            cell.refused(probe.probe, softnic::sentence(refusal));
            continue;
        }
        cell.add(probe.probe, wire);
        for (const FrameBytes& frame : wire) {
            receiver.take(probe.probe.label, frame, probe.probe.tunnels);
        }
    }
    const matrix::TxCellResult result = cell.result();
    RowResult judged{.verdicts = causes_of(result)};
    judged.caught = result.intended - std::min(result.intended, result.exact);
    receiver.finish(judged);
    return judged;
}

RowResult run_row(const ReceiveRow& row, softnic::SoftNic& nic) {
    Receiver receiver(nic);
    for (const matrix::Probe& probe : row.probes) {
        for (const matrix::HandedFrame& frame : probe.handed) {
            receiver.take(probe.label, frame.bytes, probe.tunnels);
        }
    }
    RowResult judged;
    receiver.finish(judged);
    return judged;
}

void settle_drops(std::vector<RowResult>& rows) {
    matrix::Deliveries all;
    bool whole_class = false;
    for (const RowResult& row : rows) {
        add_counts(all, row.deliveries);
        whole_class |= row.deliveries.good_lost >= 3 && row.deliveries.good == 0;
    }
    if (!all.drops_bad() && !whole_class) {
        return;
    }
    const judge::RxFault fault =
        all.drops_bad() ? judge::RxFault::kDropBad : judge::RxFault::kDropGood;
    for (RowResult& row : rows) {
        for (Verdict& verdict : row.verdicts) {
            // If wrong frames arrive in other rows, their checksum was not the reason why they did
            // not here.
            const bool dropped = verdict.title == "NOT_DELIVERED" ||
                                 verdict.title == judge::name(judge::RxFault::kDropBad);
            verdict.title = dropped ? judge::name(fault) : verdict.title;
        }
    }
}

}  // namespace pathproof::calibration
