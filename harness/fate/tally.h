// Ends of packets, added up.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "harness/fate/ending.h"

namespace pathproof::fate {

class EndTally {
  public:
    // Packets that are kept one by one.
    explicit EndTally(std::size_t most_packets) : most_packets_(most_packets) {}

    // `to_realtime_ns`: from CLOCK_MONOTONIC.
    void add(const fate_record& record, const Names& names, std::int64_t to_realtime_ns);
    // Most packets first; Packet::end is the place in `ends`.
    Fates take();

  private:
    std::size_t most_packets_;
    std::map<std::pair<Direction, End>, std::uint32_t> places_;
    Fates fates_;
};

}  // namespace pathproof::fate
