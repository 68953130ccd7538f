// report.html: one file that needs no network and no other file to be read. It holds the whole report.json, which the
// front end (page/) shows, and the same in plain markup for readers without scripts.
#pragma once

#include <string>
#include <vector>

#include "harness/report/badge.h"
#include "harness/verdict/result.h"

namespace pathproof::report {

// Returns the page of a run; well-formed as XML too. Every text of the result is escaped.
std::string html_page(const verdict::RunResult& run);

// Returns a page around `plain`, the markup of its main element. `json`: the document that the front end shows in its
// place, one that page/src/main.tsx knows by its "schema"; empty: the page stays plain.
std::string framed_page(const std::string& title, const std::string& plain,
                        const std::string& json = "");

// Returns the run in plain markup: verdicts, certificate, coverage, and per scenario finding, cause, cure, cells and
// proofs; the prices and the environment.
std::string plain_html(const verdict::RunResult& run);

std::string badge_html(const Badge& badge);

// Returns what `html` makes of each of them, one behind the other.
template <typename List, typename Html>
std::string each_html(const List& list, const Html& html) {
    std::string all;
    for (const auto& one : list) {
        all += html(one);
    }
    return all;
}

// A table of these heads (markup) and rows (tr elements), which a reader may scroll sideways.
std::string table_html(const std::string& label, const std::vector<std::string>& heads,
                       const std::string& rows);

}  // namespace pathproof::report
