// Frames that were followed, for people and for scripts: of `verify` and of `generate --replay`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "dataplane/follow/followed_files.h"

namespace pathproof::cli {

// "router, nat, vlan, ...": the words of --allow.
std::string transformation_names();
// Errors: a word that is none, with those that there are.
Result<follow::Transformations> allowed_of(const std::vector<std::string>& words);

// "1500 of 1500 frames as sent, 3 missing": each class that has any.
std::string followed_counts(const follow::Followed& followed);
// Captures, a table of all classes, findings, notes and what cannot be told: lines.
std::string followed_text(const follow::Followed& followed, const follow::Conclusion& conclusion,
                          follow::Transformations allowed);
// {"in": [...], "out": [...], "forward": {"sent", "classes", ...}, "backward", "findings", "used", "notes",
// "why", ...}
nlohmann::json followed_json(const follow::Followed& followed,
                             const follow::Conclusion& conclusion);
// The findings alone, as followed_text() has them.
std::string findings_text(const follow::Followed& followed);
// A pcapng file a finding, and its frames field by field beside it. `about`: the command.
Status write_followed_evidence(const follow::Followed& followed, const std::string& folder,
                               const std::string& about);

}  // namespace pathproof::cli
