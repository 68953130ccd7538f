#include "harness/report/amend.h"

#include <filesystem>

#include "dataplane/base/clock.h"
#include "harness/process/uuid.h"
#include "harness/report/files.h"

namespace pathproof::report {
namespace {

namespace fs = std::filesystem;

Status copy_evidence(const verdict::RunResult& run, const AmendRequest& request) {
    for (const verdict::EvidenceFile& file : evidence_of(run)) {
        const fs::path to = fs::path(unfinished_folder(request.out_dir)) / file.path;
        std::error_code wrong;
        fs::create_directories(to.parent_path(), wrong);
        fs::copy_file(fs::path(request.folder) / file.path, to, wrong);
        if (wrong) {
            return fail(ErrorCode::kFailed, "cannot copy {} into {}: {}", file.path,
                        request.out_dir, wrong.message());
        }
    }
    return {};
}

}  // namespace

Result<Written> amend_report(const verdict::RunResult& run, const AmendRequest& request) {
    std::error_code none;
    if (fs::equivalent(request.folder, request.out_dir, none)) {
        return fail(ErrorCode::kBadInput,
                    "an amended report keeps the old one: name another folder than {} with --out",
                    request.folder);
    }
    if (run.id.empty()) {
        return fail(ErrorCode::kBadInput,
                    "the report in {} has no id: an older pathproof wrote it; run it anew",
                    request.folder);
    }
    const auto files = TRY(hash_files(run, request.folder));
    verdict::RunResult amended = run;
    amended.amends =
        verdict::Amendment{.id = run.id, .sha256 = files.front().sha256, .reason = request.reason};
    amended.id = process::new_uuid();
    amended.issued_at = utc_now();
    amended.parties = verdict::merged(request.parties, run.parties);
    TRY(prepare_output(request.out_dir));
    if (const Status copied = copy_evidence(run, request); !copied) {
        discard_output(request.out_dir);
        return pass_on(copied.error());
    }
    return write_report(amended, request.out_dir, verdict::exit_code(run.verdict));
}

}  // namespace pathproof::report
