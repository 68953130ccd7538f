// report.html: one file that needs no network, no script and no other file to be read.
#pragma once

#include <string>

#include "harness/verdict/result.h"

namespace pathproof::report {

// The page; well-formed as XML too. It holds the whole report.json in <script
// type="application/json">.
std::string html_page(const verdict::RunResult& run);

// A page of this style up to its body.
std::string page_head(const std::string& title);

// What the run's verdict means, in words for someone who reads their first report.
std::string meaning(const verdict::RunResult& run);

// What evidence of this class speaks of: "of the software path", "of this hardware".
const char* subject_of(const std::string& evidence_class);

}  // namespace pathproof::report
