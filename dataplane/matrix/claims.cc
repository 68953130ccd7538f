#include "dataplane/matrix/claims.h"

namespace pathproof::matrix {
namespace {

judge::RxClaim claim_of(softnic::RxClaim claim) {
    switch (claim) {
        case softnic::RxClaim::kUnknown: return judge::RxClaim::kUnknown;
        case softnic::RxClaim::kBad: return judge::RxClaim::kBad;
        case softnic::RxClaim::kGood: return judge::RxClaim::kGood;
        case softnic::RxClaim::kNone: break;
    }
    return judge::RxClaim::kNone;
}

}  // namespace

judge::RxClaims claims_of(const softnic::RxVerdict& verdict) {
    return {.ip = claim_of(verdict.ip),
            .l4 = claim_of(verdict.l4),
            .outer_ip = claim_of(verdict.outer_ip),
            .outer_l4 = claim_of(verdict.outer_l4)};
}

}  // namespace pathproof::matrix
