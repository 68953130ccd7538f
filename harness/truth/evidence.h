// The frames behind each defect, as files.
#pragma once

#include <string>
#include <vector>

#include "harness/tester/client.h"
#include "harness/truth/defects.h"
#include "harness/verdict/result.h"

namespace pathproof::truth {

// Two files a defect in evidence/ below `out_dir`: the frames as they were on the wire (pcapng),
// and the same explained field by field, with wire value, right value and name, the first beside
// the intended and the handed-over bytes (text2pcap reads them). The explanation is the comment of
// the capture as well. A defect of which nothing was on the wire has the text alone. Without
// `out_dir` nothing is written.
std::vector<verdict::EvidenceFile> keep_evidence(tester::Client& tester, const Findings& findings,
                                                 const RowsRun& run, const std::string& out_dir);

}  // namespace pathproof::truth
