// The approval of a report by somebody other than its operator: approval.json beside it names every file with
// its SHA-256 and is signed with OpenSSH (ssh-keygen -Y, PROTOCOL.sshsig).
#pragma once

#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/report/files.h"
#include "harness/verdict/result.h"

namespace pathproof::report {

inline constexpr const char* kApprovalFile = "approval.json";
inline constexpr const char* kSignatureFile = "approval.json.sig";

struct Approval {
    std::string report;         // its UUID
    std::string verdict;        // as report.json has it
    std::string operator_name;  // empty: the report names none
    std::string approver;       // a principal of ssh-keygen's allowed signers
    std::string approved_at;    // ISO 8601, UTC
    std::string remark;
    std::vector<HashedFile> files;
};

std::string approval_text(const Approval& approval);
// kBadInput: it is none, or of another version.
Result<Approval> parse_approval(const std::string& text);

struct SignRequest {
    std::string folder;  // of the report
    std::string key;     // private, or public where ssh-agent has the private one
    std::string approver;
    std::string remark = {};
};
// Writes approval.json and its signature into the report's folder; nothing where either fails. kBadInput: the report
// is of an older version without an id, is signed already, its files are not what it says, or the approver is its
// operator.
Result<Approval> sign_report(const verdict::RunResult& run, const SignRequest& request);

// Checks the signature of the approver against a file of allowed signers (ssh-keygen(1)), then that every file is as
// it was signed. kBadInput says what is not.
Result<Approval> verify_report(const verdict::RunResult& run, const std::string& folder,
                               const std::string& allowed_signers);

}  // namespace pathproof::report
