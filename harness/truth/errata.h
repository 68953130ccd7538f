// Defects of a truth table, looked up in the catalogue of documented ones.
#pragma once

#include <string>
#include <vector>

#include "harness/profile/errata.h"
#include "harness/truth/defects.h"
#include "harness/verdict/truth_table.h"

namespace pathproof::truth {

// At most so many are listed with a defect, or with a row of a truth table.
inline constexpr std::size_t kMostErrata = 3;

// The software that showed a defect, as far as it is known.
struct Circumstances {
    std::string driver;  // of the kernel or of DPDK
    std::string kernel;  // `uname -r`
    std::string dpdk;    // "22.11.11"
};
// Returns the circumstances of a DPDK port. `dpdk_version`: as the tester gives it, "DPDK
// 22.11.11".
Circumstances circumstances_of(const port::PortInfo& device, const std::string& dpdk_version);

// The defect as the catalogue is asked for it, whether a port or a kernel device showed it.
profile::Sighting sighting_of(const Defect& defect, const Circumstances& circumstances);

// Fills in what the catalogue knows of each defect, the surest first.
void explain_by_errata(std::vector<Defect>& defects, const std::vector<profile::Erratum>& errata,
                       const Circumstances& circumstances);

// Returns the errata of all defects, each once, kMostErrata at most.
std::vector<verdict::KnownErratum> errata_of(const std::vector<Defect>& defects);

// A match as reports word it: all commands of the workaround, or the advice where there are none;
// the first source's address, or its name where it has none.
verdict::KnownErratum known_erratum(const profile::ErratumMatch& match);

}  // namespace pathproof::truth
