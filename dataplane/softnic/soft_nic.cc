#include "dataplane/softnic/soft_nic.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "dataplane/softnic/facts.h"
#include "dataplane/softnic/mechanisms.h"
#include "dataplane/softnic/receive_stage.h"
#include "dataplane/softnic/transmit_stage.h"

namespace pathproof::softnic {
namespace {

// What one fault remembers between frames.
struct State {
    std::uint64_t salt = 0;
    std::uint64_t candidates = 0;
    std::uint64_t hits = 0;
    std::uint32_t memory = 0;
};

// What is known of a frame on the wire before any fault acted.
struct Note {
    Places places;
    Facts facts;
    std::uint32_t segment = 0;
};

// splitmix64's output function: a draw for each number.
std::uint64_t mixed(std::uint64_t value) {
    value += 0x9e3779b97f4a7c15;
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
    value = (value ^ value >> 27) * 0x94d049bb133111eb;
    return value ^ value >> 31;
}

std::uint64_t salt_of(const Fault& fault, std::uint64_t seed) {
    std::uint64_t salt = mixed(seed);
    for (const char letter : to_string(fault)) {
        salt = mixed(salt ^ static_cast<unsigned char>(letter));
    }
    return salt;
}

// Whether the draw lies in the first `rate` of all draws.
bool within(std::uint64_t draw, double rate) {
    return std::ldexp(static_cast<double>(draw >> 11), -53) < rate;
}

// Counts a candidate; true if the fault acts on it.
bool triggered(const Fault& fault, State& state) {
    const std::uint64_t number = state.candidates++;
    if (number < fault.after || !within(mixed(state.salt ^ number), fault.rate)) {
        return false;
    }
    ++state.hits;
    return true;
}

bool is_counter(const Fault& fault) {
    return fault.field == FaultField::kCounter;
}

}  // namespace

struct SoftNic::Impl {
    void transmit(const TxFrame& frame, TxResult& result);
    void receive(Bytes wire, RxResult& result, std::uint16_t queue);

    void take_notes(const TxFrame& frame, const std::vector<WireFrameBytes>& frames);
    void spoil(const TxFrame& given, std::size_t which, std::vector<WireFrameBytes>& frames);
    void spoil_one(const TxFrame& given, std::size_t which, WireFrameBytes& frame,
                   const Note& note);
    bool move(std::size_t which, std::size_t at, std::vector<WireFrameBytes>& frames);
    void falsify(std::size_t which, RxCase& at, const Facts& facts);

    NicLimits limits;
    std::vector<Fault> faults;
    std::vector<State> states;
    bool spoils_frames = false;
    NicCounters counters;
    HandedOver handed;
    std::vector<Note> notes;
    std::uint32_t segments = 1;
};

void SoftNic::Impl::transmit(const TxFrame& frame, TxResult& result) {
    ++counters.tx_handed_over;
    result.refusal = take_over(frame, limits, handed);
    if (result.refusal != Refusal::kNone) {
        ++counters.tx_refused;
        ++counters.refused_by[static_cast<std::size_t>(result.refusal)];
        result.frames.clear();
        return;
    }
    emit(handed, frame.request, limits, result.frames);
    counters.tx_super_frames += is_segmented(frame.request) ? 1 : 0;
    counters.tx_frames += result.frames.size();
    if (!spoils_frames) {
        return;
    }
    take_notes(frame, result.frames);
    for (const FaultDirection direction : {FaultDirection::kTx, FaultDirection::kWire}) {
        for (std::size_t which = 0; which < faults.size(); ++which) {
            if (faults[which].direction == direction) {
                spoil(frame, which, result.frames);
            }
        }
    }
}

void SoftNic::Impl::take_notes(const TxFrame& frame, const std::vector<WireFrameBytes>& frames) {
    notes.clear();
    segments = static_cast<std::uint32_t>(frames.size());
    for (std::uint32_t segment = 0; segment < segments; ++segment) {
        Note& note = notes.emplace_back();
        note.places = find_places(frames[segment], limits, told_by(frame.request));
        note.segment = segment;
        note.facts = facts_of(
            frames[segment], note.places,
            {.given = &frame, .segment = segment, .segments = segments, .queue = frame.queue});
    }
}

void SoftNic::Impl::spoil(const TxFrame& given, std::size_t which,
                          std::vector<WireFrameBytes>& frames) {
    const Fault& fault = faults[which];
    if (fault.mechanism->move == FrameMove::kNone) {
        for (std::size_t at = 0; at < frames.size(); ++at) {
            spoil_one(given, which, frames[at], notes[at]);
        }
        return;
    }
    for (std::size_t at = 0; at < frames.size();) {
        const bool moved = fault.predicate.holds(notes[at].facts) &&
                           triggered(fault, states[which]) && move(which, at, frames);
        // A lost frame's place is the next one's; a copy is not looked at again.
        const FrameMove kind = fault.mechanism->move;
        at += !moved ? 1 : kind == FrameMove::kLose ? 0 : 2;
    }
}

bool SoftNic::Impl::move(std::size_t which, std::size_t at, std::vector<WireFrameBytes>& frames) {
    const auto offset = static_cast<std::ptrdiff_t>(at);
    switch (faults[which].mechanism->move) {
        case FrameMove::kLose:
            frames.erase(frames.begin() + offset);
            notes.erase(notes.begin() + offset);
            ++counters.wire_dropped;
            return true;
        case FrameMove::kDuplicate: {
            WireFrameBytes frame = frames[at];
            frames.insert(frames.begin() + offset, std::move(frame));
            const Note note = notes[at];
            notes.insert(notes.begin() + offset, note);
            return true;
        }
        case FrameMove::kSwapWithNext:
            if (at + 1 == frames.size()) {
                return false;
            }
            frames[at].swap(frames[at + 1]);
            std::swap(notes[at], notes[at + 1]);
            return true;
        case FrameMove::kNone: return false;
    }
    return false;
}

void SoftNic::Impl::spoil_one(const TxFrame& given, std::size_t which, WireFrameBytes& frame,
                              const Note& note) {
    const Fault& fault = faults[which];
    State& state = states[which];
    if (!fault.predicate.holds(note.facts)) {
        return;
    }
    const Targets targets = targets_of(fault, note.places);
    for (const Target& target : targets.all()) {
        const TxCase at{.given = given,
                        .handed = handed,
                        .places = note.places,
                        .limits = limits,
                        .segment = note.segment,
                        .segments = segments,
                        .draw = mixed(~state.salt ^ state.candidates),
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

void SoftNic::Impl::receive(Bytes wire, RxResult& result, std::uint16_t queue) {
    const Places places = find_places(wire, limits);
    const RxVerdict truth = check(wire, places);
    deliver(wire, truth, result);
    RxCase at{
        .wire = wire, .places = places, .result = result, .counters = counters, .truth = truth};
    Facts facts;
    if (!faults.empty()) {
        facts = facts_of(wire, places, {.queue = queue});
    }
    const auto falsify_all = [&](bool counter) {
        for (std::size_t which = 0; which < faults.size(); ++which) {
            const Fault& fault = faults[which];
            if (fault.direction == FaultDirection::kRx && is_counter(fault) == counter) {
                falsify(which, at, facts);
            }
        }
    };
    falsify_all(false);
    if (result.delivery == RxResult::Delivery::kDropped) {
        ++counters.rx_dropped;
        result.bytes.clear();
        return;
    }
    count(result.verdict, counters);
    falsify_all(true);
}

void SoftNic::Impl::falsify(std::size_t which, RxCase& at, const Facts& facts) {
    const Fault& fault = faults[which];
    if (!fault.predicate.holds(facts)) {
        return;
    }
    const Targets targets = targets_of(fault, at.places);
    for (const Target& target : targets.all()) {
        if (fault.mechanism->applies_rx(at, target) && triggered(fault, states[which])) {
            fault.mechanism->act_on_verdict(at, target);
        }
    }
}

SoftNic::SoftNic(NicLimits limits, std::vector<Fault> faults, std::uint64_t seed)
    : impl_(std::make_unique<Impl>()) {
    impl_->limits = std::move(limits);
    impl_->faults = std::move(faults);
    for (const Fault& fault : impl_->faults) {
        impl_->states.push_back({.salt = salt_of(fault, seed)});
        impl_->spoils_frames |= fault.direction != FaultDirection::kRx;
    }
}

SoftNic::SoftNic(SoftNic&&) noexcept = default;
SoftNic& SoftNic::operator=(SoftNic&&) noexcept = default;
SoftNic::~SoftNic() = default;

void SoftNic::transmit(const TxFrame& frame, TxResult& result) {
    impl_->transmit(frame, result);
}

void SoftNic::receive(Bytes wire, RxResult& result, std::uint16_t queue) {
    impl_->receive(wire, result, queue);
}

const NicCounters& SoftNic::counters() const {
    return impl_->counters;
}

std::vector<std::uint64_t> SoftNic::fault_hits() const {
    std::vector<std::uint64_t> hits;
    for (const State& state : impl_->states) {
        hits.push_back(state.hits);
    }
    return hits;
}

}  // namespace pathproof::softnic
