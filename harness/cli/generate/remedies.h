// Remedies for a run whose figures the tester itself spoiled.
#pragma once

#include <string>
#include <vector>

#include "dataplane/port/port.h"

namespace pathproof::cli {

struct TesterTrouble {
    bool disturbed = false;  // lcores waited for their CPU or stood still
    bool limited = false;    // the load was not offered, or a port lost frames itself
};

// Sentences; none where there was no trouble.
std::vector<std::string> remedies(const TesterTrouble& trouble, const port::PortInfo& sending,
                                  const port::PortInfo& receiving);

// A line each, for people.
std::string remedy_rows(const std::vector<std::string>& remedies);

}  // namespace pathproof::cli
