// Sending a capture file instead of made frames.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/load/recording.h"
#include "dataplane/load/source.h"
#include "dataplane/port/port.h"

namespace CLI {
class App;
}

namespace pathproof::cli {

struct ReplayOptions {
    std::string file;         // empty: none
    std::uint64_t loops = 1;  // 0: until the duration is over
    bool own_timing = false;
    bool cut_short = false;  // a file cut short is used up to the cut
};

void add_replay_options(CLI::App& command, ReplayOptions& options);

using SourceMaker = std::function<Result<std::unique_ptr<load::Source>>(const load::SourcePlan&)>;

// Reads a capture that a port is to send. Errors: what Recording::read says of the file, with the
// option's name.
Result<std::shared_ptr<const load::Recording>> read_recording(const ReplayOptions& options,
                                                              const port::Port& port);

// Senders share the frames out, in turn. `departures`: load::ReplayPlan's, of a single sender.
SourceMaker replay_sources(std::shared_ptr<const load::Recording> recording,
                           const ReplayOptions& options,
                           std::vector<std::uint64_t>* departures = nullptr);

}  // namespace pathproof::cli
