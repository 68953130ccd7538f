// The files that make a report, and their hashes.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/verdict/result.h"

namespace pathproof::report {

inline constexpr std::array kReportFiles = {"report.json", "report.html", "junit.xml"};

struct HashedFile {
    std::string path;    // relative to the report's folder
    std::string sha256;  // hexadecimal digits
    bool operator==(const HashedFile&) const = default;
};

// Each file of evidence that the run lists, once, in their order.
std::vector<verdict::EvidenceFile> evidence_of(const verdict::RunResult& run);

// The report's own files and its evidence as they lie in `folder`. kBadInput: one is not there, leads out of the
// folder, or evidence is not what report.json says that it was.
Result<std::vector<HashedFile>> hash_files(const verdict::RunResult& run,
                                           const std::string& folder);

// "HASH  PATH" a line, as `sha256sum --check` reads it.
std::string sha256sums(const std::vector<HashedFile>& files);

}  // namespace pathproof::report
