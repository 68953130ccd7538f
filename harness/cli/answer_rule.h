// Rules for a DNS server's answers, as people type them.
#pragma once

#include <string>

#include "dataplane/base/result.h"
#include "dataplane/traffic/responder.h"

namespace pathproof::cli {

// "type=A,address=192.0.2.1,delay-ms=200". Errors name the part that is wrong.
Result<traffic::AnswerRule> parse_rule(const std::string& text);

}  // namespace pathproof::cli
