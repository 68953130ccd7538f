// The ports of a search and the lcores on them, for one frame size after the other.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "dataplane/measure/load_measurer.h"
#include "dataplane/search/trials.h"
#include "harness/cli/search/options.h"

namespace pathproof::cli {

// Source of a search's greatest load.
enum class MaxLoadSource : std::uint8_t { kOption, kLineRate, kTester };
const char* name(MaxLoadSource source);

struct MaxLoad {
    double pps = 0;
    MaxLoadSource source = MaxLoadSource::kOption;
};

class SearchSetup {
  public:
    // Errors: those of Lanes::open, and of the frames of any size asked for: one that a port cannot
    // carry.
    static Result<SearchSetup> open(const SearchOptions& options, const std::atomic<bool>& stop);

    // Starts lcores for frames of this size, FCS included; the measurer of another size must have
    // ended. Errors: those of LoadRun::start.
    Result<std::unique_ptr<measure::LoadMeasurer>> measurer(std::uint16_t size);

    // Returns the greatest load: as typed; else the link's rate; else what the tester alone can
    // send, by a short trial. Nothing: that trial was stopped or cut short.
    Result<std::optional<MaxLoad>> max_load(std::uint16_t size, search::Trials& probe) const;

    const port::PortInfo& sender() const { return lanes_->sending().info(); }
    const port::PortInfo& receiver() const { return lanes_->receiving().info(); }
    // The weaker of both ports'.
    port::Evidence evidence() const;

  private:
    measure::MeasurerPlan plan_for(const Traffic& traffic);

    SearchSetup(const SearchOptions& options, const std::atomic<bool>& stop)
        : options_(options), stop_(stop) {}

    const SearchOptions& options_;
    const std::atomic<bool>& stop_;
    std::unique_ptr<Lanes> lanes_;
    std::optional<frame::MacAddress> next_hop_;  // nothing: it was typed
};

}  // namespace pathproof::cli
