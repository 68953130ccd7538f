// A report as one file: report-ID.tar.zst, with the SHA-256 of everything in it.
#pragma once

#include <string>

#include "dataplane/base/result.h"
#include "harness/verdict/result.h"

namespace pathproof::report {

// Packs the report that lies in `folder` (its files, the evidence that it lists, its approval where it has one) below a
// folder report-ID, with SHA256SUMS as `sha256sum --check` reads it. The same report gives the same bytes. `file` is
// written whole or stays as it is. kBadInput: a file of the report is not there or was changed.
Status write_bundle(const verdict::RunResult& run, const std::string& folder,
                    const std::string& file);

}  // namespace pathproof::report
