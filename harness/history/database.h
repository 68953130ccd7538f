// A database, as far as a history needs one: the same statements for SQLite and PostgreSQL.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/history/target.h"

namespace pathproof::history {

using Parameter = std::variant<std::monostate, std::int64_t, double, std::string>;
using Field = std::optional<std::string>;  // numbers with all their digits
using Row = std::vector<Field>;
using Rows = std::vector<Row>;

class Database {
  public:
    virtual ~Database() = default;

    // Runs one statement. Its parameters are $1, $2, ... and first appear in that order.
    virtual Result<Rows> query(const std::string& statement,
                               const std::vector<Parameter>& parameters = {}) = 0;
    // Begins a transaction that writes: it has, or waits for, the right to.
    virtual Status begin() = 0;
    virtual Status commit() = 0;
    virtual void rollback() = 0;

    // Types of a column that numbers its rows by itself.
    virtual const char* key_type() const = 0;
    // The number of tables; those of a history are among them.
    virtual Result<std::size_t> count_tables() = 0;
    virtual bool is_read_only() const = 0;
};

enum class Access {
    kRead,    // kNotFound where there is none
    kCreate,  // makes it where there is none
};

// Opens the database. `patience`: how long a lock of another program, or a server, is waited for. Errors: kNotFound;
// kBadInput: no database, or a damaged one; kNotPermitted; kBusy: locked for longer; kUnavailable: the server cannot be reached, or its
// client library is missing; kFailed: no room on the disk, and all else.
Result<std::unique_ptr<Database>> open_database(const Target& target, Access access,
                                                std::chrono::milliseconds patience);

// Opens a database of one kind; each kind has a source file of its own.
Result<std::unique_ptr<Database>> open_sqlite(const Target& target, Access access,
                                              std::chrono::milliseconds patience);
Result<std::unique_ptr<Database>> open_postgres(const Target& target,
                                                std::chrono::milliseconds patience);

}  // namespace pathproof::history
