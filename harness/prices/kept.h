// Tables of prices that were measured earlier, for the runs that do not measure them: one for each
// kernel, set of programs and version, in one file of the user.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/verdict/prices.h"

namespace pathproof::prices {

// $XDG_STATE_HOME/pathproof/prices.json; without it below ~/.local/state, or /var/lib.
std::string kept_file();

// The tables in the text of such a file. kBadInput: it is none.
Result<std::vector<verdict::PriceTable>> read_kept(const std::string& text);
std::string kept_text(const std::vector<verdict::PriceTable>& tables);

// The one of exactly that kernel, those programs and that version; nothing: there is none, or no file.
Result<std::optional<verdict::PriceTable>> find_kept(const std::string& file,
                                                     const verdict::PriceKey& key);
// Keeps the table in place of the one with the same key. A file that cannot be read is left as it
// is.
Status keep(const std::string& file, const verdict::PriceTable& table);

}  // namespace pathproof::prices
