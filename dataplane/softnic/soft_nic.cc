#include "dataplane/softnic/soft_nic.h"

#include <algorithm>
#include <utility>

#include "dataplane/base/random.h"
#include "dataplane/softnic/facts.h"
#include "dataplane/softnic/mechanisms.h"
#include "dataplane/softnic/receive_stage.h"
#include "dataplane/softnic/transmit_stage.h"

namespace pathproof::softnic {
namespace {

std::uint64_t salt_of(const Fault& fault, std::uint64_t seed) {
    std::uint64_t salt = drawn(seed);
    for (const char letter : to_string(fault)) {
        salt = drawn(salt ^ static_cast<unsigned char>(letter));
    }
    return salt;
}

bool is_counter(const Fault& fault) {
    return fault.field == FaultField::kCounter;
}

}  // namespace

// Counts a candidate; true if the fault acts on it.
bool SoftNic::triggered(const Fault& fault, State& state) {
    const std::uint64_t number = state.candidates++;
    if (number < fault.after || as_share(drawn(state.salt ^ number)) >= fault.rate) {
        return false;
    }
    ++state.hits;
    return true;
}

void SoftNic::transmit(const TxFrame& frame, TxResult& result) {
    ++counters_.tx_handed_over;
    result.refusal = take_over(frame, limits_, handed_);
    if (result.refusal != Refusal::kNone) {
        ++counters_.tx_refused;
        ++counters_.refused_by[static_cast<std::size_t>(result.refusal)];
        result.frames.clear();
        return;
    }
    emit(handed_, frame.request, limits_, result.frames);
    counters_.tx_super_frames += is_segmented(frame.request) ? 1 : 0;
    counters_.tx_frames += result.frames.size();
    if (!spoils_frames_) {
        return;
    }
    take_notes(frame, result.frames);
    for (const FaultDirection direction : {FaultDirection::kTx, FaultDirection::kWire}) {
        for (std::size_t which = 0; which < faults_.size(); ++which) {
            if (faults_[which].direction == direction) {
                spoil(frame, which, result.frames);
            }
        }
    }
}

void SoftNic::take_notes(const TxFrame& frame, const std::vector<WireFrameBytes>& frames) {
    notes_.clear();
    segments_ = static_cast<std::uint32_t>(frames.size());
    for (std::uint32_t segment = 0; segment < segments_; ++segment) {
        Note& note = notes_.emplace_back();
        note.places = find_places(frames[segment], limits_, told_by(frame.request));
        note.segment = segment;
        note.facts = facts_of(
            frames[segment], note.places,
            {.given = &frame, .segment = segment, .segments = segments_, .queue = frame.queue});
    }
}

void SoftNic::spoil(const TxFrame& given, std::size_t which, std::vector<WireFrameBytes>& frames) {
    const Fault& fault = faults_[which];
    if (fault.mechanism->move == FrameMove::kNone) {
        for (std::size_t at = 0; at < frames.size(); ++at) {
            spoil_one(given, which, frames[at], notes_[at]);
        }
        return;
    }
    for (std::size_t at = 0; at < frames.size();) {
        const bool moved = fault.predicate.holds(notes_[at].facts) &&
                           triggered(fault, states_[which]) && move(which, at, frames);
        // A lost frame's place is the next one's; a copy is not looked at again.
        if (!moved) {
            ++at;
        } else if (fault.mechanism->move != FrameMove::kLose) {
            at += 2;
        }
    }
}

bool SoftNic::move(std::size_t which, std::size_t at, std::vector<WireFrameBytes>& frames) {
    const auto offset = static_cast<std::ptrdiff_t>(at);
    switch (faults_[which].mechanism->move) {
        case FrameMove::kLose:
            frames.erase(frames.begin() + offset);
            notes_.erase(notes_.begin() + offset);
            ++counters_.wire_dropped;
            return true;
        case FrameMove::kDuplicate: {
            WireFrameBytes frame = frames[at];
            frames.insert(frames.begin() + offset, std::move(frame));
            const Note note = notes_[at];
            notes_.insert(notes_.begin() + offset, note);
            return true;
        }
        case FrameMove::kSwapWithNext:
            if (at + 1 == frames.size()) {
                return false;
            }
            frames[at].swap(frames[at + 1]);
            std::swap(notes_[at], notes_[at + 1]);
            return true;
        case FrameMove::kNone: return false;
    }
    return false;
}

void SoftNic::spoil_one(const TxFrame& given, std::size_t which, WireFrameBytes& frame,
                        const Note& note) {
    const Fault& fault = faults_[which];
    State& state = states_[which];
    if (!fault.predicate.holds(note.facts)) {
        return;
    }
    const Targets targets = targets_of(fault, note.places);
    for (const Target& target : targets.all()) {
        const TxCase at{.given = given,
                        .handed = handed_,
                        .places = note.places,
                        .limits = limits_,
                        .segment = note.segment,
                        .segments = segments_,
                        .draw = drawn(~state.salt ^ state.candidates),
                        .memory = state.memory};
        if (!applies(fault, at, frame, target) || !triggered(fault, state)) {
            continue;
        }
        if (fault.mechanism->remember != nullptr) {
            state.memory = fault.mechanism->remember(at, frame, target);
        }
        act(*fault.mechanism, at, frame, target);
    }
}

void SoftNic::receive(Bytes wire, RxResult& result, std::uint16_t queue) {
    const Places places = find_places(wire, limits_);
    const RxVerdict truth = check(wire, places);
    deliver(wire, truth, result);
    RxCase at{
        .wire = wire, .places = places, .result = result, .counters = counters_, .truth = truth};
    Facts facts;
    if (!faults_.empty()) {
        facts = facts_of(wire, places, {.queue = queue});
    }
    const auto falsify_all = [&](bool counter) {
        for (std::size_t which = 0; which < faults_.size(); ++which) {
            const Fault& fault = faults_[which];
            if (fault.direction == FaultDirection::kRx && is_counter(fault) == counter) {
                falsify(which, at, facts);
            }
        }
    };
    falsify_all(false);
    if (result.delivery == RxResult::Delivery::kDropped) {
        ++counters_.rx_dropped;
        result.bytes.clear();
        return;
    }
    count(result.verdict, counters_);
    falsify_all(true);
}

void SoftNic::falsify(std::size_t which, RxCase& at, const Facts& facts) {
    const Fault& fault = faults_[which];
    if (!fault.predicate.holds(facts)) {
        return;
    }
    const Targets targets = targets_of(fault, at.places);
    for (const Target& target : targets.all()) {
        if (fault.mechanism->applies_rx(at, target) && triggered(fault, states_[which])) {
            fault.mechanism->act_on_verdict(at, target);
        }
    }
}

SoftNic::SoftNic(NicLimits limits, std::vector<Fault> faults, std::uint64_t seed)
    : limits_(std::move(limits)), faults_(std::move(faults)) {
    for (const Fault& fault : faults_) {
        states_.push_back({.salt = salt_of(fault, seed)});
        spoils_frames_ |= fault.direction != FaultDirection::kRx;
    }
}

std::vector<std::uint64_t> SoftNic::fault_hits() const {
    std::vector<std::uint64_t> hits;
    for (const State& state : states_) {
        hits.push_back(state.hits);
    }
    return hits;
}

}  // namespace pathproof::softnic
