#include "harness/history/database.h"

namespace pathproof::history {

Result<std::unique_ptr<Database>> open_database(const Target& target, Access access,
                                                std::chrono::milliseconds patience) {
    return target.is_postgres ? open_postgres(target, patience)
                              : open_sqlite(target, access, patience);
}

}  // namespace pathproof::history
