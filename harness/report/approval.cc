#include "harness/report/approval.h"

#include <boost/algorithm/string.hpp>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "dataplane/base/clock.h"
#include "dataplane/base/file.h"
#include "dataplane/base/new_file.h"
#include "harness/process/foreign.h"
#include "harness/process/json_text.h"
#include "harness/process/program.h"

namespace pathproof::report {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr const char* kApprovalVersion = "pathproof-approval/1";
constexpr const char* kNamespace = "pathproof-report";  // of the signature
constexpr std::chrono::minutes kPatience{2};            // of a key that wants to be touched

bool is_same_person(const std::string& one, const std::string& other) {
    return boost::iequals(boost::trim_copy(one), boost::trim_copy(other));
}

// The files that were signed and are otherwise now, or not there.
Status check_unchanged(const Approval& approval, const std::vector<HashedFile>& now,
                       const std::string& folder) {
    for (const HashedFile& file : approval.files) {
        const auto same = std::ranges::find(now, file.path, &HashedFile::path);
        if (same == now.end() || same->sha256 != file.sha256) {
            return fail(ErrorCode::kBadInput, "{}/{} is not as {} signed it on {}", folder,
                        file.path, approval.approver, approval.approved_at);
        }
    }
    if (now.size() != approval.files.size()) {
        return fail(ErrorCode::kBadInput, "{}: {} signed {} files, the report has {}", folder,
                    approval.approver, approval.files.size(), now.size());
    }
    return {};
}

Result<std::string> signature_of(const std::string& text, const std::string& key) {
    const auto signed_text =
        TRY(process::run_program({"ssh-keygen", "-Y", "sign", "-q", "-f", key, "-n", kNamespace},
                                 {.input = text, .timeout = kPatience}));
    if (signed_text.exit_status != 0) {
        return fail(ErrorCode::kBadInput, "ssh-keygen cannot sign with {}: {}", key,
                    process::last_words(signed_text.err));
    }
    return signed_text.out;
}

}  // namespace

std::string approval_text(const Approval& approval) {
    ordered_json files = ordered_json::object();
    for (const HashedFile& file : approval.files) {
        files[file.path] = file.sha256;
    }
    const ordered_json all = {
        {"schema", kApprovalVersion},    {"report", approval.report},
        {"verdict", approval.verdict},   {"operator", approval.operator_name},
        {"approver", approval.approver}, {"approved_at", approval.approved_at},
        {"remark", approval.remark},     {"sha256", std::move(files)}};
    return process::to_text(all, 2) + "\n";
}

Result<Approval> parse_approval(const std::string& text) {
    const ordered_json document = process::ordered_json_or_null(text);
    try {
        if (document.at("schema") != kApprovalVersion) {
            return fail(ErrorCode::kBadInput, "it is of another version, this pathproof reads {}",
                        kApprovalVersion);
        }
        Approval approval{.report = document.at("report"),
                          .verdict = document.at("verdict"),
                          .operator_name = document.at("operator"),
                          .approver = document.at("approver"),
                          .approved_at = document.at("approved_at"),
                          .remark = document.at("remark")};
        for (const auto& [path, sha256] : document.at("sha256").items()) {
            approval.files.push_back({path, sha256});
        }
        return approval;
    } catch (const nlohmann::json::exception&) {
        return fail(ErrorCode::kBadInput, "it is no approval, or was cut short");
    }
}

Result<Approval> sign_report(const verdict::RunResult& run, const SignRequest& request) {
    if (run.id.empty()) {
        return fail(ErrorCode::kBadInput,
                    "the report in {} has no id: an older pathproof wrote it; run it anew",
                    request.folder);
    }
    if (is_same_person(request.approver, run.parties.operator_name)) {
        return fail(ErrorCode::kBadInput,
                    "{} operated this run: a report is approved by somebody else",
                    run.parties.operator_name);
    }
    const std::string file = request.folder + "/" + kApprovalFile;
    std::error_code none;
    if (fs::exists(file, none)) {
        return fail(ErrorCode::kBadInput,
                    "{} is there: this report is signed; 'pathproof report amend' makes one that "
                    "takes its place",
                    file);
    }
    Approval approval{.report = run.id,
                      .verdict = name(run.verdict),
                      .operator_name = run.parties.operator_name,
                      .approver = request.approver,
                      .approved_at = utc_now(),
                      .remark = request.remark};
    approval.files = TRY(hash_files(run, request.folder));
    const std::string text = approval_text(approval);
    const std::string signature = TRY(signature_of(text, request.key));
    TRY(replace_file(request.folder + "/" + kSignatureFile, signature));
    if (const Status written = replace_file(file, text); !written) {
        fs::remove(request.folder + "/" + kSignatureFile, none);
        return pass_on(written.error());
    }
    return approval;
}

Result<Approval> verify_report(const verdict::RunResult& run, const std::string& folder,
                               const std::string& allowed_signers) {
    const std::string file = folder + "/" + kApprovalFile;
    const auto text = read_file(file);
    if (!text) {
        return fail(ErrorCode::kBadInput, "the report in {} is not signed: it has no {}", folder,
                    kApprovalFile);
    }
    Approval approval = TRY(doing(parse_approval(*text), "{}", file));
    // A principal begins with no '-', and ssh-keygen takes it as it is.
    const auto checked = TRY(process::run_program(
        {"ssh-keygen", "-Y", "verify", "-f", allowed_signers, "-I", approval.approver, "-n",
         kNamespace, "-s", folder + "/" + kSignatureFile},
        {.input = *text}));
    if (checked.exit_status != 0) {
        return fail(ErrorCode::kBadInput, "the signature of {} in {} is not valid: {}",
                    approval.approver, folder,
                    process::last_words(checked.err.empty() ? checked.out : checked.err));
    }
    if (approval.report != run.id || approval.verdict != name(run.verdict)) {
        return fail(ErrorCode::kBadInput,
                    "{} is the approval of report {} ({}), this one is {} ({})", file,
                    approval.report, approval.verdict, run.id, name(run.verdict));
    }
    const auto now = TRY(hash_files(run, folder));
    TRY(check_unchanged(approval, now, folder));
    return approval;
}

}  // namespace pathproof::report
