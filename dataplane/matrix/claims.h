// What a software NIC's receiver says of a frame, in the judge's terms. The two rooms know nothing
// of each other: each judges the other.
#pragma once

#include "dataplane/judge/rx_verdict.h"
#include "dataplane/softnic/engine.h"

namespace pathproof::matrix {

judge::RxClaims claims_of(const softnic::RxVerdict& verdict);

}  // namespace pathproof::matrix
