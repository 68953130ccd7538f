// Options by which a laboratory says who had what tested, and asks for one file that holds it all.
#pragma once

#include <string>

#include "dataplane/base/result.h"
#include "harness/verdict/certificate.h"

namespace pathproof::run {

struct CertificateOptions {
    verdict::Parties parties;
    std::string bundle;  // empty: none
};

// kBadInput, before anything is run: a bundle that cannot be written, or one of no report.
Status check_bundle(const std::string& bundle, const std::string& out_dir);

}  // namespace pathproof::run
