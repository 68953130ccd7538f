// The names that the judge has to give each mechanism: the words of the signature algebra for it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dataplane/calibration/effects.h"
#include "dataplane/calibration/row_run.h"
#include "dataplane/softnic/faults.h"

namespace pathproof::calibration {

// The titles that are right; several where the name depends on what the row has (changed data is
// HEALED under a checksum and PAYLOAD without one). Empty: the algebra has no name for it, and the
// judge must say UNKNOWN.
std::vector<std::string> right_titles(const softnic::Fault& fault);

// Quality of the name that a failed row was given.
enum class Naming : std::uint8_t {
    kExact,    // the right name at the right place
    kOpen,     // UNKNOWN, or several names: the right one is among those that fit
    kAlias,    // another name, and the fault that has it gives the very same bytes in this row
    kUnnamed,  // UNKNOWN, and the right name does not fit; right if there is no name
    kWrong,    // another name
};

// Returns the worst naming among all verdicts on a row.
Naming naming_of(const softnic::Fault& fault, const std::vector<Verdict>& verdicts,
                 const SendRow* row);

// The fault that `title` would stand for at the place where `fault` acts; nothing if there is none.
std::optional<softnic::Fault> fault_called(const std::string& title, const softnic::Fault& fault);

// "PSEUDO, UNKNOWN": the titles of some verdicts, each once.
std::string titles_of(const std::vector<Verdict>& verdicts);

}  // namespace pathproof::calibration
