#include <sqlite3.h>

#include <filesystem>

#include "dataplane/base/new_file.h"
#include "harness/history/database.h"

namespace pathproof::history {
namespace {

ErrorCode sqlite_code(int result) {
    switch (result & 0xff) {
        case SQLITE_BUSY:
        case SQLITE_LOCKED: return ErrorCode::kBusy;
        case SQLITE_NOTADB:
        case SQLITE_CORRUPT: return ErrorCode::kBadInput;
        case SQLITE_READONLY:
        case SQLITE_PERM:
        case SQLITE_AUTH:
        case SQLITE_CANTOPEN: return ErrorCode::kNotPermitted;
        default: return ErrorCode::kFailed;
    }
}

// The sentence for an error: what it is and what to do.
Failure sqlite_failure(const std::string& file, int result, const std::string& message) {
    const ErrorCode code = sqlite_code(result);
    switch (result & 0xff) {
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
            return fail(code, "history {} is locked by another program (fuser {})", file, file);
        case SQLITE_NOTADB:
        case SQLITE_CORRUPT:
            return fail(code,
                        "history {} is no SQLite database, or damaged ({}): move it away, and the "
                        "next run begins another; 'sqlite3 {} .recover' reads what is left of it",
                        file, message, file);
        case SQLITE_FULL:
            return fail(code, "history {}: its disk is full; make room, nothing was changed", file);
        case SQLITE_READONLY:
        case SQLITE_PERM:
        case SQLITE_AUTH:
        case SQLITE_CANTOPEN:
            return fail(code, "history {} cannot be opened for writing ({})", file, message);
        default: return fail(code, "history {}: {}", file, message);
    }
}

struct CloseStatement {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, CloseStatement>;

int bind_parameter(sqlite3_stmt* statement, int at, const Parameter& parameter) {
    if (const auto* number = std::get_if<std::int64_t>(&parameter)) {
        return sqlite3_bind_int64(statement, at, *number);
    }
    if (const auto* number = std::get_if<double>(&parameter)) {
        return sqlite3_bind_double(statement, at, *number);
    }
    if (const auto* text = std::get_if<std::string>(&parameter)) {
        return sqlite3_bind_text64(statement, at, text->data(), text->size(), SQLITE_STATIC,
                                   SQLITE_UTF8);
    }
    return sqlite3_bind_null(statement, at);
}

Field field_of(sqlite3_stmt* statement, int column) {
    switch (sqlite3_column_type(statement, column)) {
        case SQLITE_NULL: return std::nullopt;
        // SQLite's own text of a number has 15 digits.
        case SQLITE_FLOAT: return fmt::format("{}", sqlite3_column_double(statement, column));
        default: break;
    }
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
    return std::string(text, static_cast<std::size_t>(sqlite3_column_bytes(statement, column)));
}

class Sqlite : public Database {
  public:
    Sqlite(std::string file, sqlite3* handle) : file_(std::move(file)), handle_(handle) {}
    Sqlite(const Sqlite&) = delete;
    Sqlite& operator=(const Sqlite&) = delete;
    ~Sqlite() override { sqlite3_close(handle_); }

    Result<Rows> query(const std::string& text, const std::vector<Parameter>& parameters) override {
        sqlite3_stmt* raw = nullptr;
        int result =
            sqlite3_prepare_v2(handle_, text.data(), static_cast<int>(text.size()), &raw, nullptr);
        const Statement statement(raw);
        for (int at = 1; result == SQLITE_OK && at <= static_cast<int>(parameters.size()); ++at) {
            result = bind_parameter(raw, at, parameters[static_cast<std::size_t>(at) - 1]);
        }
        if (result != SQLITE_OK) {
            return sqlite_failure(file_, result, sqlite3_errmsg(handle_));
        }
        Rows rows;
        while ((result = sqlite3_step(raw)) == SQLITE_ROW) {
            Row row;
            for (int column = 0; column < sqlite3_column_count(raw); ++column) {
                row.push_back(field_of(raw, column));
            }
            rows.push_back(std::move(row));
        }
        if (result != SQLITE_DONE) {
            return sqlite_failure(file_, result, sqlite3_errmsg(handle_));
        }
        return rows;
    }

    Status begin() override { return run("BEGIN IMMEDIATE"); }
    Status commit() override { return run("COMMIT"); }
    void rollback() override {
        if (sqlite3_get_autocommit(handle_) == 0) {
            static_cast<void>(run("ROLLBACK"));
        }
    }
    const char* key_type() const override { return "INTEGER PRIMARY KEY"; }
    Result<std::size_t> count_tables() override {
        const auto rows = TRY(query("SELECT name FROM sqlite_master WHERE type = 'table'", {}));
        return rows.size();
    }
    bool is_read_only() const override { return sqlite3_db_readonly(handle_, "main") == 1; }

  private:
    Status run(const char* statement) {
        TRY(query(statement, {}));
        return {};
    }

    std::string file_;
    sqlite3* handle_;
};

}  // namespace

Result<std::unique_ptr<Database>> open_sqlite(const Target& target, Access access,
                                              std::chrono::milliseconds patience) {
    const std::string& file = target.text;
    std::error_code none;
    if (access == Access::kRead && !std::filesystem::exists(file, none)) {
        return fail(ErrorCode::kNotFound,
                    "there is no history {}: runs of qualify and repro write one, and 'pathproof "
                    "history import' makes one of their reports",
                    file);
    }
    if (access == Access::kCreate) {
        const std::string folder = std::filesystem::absolute(file, none).parent_path();
        TRY(doing(make_folders(folder, ErrorCode::kFailed), "make the folder {}", folder));
    }
    sqlite3* handle = nullptr;
    const int flags = SQLITE_OPEN_READWRITE | (access == Access::kCreate ? SQLITE_OPEN_CREATE : 0);
    const int result = sqlite3_open_v2(file.c_str(), &handle, flags, nullptr);
    auto database = std::make_unique<Sqlite>(file, handle);
    if (result != SQLITE_OK) {
        return sqlite_failure(file, result,
                              handle == nullptr ? "no memory" : sqlite3_errmsg(handle));
    }
    sqlite3_busy_timeout(handle, static_cast<int>(patience.count()));
    // Reads the file for the first time: one that is no database is refused here.
    TRY(database->count_tables());
    return database;
}

}  // namespace pathproof::history
