#include "dataplane/calibration/pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "dataplane/base/counts.h"
#include "dataplane/calibration/intermittent.h"
#include "dataplane/calibration/parallel.h"

namespace pathproof::calibration {
namespace {

using softnic::Fault;
using softnic::FaultModel;

constexpr std::size_t kShowing = 10;  // rows in which a fault shows
constexpr std::size_t kControls = 6;  // rows in which none does

// A fault alone, on all rows that are sent.
struct Alone {
    const FaultModel* model = nullptr;
    Fault fault;
    std::vector<RowResult> results;
};

std::vector<RowResult> run_rows(const std::vector<Fault>& faults, const Material& material,
                                const std::vector<std::size_t>& rows, std::uint64_t seed) {
    std::vector<RowResult> results;
    for (const std::size_t number : rows) {
        const SendRow& row = material.send[number];
        softnic::SoftNic nic(row.nic, faults, seed);
        results.push_back(run_row(row, nic, {}));
    }
    settle_drops(results);
    return results;
}

bool names(const Fault& fault, const std::vector<RowResult>& results) {
    return std::ranges::any_of(results, [&](const RowResult& result) {
        return std::ranges::any_of(result.verdicts, [&](const Verdict& verdict) {
            return naming_of(fault, {verdict}, nullptr) == Naming::kExact;
        });
    });
}

// Rows in which the fault is named come before those in which it only shows.
void add_showing(const Alone& alone, std::set<std::size_t>& rows) {
    std::size_t taken = 0;
    for (const bool want_name : {true, false}) {
        for (std::size_t i = 0; i < alone.results.size() && taken < kShowing; ++i) {
            const RowResult& result = alone.results[i];
            const bool named = names(alone.fault, {result});
            if (!result.clean() && named == want_name && rows.insert(i).second) {
                ++taken;
            }
        }
    }
}

std::vector<std::size_t> rows_for(const Alone& sender, const Alone& receiver) {
    std::set<std::size_t> rows;
    add_showing(sender, rows);
    add_showing(receiver, rows);
    std::size_t controls = 0;
    for (std::size_t i = 0; i < sender.results.size() && controls < kControls; ++i) {
        const bool quiet = sender.results[i].clean() && receiver.results[i].clean();
        controls += quiet && rows.insert(i).second ? 1 : 0;
    }
    return {rows.begin(), rows.end()};
}

bool same_as(const std::vector<RowResult>& both, const Alone& alone,
             const std::vector<std::size_t>& rows) {
    return std::ranges::equal(both, rows, {}, &RowResult::digest,
                              [&](std::size_t row) { return alone.results[row].digest; });
}

// Returns whether the receiver's fault is harmless in the frames that the sender's fault puts on
// the wire: then the judge cannot hold it against the receiver.
bool does_nothing(const Alone& receiver, const Alone& sender, const Material& material,
                  const std::vector<std::size_t>& rows, std::uint64_t seed) {
    softnic::TxResult sent;
    Effect effect;
    for (const std::size_t number : rows) {
        const SendRow& row = material.send[number];
        softnic::SoftNic nic(row.nic, {sender.fault}, seed);
        for (const SentProbe& probe : row.probes) {
            for (const softnic::TxFrame& frame : probe.frames) {
                nic.transmit(frame, sent);
                for (const FrameBytes& wire : sent.frames) {
                    add_counts(effect,
                               effect_on_wire(receiver.fault, wire, row.nic, probe.probe.tunnels));
                }
            }
        }
    }
    return effect.wrong == 0;
}

PairScore score_pair(const Alone& sender, const Alone& receiver, const Material& material,
                     std::uint64_t seed) {
    const std::vector<std::size_t> rows = rows_for(sender, receiver);
    const auto both = run_rows({sender.fault, receiver.fault}, material, rows, seed);
    PairScore score;
    score.sender = fmt::format("{} {}", sender.model->id, sender.model->text);
    score.receiver = fmt::format("{} {}", receiver.model->id, receiver.model->text);
    score.sender_named = names(sender.fault, both);
    score.receiver_named = names(receiver.fault, both);
    score.sender_masked = !score.sender_named && same_as(both, receiver, rows);
    score.receiver_masked =
        !score.receiver_named &&
        (same_as(both, sender, rows) || does_nothing(receiver, sender, material, rows, seed));
    std::vector<Verdict> verdicts;
    for (const RowResult& result : both) {
        verdicts.insert(verdicts.end(), result.verdicts.begin(), result.verdicts.end());
    }
    score.given = titles_of(verdicts);
    return score;
}

// One sender a row of the list, every receiver.
void choose(std::vector<Alone>& senders, std::vector<Alone>& receivers) {
    std::set<std::string_view> ids;
    for (const FaultModel& model : softnic::fault_models()) {
        const Fault fault = softnic::fault_of(model);
        if (is_intermittent(model)) {
            continue;
        }
        if (fault.direction == softnic::FaultDirection::kRx) {
            receivers.push_back({&model, fault, {}});
        } else if (ids.insert(model.id).second) {
            senders.push_back({&model, fault, {}});
        }
    }
}

void run_alone(std::vector<Alone>& faults, const Material& material, std::uint64_t seed,
               unsigned workers) {
    std::vector<std::size_t> rows(material.send.size());
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    for_each_piece(faults.size(), workers, [&](std::size_t which) {
        faults[which].results = run_rows({faults[which].fault}, material, rows, seed);
    });
}

}  // namespace

std::vector<PairScore> score_pairs(const Material& material, std::uint64_t seed, unsigned workers,
                                   std::size_t step) {
    std::vector<Alone> senders;
    std::vector<Alone> receivers;
    choose(senders, receivers);
    std::vector<Alone> taken;
    for (std::size_t i = 0; i < senders.size(); i += step) {
        taken.push_back(std::move(senders[i]));
    }
    run_alone(taken, material, seed, workers);
    run_alone(receivers, material, seed, workers);
    std::vector<PairScore> scores(taken.size() * receivers.size());
    for_each_piece(scores.size(), workers, [&](std::size_t which) {
        scores[which] = score_pair(taken[which / receivers.size()],
                                   receivers[which % receivers.size()], material, seed);
    });
    return scores;
}

}  // namespace pathproof::calibration
