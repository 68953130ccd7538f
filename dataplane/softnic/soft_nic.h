// The software NIC, in memory: transmit gives what is on the wire, receive what a host is told.
//
//   SoftNic nic({}, {*parse_fault("tx.inner.l4.PSEUDO@dport!=4789")});
//   TxResult sent;
//   nic.transmit(frame, sent);
//   RxResult got;
//   for (const WireFrameBytes& wire : sent.frames) nic.receive(wire, got);
#pragma once

#include <cstdint>
#include <vector>

#include "dataplane/softnic/engine.h"
#include "dataplane/softnic/facts.h"
#include "dataplane/softnic/faults.h"
#include "dataplane/softnic/transmit_stage.h"

namespace pathproof::softnic {

struct RxCase;

class SoftNic {
  public:
    // Without faults it is healthy. The same limits, faults, seed and frames give the same results.
    explicit SoftNic(NicLimits limits = {}, std::vector<Fault> faults = {}, std::uint64_t seed = 1);

    // Tx stage, Tx faults, wire faults. `result` is overwritten.
    void transmit(const TxFrame& frame, TxResult& result);
    // Rx stage, Rx faults. `result` is overwritten. `queue` is where the frame is received.
    void receive(Bytes wire, RxResult& result, std::uint16_t queue = 0);

    // Returns the counters as the NIC reports them: a counter fault falsifies them.
    const NicCounters& counters() const { return counters_; }
    // Returns how often each fault acted, in the order given.
    std::vector<std::uint64_t> fault_hits() const;

  private:
    // State of one fault between frames.
    struct State {
        std::uint64_t salt = 0;
        std::uint64_t candidates = 0;
        std::uint64_t hits = 0;
        std::uint32_t memory = 0;
    };

    // Places and facts of a frame on the wire before any fault acted.
    struct Note {
        Places places;
        Facts facts;
        std::uint32_t segment = 0;
    };

    static bool triggered(const Fault& fault, State& state);
    void take_notes(const TxFrame& frame, const std::vector<WireFrameBytes>& frames);
    void spoil(const TxFrame& given, std::size_t which, std::vector<WireFrameBytes>& frames);
    void spoil_one(const TxFrame& given, std::size_t which, WireFrameBytes& frame,
                   const Note& note);
    bool move(std::size_t which, std::size_t at, std::vector<WireFrameBytes>& frames);
    void falsify(std::size_t which, RxCase& at, const Facts& facts);

    NicLimits limits_;
    std::vector<Fault> faults_;
    std::vector<State> states_;
    bool spoils_frames_ = false;
    NicCounters counters_;
    HandedOver handed_;
    std::vector<Note> notes_;
    std::uint32_t segments_ = 1;
};

}  // namespace pathproof::softnic
