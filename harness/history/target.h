// The place of a history: a SQLite file, or a PostgreSQL database for a laboratory of many machines.
#pragma once

#include <string>

#include "dataplane/base/result.h"

namespace pathproof::history {

struct Target {
    bool is_postgres = false;
    std::string text;   // the file, or the URI as it was given
    std::string shown;  // the same without a password, for messages
    // The folder in which this machine keeps runs that are not in the database yet.
    std::string pending;
};

// `text`: a file, "postgresql://HOST/NAME" or "postgres://..."; empty: history.db of the state folder. kBadInput: a URI of
// another kind, or a folder.
Result<Target> parse_target(const std::string& text);

}  // namespace pathproof::history
