// Reports that are signed, amended and packed.
#include <array>
#include <boost/test/unit_test.hpp>

#include "harness/process/program.h"
#include "harness/process/sha256.h"
#include "harness/report/amend.h"
#include "harness/report/approval.h"
#include "harness/report/bundle.h"
#include "written.h"

using namespace pathproof;
using namespace pathproof::report;
using namespace pathproof::report::test;

namespace {

// A report with an id and an operator, as it lies in `out`.
verdict::RunResult put_report(const std::string& out) {
    verdict::RunResult run = measured(out);
    run.id = "00112233-4455-6677-8899-aabbccddeeff";
    run.parties.operator_name = "A. Operator";
    run.issued_at = "2026-11-28T10:00:01Z";
    const auto written = write_report(run, out, verdict::exit_code(run.verdict));
    BOOST_REQUIRE_MESSAGE(written, (written ? "" : written.error().message));
    const auto read = from_json(contents(out + "/report.json"));
    BOOST_REQUIRE_MESSAGE(read, (read ? "" : read.error().message));
    return *read;
}

// A key of that name, and a file of allowed signers that knows it.
void put_key(const Folder& folder, const std::string& name) {
    const auto made = process::run_checked(
        {"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", folder.at(name)});
    BOOST_REQUIRE_MESSAGE(made, (made ? "" : made.error().message));
    put(folder.at("signers"),
        contents(folder.at("signers")) + "\"" + name + "\" " + contents(folder.at(name + ".pub")));
}

template <typename T>
void refused_with(const Result<T>& result, const std::string& words) {
    BOOST_REQUIRE_MESSAGE(!result, "it was taken; expected: " << words);
    BOOST_TEST(result.error().message.find(words) != std::string::npos, result.error().message);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(signed_reports)

BOOST_AUTO_TEST_CASE(evidence_is_tied_to_its_report_by_hash) {
    const Folder folder;
    const verdict::RunResult run = put_report(folder.path);
    const auto evidence = evidence_of(run);
    BOOST_REQUIRE(!evidence.empty());
    for (const verdict::EvidenceFile& file : evidence) {
        BOOST_TEST(file.sha256 == process::sha256_of("evidence"), file.path);
    }
    // FIPS 180-4's own example.
    BOOST_TEST(process::sha256_of("abc") ==
               "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    put(folder.at(evidence.front().path), "forged");
    refused_with(hash_files(run, folder.path), "is not the evidence of this report any more");
    std::filesystem::remove(folder.at(evidence.front().path));
    refused_with(hash_files(run, folder.path), "which is not there");
    verdict::RunResult forged = run;
    forged.scenarios.front().evidence = {{"../../etc/passwd", "no"}};
    refused_with(hash_files(forged, folder.path), "../../etc/passwd");
}

BOOST_AUTO_TEST_CASE(a_signature_holds_until_a_file_or_the_approver_changes) {
    const Folder folder;
    const Folder keys;
    put_key(keys, "B. Approver");
    put_key(keys, "C. Stranger");
    const verdict::RunResult run = put_report(folder.path);
    refused_with(verify_report(run, folder.path, keys.at("signers")), "is not signed");
    const SignRequest request{
        .folder = folder.path, .key = keys.at("B. Approver"), .approver = "B. Approver"};
    SignRequest own = request;
    own.approver = " a. operator";
    refused_with(sign_report(run, own), "a report is approved by somebody else");
    BOOST_TEST(!std::filesystem::exists(folder.at(kApprovalFile)));
    SignRequest keyless = request;
    keyless.key = keys.at("nowhere");
    refused_with(sign_report(run, keyless), "ssh-keygen cannot sign");
    BOOST_TEST(!std::filesystem::exists(folder.at(kApprovalFile)));

    BOOST_REQUIRE(sign_report(run, request));
    const auto good = verify_report(run, folder.path, keys.at("signers"));
    BOOST_REQUIRE_MESSAGE(good, (good ? "" : good.error().message));
    BOOST_TEST(good->approver == "B. Approver");
    BOOST_TEST(good->operator_name == "A. Operator");
    refused_with(sign_report(run, request), "this report is signed");

    // A file that was signed.
    const std::string page = contents(folder.at("report.html"));
    put(folder.at("report.html"), page + " ");
    refused_with(verify_report(run, folder.path, keys.at("signers")),
                 "report.html is not as B. Approver signed it");
    put(folder.at("report.html"), page);
    // The approval itself; another one's name over it; a key that is not allowed.
    const std::string approval = contents(folder.at(kApprovalFile));
    std::string other = approval;
    other.replace(other.find("B. Approver"), 11, "C. Stranger");
    put(folder.at(kApprovalFile), other);
    refused_with(verify_report(run, folder.path, keys.at("signers")), "is not valid");
    put(folder.at(kApprovalFile), approval.substr(0, approval.size() / 2));
    refused_with(verify_report(run, folder.path, keys.at("signers")), "was cut short");
    put(folder.at(kApprovalFile), approval);
    put(keys.at("nobody"), "");
    refused_with(verify_report(run, folder.path, keys.at("nobody")), "is not valid");
    BOOST_TEST(verify_report(run, folder.path, keys.at("signers")).has_value());
    // A new report in its place is not approved.
    put_report(folder.path);
    BOOST_TEST(!std::filesystem::exists(folder.at(kApprovalFile)));
    BOOST_TEST(!std::filesystem::exists(folder.at(kSignatureFile)));
}

BOOST_AUTO_TEST_CASE(an_amended_report_names_the_one_that_stays) {
    const Folder folder;
    const Folder other;
    const verdict::RunResult run = put_report(folder.path);
    const std::string before = contents(folder.at("report.json"));
    const AmendRequest request{.folder = folder.path,
                               .out_dir = other.path,
                               .reason = "the customer was left out",
                               .parties = {.customer = "D. Customer"}};
    const auto written = amend_report(run, request);
    BOOST_REQUIRE_MESSAGE(written, (written ? "" : written.error().message));
    BOOST_TEST((contents(folder.at("report.json")) == before));
    const auto amended = from_json(contents(other.at("report.json")));
    BOOST_REQUIRE(amended);
    BOOST_REQUIRE(amended->amends);
    BOOST_TEST(amended->amends->id == run.id);
    BOOST_TEST(amended->amends->sha256 == process::sha256_of(before));
    BOOST_TEST(amended->id != run.id);
    BOOST_TEST(amended->parties.customer == "D. Customer");
    BOOST_TEST(amended->parties.operator_name == "A. Operator");
    BOOST_TEST((evidence_of(*amended).size() == evidence_of(run).size()));
    BOOST_TEST(hash_files(*amended, other.path).has_value());
    AmendRequest same = request;
    same.out_dir = folder.path;
    refused_with(amend_report(run, same), "name another folder");
}

BOOST_AUTO_TEST_CASE(a_bundle_holds_a_report_and_its_sums) {
    const Folder folder;
    const Folder unpacked;
    const verdict::RunResult run = put_report(folder.path);
    const std::string file = unpacked.at("r.tar.zst");
    const Status packed = write_bundle(run, folder.path, file);
    BOOST_REQUIRE_MESSAGE(packed, (packed ? "" : packed.error().message));
    const auto made = process::run_checked({"tar", "--zstd", "-xf", file, "-C", unpacked.path});
    BOOST_REQUIRE_MESSAGE(made, (made ? "" : made.error().message));
    const std::string root = unpacked.at("report-" + run.id);
    const auto checked = process::run_checked(
        {"sh", "-c", "cd '" + root + "' && sha256sum --check --strict --quiet SHA256SUMS"});
    BOOST_TEST(checked.has_value(), (checked ? "" : checked.error().message));
    BOOST_TEST((contents(root + "/report.json") == contents(folder.at("report.json"))));
    // Packing again gives the same bytes. The old bundle stays when a file of the report is lost.
    const std::string first = contents(file);
    BOOST_REQUIRE(write_bundle(run, folder.path, file));
    BOOST_TEST((contents(file) == first));
    std::filesystem::remove(folder.at("junit.xml"));
    BOOST_TEST(!write_bundle(run, folder.path, file).has_value());
    BOOST_TEST((contents(file) == first));
    BOOST_TEST(!write_bundle(run, folder.path, "/dev/full").has_value());
}

BOOST_AUTO_TEST_SUITE_END()
