#include "harness/report/files.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "harness/process/sha256.h"

namespace pathproof::report {
namespace {

namespace fs = std::filesystem;

// Evidence lies below the report; a report that somebody made up may say otherwise.
bool leads_out(const std::string& path) {
    const fs::path plain = fs::path(path).lexically_normal();
    return plain.empty() || plain.is_absolute() || *plain.begin() == "..";
}

Result<HashedFile> hashed(const std::string& folder, const std::string& path) {
    std::error_code none;
    const fs::path file = fs::path(folder) / path;
    if (leads_out(path) || fs::symlink_status(file, none).type() != fs::file_type::regular) {
        return fail(ErrorCode::kBadInput, "the report in {} has a file {}, which is not there",
                    folder, path);
    }
    auto sha256 = TRY(process::sha256_of_file(file));
    return HashedFile{path, std::move(sha256)};
}

}  // namespace

std::vector<verdict::EvidenceFile> evidence_of(const verdict::RunResult& run) {
    std::vector<verdict::EvidenceFile> all;
    std::set<std::string> seen;
    const auto add = [&](const std::vector<verdict::EvidenceFile>& files) {
        for (const verdict::EvidenceFile& file : files) {
            if (seen.insert(file.path).second) {
                all.push_back(file);
            }
        }
    };
    for (const verdict::ScenarioResult& scenario : run.scenarios) {
        add(scenario.evidence);
        for (const verdict::Cell& cell : all_cells(scenario)) {
            add(cell.evidence);
        }
    }
    return all;
}

Result<std::vector<HashedFile>> hash_files(const verdict::RunResult& run,
                                           const std::string& folder) {
    std::vector<HashedFile> all;
    for (const char* file : kReportFiles) {
        all.push_back(TRY(hashed(folder, file)));
    }
    for (const verdict::EvidenceFile& file : evidence_of(run)) {
        all.push_back(TRY(hashed(folder, file.path)));
        if (!file.sha256.empty() && all.back().sha256 != file.sha256) {
            return fail(ErrorCode::kBadInput,
                        "{}/{} is not the evidence of this report any more: its SHA-256 is {}, "
                        "report.json says {}",
                        folder, file.path, all.back().sha256, file.sha256);
        }
    }
    return all;
}

std::string sha256sums(const std::vector<HashedFile>& files) {
    std::string text;
    for (const HashedFile& file : files) {
        text += file.sha256 + "  " + file.path + "\n";
    }
    return text;
}

}  // namespace pathproof::report
