// The frames behind each defect, as files.
#pragma once

#include <string>
#include <vector>

#include "harness/offload/defects.h"
#include "harness/verdict/result.h"

namespace pathproof::offload {

// One text file a defect in evidence/ below `out_dir`: the frame field by field, with wire value,
// right value and name, beside the intended and the handed-over bytes (text2pcap reads them).
// Without `out_dir` nothing is written. Errors: a folder that cannot be written to.
Result<std::vector<verdict::EvidenceFile>> keep_evidence(const Findings& findings,
                                                         const RowsRun& run,
                                                         const std::string& out_dir);

}  // namespace pathproof::offload
