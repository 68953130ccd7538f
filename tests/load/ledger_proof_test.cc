#include "dataplane/load/ledger_proof.h"

#include <boost/test/unit_test.hpp>

using namespace pathproof;
using namespace pathproof::load;

namespace {

LedgerProof proof_of(const LedgerProofPlan& plan) {
    const std::atomic<bool> stop = false;
    Result<LedgerProof> proof = run_ledger_proof(plan, stop);
    BOOST_REQUIRE_MESSAGE(proof, proof.error().message);
    for (const std::string& error : proof->errors) {
        BOOST_ERROR(error);
    }
    return std::move(*proof);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ledger_proof)

BOOST_AUTO_TEST_CASE(what_was_injected_is_found_to_the_frame) {
    const LedgerProof proof = proof_of(ledger_proof_plan(2'000'000, 1, ProofPath::kPlain));
    BOOST_TEST(proof.sent == 2'000'000u);
    BOOST_TEST(!proof.partial);
    BOOST_TEST(proof.injected.lost > 100u);
    BOOST_TEST(proof.injected.duplicates > 100u);
    BOOST_TEST(proof.injected.reordered > 100u);
    BOOST_TEST(proof.injected.corrupted > 100u);
    BOOST_TEST(proof.injected.spared == 0u);
    BOOST_TEST(proof.injected.furthest > 900'000u);
    BOOST_TEST(proof.found.quick > 1'999'000u);
    BOOST_TEST(proof.missing() == proof.injected.lost + proof.injected.corrupted);
}

BOOST_AUTO_TEST_CASE(in_a_tunnel_too_and_with_every_class_and_much_harm) {
    LedgerProofPlan plan = ledger_proof_plan(300'000, 2, ProofPath::kVxlan);
    plan.source.mix = {{.traffic = frame::TrafficClass::kDnsA, .weight = 3},
                       {.traffic = frame::TrafficClass::kDnsAaaa, .weight = 2},
                       {.traffic = frame::TrafficClass::kTcpSyn},
                       {.traffic = frame::TrafficClass::kIcmpEcho},
                       {.traffic = frame::TrafficClass::kUdp}};
    plan.source.stream = 5;
    plan.impairment.loss = plan.impairment.corruption = 0.05;
    plan.impairment.duplication = plan.impairment.reordering = 0.05;
    plan.impairment.most_distance = 5'000;
    const LedgerProof proof = proof_of(plan);
    BOOST_TEST(proof.injected.corrupted > 10'000u);
    BOOST_TEST(proof.injected.reordered > 10'000u);
    for (std::size_t i = 0; i < 5; ++i) {
        BOOST_TEST(proof.found.classes[i].unique > 20'000u);
    }
}

BOOST_AUTO_TEST_CASE(a_proof_that_is_stopped_holds_for_what_was_sent) {
    const std::atomic<bool> stop = true;
    const auto proof = run_ledger_proof(ledger_proof_plan(1'000, 1, ProofPath::kPlain), stop);
    BOOST_REQUIRE(proof);
    BOOST_TEST(proof->partial);
    BOOST_TEST(proof->sent == 0u);
    BOOST_TEST(proof->errors.empty());
}

BOOST_AUTO_TEST_CASE(a_plan_that_cannot_be_is_refused) {
    const std::atomic<bool> stop = false;
    LedgerProofPlan plan = ledger_proof_plan(1'000, 1, ProofPath::kPlain);
    plan.impairment.loss = 2;
    BOOST_TEST(!run_ledger_proof(plan, stop));
}

BOOST_AUTO_TEST_SUITE_END()
