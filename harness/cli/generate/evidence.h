// Frames of a run that are worth a look, as files that Wireshark opens.
#pragma once

#include <string>

#include "dataplane/load/load_run.h"
#include "harness/cli/generate/lanes.h"
#include "harness/cli/generate/result.h"

namespace pathproof::cli {

// Writes bad.pcapng (frames with a wrong checksum), wrong.pcapng (the first that are not as they
// have to be otherwise) and anomaly-N-KIND.pcapng (the frames around the
// N-th anomaly) into the folder, which is made if need be; nothing without such frames. Gives the
// files' names. Errors: a folder that cannot be written to.
Result<std::vector<std::string>> write_evidence(const std::string& folder,
                                                const GenerateResult& result, load::LoadRun& run,
                                                Lanes& lanes);

const char* name(load::Anomaly::Kind kind);  // "bad-checksum", "duplicate", ...

}  // namespace pathproof::cli
