// pathproof report sign|verify|amend|bundle: what becomes of a report after its run.

#include <CLI/CLI.hpp>
#include <filesystem>

#include "harness/cli/commands.h"
#include "harness/cli/run_options.h"
#include "harness/compare/read.h"
#include "harness/report/amend.h"
#include "harness/report/approval.h"
#include "harness/report/bundle.h"

namespace pathproof::cli {
namespace {

struct OfReport {
    std::string report;  // its folder, or the report.json in it
};

struct SignOptions : OfReport {
    std::string key;
    std::string approver;
    std::string remark;
};

struct VerifyReportOptions : OfReport {
    std::string signers;
};

struct AmendOptions : OfReport {
    std::string out;
    std::string reason;
    verdict::Parties parties;
};

struct BundleOptions : OfReport {
    std::string file;
};

// The folder of a report.json.
std::string report_folder(const compare::Report& report) {
    const std::string folder = std::filesystem::path(report.file).parent_path().string();
    return folder.empty() ? "." : folder;
}

Result<int> run_sign(const SignOptions& options) {
    const auto report = TRY(compare::read_report(options.report));
    const std::string folder = report_folder(report);
    const auto approval = TRY(report::sign_report(report.run, {.folder = folder,
                                                               .key = options.key,
                                                               .approver = options.approver,
                                                               .remark = options.remark}));
    fmt::print("{} ({}) is approved by {}: {} files, {}/{}\n", report.run.id,
               verdict::name(report.run.verdict), approval.approver, approval.files.size(), folder,
               report::kSignatureFile);
    if (report.run.parties.operator_name.empty()) {
        fmt::print(stderr,
                   "pathproof: this report names no operator, so that nothing shows that its "
                   "approver is somebody else; --operator of the run, or of 'report amend', names "
                   "one\n");
    }
    return 0;
}

// Whatever is not as it was signed makes it 1; a file that is none of ours stays 2.
Result<int> run_verify_report(const VerifyReportOptions& options) {
    const auto report = TRY(compare::read_report(options.report));
    if (!std::filesystem::exists(options.signers)) {
        return fail(ErrorCode::kNotFound,
                    "there is no file {} of allowed signers (ssh-keygen(1): a line 'NAME "
                    "ssh-ed25519 KEY' for each)",
                    options.signers);
    }
    const auto approval = report::verify_report(report.run, report_folder(report), options.signers);
    if (!approval) {
        fmt::print(stderr, "pathproof: {}\n", approval.error().message);
        return 1;
    }
    fmt::print("{} ({}): approved by {} on {}; operated by {}; {} files as they were signed\n",
               approval->report, approval->verdict, approval->approver, approval->approved_at,
               approval->operator_name.empty() ? "nobody it names" : approval->operator_name,
               approval->files.size());
    if (!approval->remark.empty()) {
        fmt::print("remark: {}\n", approval->remark);
    }
    if (report.run.amends) {
        fmt::print("it takes the place of {}: {}\n", report.run.amends->id,
                   report.run.amends->reason);
    }
    return 0;
}

Result<int> run_amend(const AmendOptions& options) {
    const auto report = TRY(compare::read_report(options.report));
    const auto written = TRY(report::amend_report(report.run, {.folder = report_folder(report),
                                                               .out_dir = options.out,
                                                               .reason = options.reason,
                                                               .parties = options.parties}));
    fmt::print("{} takes the place of {}\n", written.folder, report.run.id);
    return 0;
}

Result<int> run_bundle(const BundleOptions& options) {
    const auto report = TRY(compare::read_report(options.report));
    TRY(report::write_bundle(report.run, report_folder(report), options.file));
    fmt::print("{}\n", options.file);
    return 0;
}

void add_report_option(CLI::App& command, OfReport& options) {
    command.add_option("REPORT", options.report, "report.json, or the folder that it is in")
        ->required();
}

}  // namespace

void add_report(CLI::App& app, Command& chosen) {
    CLI::App* report =
        app.add_subcommand("report", "Sign a report, check a signature, amend it, pack it");
    report->require_subcommand(1);

    CLI::App* sign = report->add_subcommand(
        "sign", "Approve a report: approval.json with the SHA-256 of its files, signed by OpenSSH");
    const auto signing = options_for<SignOptions>(*sign, chosen, run_sign);
    add_report_option(*sign, *signing);
    sign->add_option("--key", signing->key,
                     "private key of the approver, or the public one of a key in ssh-agent")
        ->required()
        ->check(CLI::ExistingFile);
    sign->add_option("--approver", signing->approver,
                     "who approves, as the file of allowed signers names it; not the operator")
        ->required();
    sign->add_option("--remark", signing->remark, "a sentence beside the signature");

    CLI::App* verify = report->add_subcommand(
        "verify", "Check who approved a report, and that it is as it was signed");
    const auto verifying = options_for<VerifyReportOptions>(*verify, chosen, run_verify_report);
    verify->footer("Exit status: 0 it is, 1 it is not, or nobody signed it; 2 no such report.");
    add_report_option(*verify, *verifying);
    verify
        ->add_option("--signers", verifying->signers,
                     "file of allowed signers (ssh-keygen(1), ALLOWED SIGNERS)")
        ->required();

    CLI::App* amend = report->add_subcommand(
        "amend",
        "Issue a report anew with another certificate: it names the one that it takes the place "
        "of, which stays");
    const auto amending = options_for<AmendOptions>(*amend, chosen, run_amend);
    add_report_option(*amend, *amending);
    amend->add_option("--out", amending->out, "folder of the new report")->required();
    amend->add_option("--reason", amending->reason, "why, for the report")->required();
    add_party_options(*amend, amending->parties);

    CLI::App* bundle =
        report->add_subcommand("bundle", "Pack report, evidence and their SHA-256 into one file");
    const auto bundling = options_for<BundleOptions>(*bundle, chosen, run_bundle);
    add_report_option(*bundle, *bundling);
    bundle->add_option("FILE", bundling->file, "the .tar.zst to write")->required();
}

}  // namespace pathproof::cli
