// PostgreSQL through libpq, which is loaded only where a history's URI asks for it: every agent is a copy of this program with
// all the libraries that it is linked to, and libpq brings Kerberos, LDAP and TLS.
#include <dlfcn.h>
#include <libpq-fe.h>

#include <array>
#include <cstring>

#include "harness/history/database.h"

namespace pathproof::history {
namespace {

struct Libpq {
    decltype(&PQconnectdbParams) connect;
    decltype(&PQstatus) status;
    decltype(&PQerrorMessage) error_message;
    decltype(&PQfinish) finish;
    decltype(&PQexecParams) execute;
    decltype(&PQresultStatus) result_status;
    decltype(&PQresultErrorField) error_field;
    decltype(&PQntuples) rows;
    decltype(&PQnfields) columns;
    decltype(&PQgetvalue) value;
    decltype(&PQgetlength) length;
    decltype(&PQgetisnull) is_null;
    decltype(&PQclear) clear;
    decltype(&PQsetNoticeProcessor) set_notice_processor;
};

Result<const Libpq*> load_libpq() {
    static Libpq library;
    static void* handle = nullptr;
    if (handle != nullptr) {
        return &library;
    }
    void* const opened = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr) {
        return fail(ErrorCode::kUnavailable,
                    "PostgreSQL's client library is missing ({}): install libpq5", dlerror());
    }
    const auto find = [&](auto& function, const char* name) {
        function =
            reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(opened, name));
        return function != nullptr;
    };
    const bool whole =
        find(library.connect, "PQconnectdbParams") && find(library.status, "PQstatus") &&
        find(library.error_message, "PQerrorMessage") && find(library.finish, "PQfinish") &&
        find(library.execute, "PQexecParams") && find(library.result_status, "PQresultStatus") &&
        find(library.error_field, "PQresultErrorField") && find(library.rows, "PQntuples") &&
        find(library.columns, "PQnfields") && find(library.value, "PQgetvalue") &&
        find(library.length, "PQgetlength") && find(library.is_null, "PQgetisnull") &&
        find(library.clear, "PQclear") &&
        find(library.set_notice_processor, "PQsetNoticeProcessor");
    if (!whole) {
        return fail(ErrorCode::kUnavailable, "libpq.so.5 lacks a function: {}", dlerror());
    }
    handle = opened;
    return &library;
}

// Messages of libpq have several lines.
std::string one_line(std::string text) {
    while (!text.empty() && text.back() == '\n') {
        text.pop_back();
    }
    for (char& each : text) {
        each = each == '\n' || each == '\t' ? ' ' : each;
    }
    return text;
}

// Maps an SQLSTATE (PostgreSQL's appendix A) to an error code.
ErrorCode postgres_code(std::string_view state) {
    if (state == "55P03" || state == "57014" || state == "40P01") {
        return ErrorCode::kBusy;  // lock_not_available, query_canceled, deadlock_detected
    }
    if (state == "42501") {
        return ErrorCode::kNotPermitted;  // insufficient_privilege
    }
    return state.starts_with("08") || state.starts_with("57P") || state.empty()
               ? ErrorCode::kUnavailable  // connection_exception, admin_shutdown
               : ErrorCode::kFailed;      // 53100 disk_full among them
}

class Postgres : public Database {
  public:
    Postgres(const Libpq& library, std::string shown, PGconn* connection)
        : library_(library), shown_(std::move(shown)), connection_(connection) {}
    Postgres(const Postgres&) = delete;
    Postgres& operator=(const Postgres&) = delete;
    ~Postgres() override { library_.finish(connection_); }

    Result<Rows> query(const std::string& text, const std::vector<Parameter>& parameters) override {
        std::vector<std::string> texts;
        for (const Parameter& parameter : parameters) {
            texts.push_back(text_of(parameter));
        }
        std::vector<const char*> values;
        for (std::size_t at = 0; at < parameters.size(); ++at) {
            const bool is_null = std::holds_alternative<std::monostate>(parameters[at]);
            values.push_back(is_null ? nullptr : texts[at].c_str());
        }
        PGresult* const result =
            library_.execute(connection_, text.c_str(), static_cast<int>(values.size()), nullptr,
                             values.data(), nullptr, nullptr, 0);
        const ExecStatusType status = library_.result_status(result);
        if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
            const char* const state = library_.error_field(result, PG_DIAG_SQLSTATE);
            const ErrorCode code = postgres_code(state == nullptr ? "" : state);
            library_.clear(result);
            return fail(code, "history {}: {}", shown_,
                        one_line(library_.error_message(connection_)));
        }
        Rows rows = rows_of(result);
        library_.clear(result);
        return rows;
    }

    Status begin() override { return run("BEGIN"); }
    Status commit() override { return run("COMMIT"); }
    void rollback() override { static_cast<void>(run("ROLLBACK")); }
    const char* key_type() const override {
        return "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY";
    }
    Result<std::size_t> count_tables() override {
        const auto rows =
            TRY(query("SELECT tablename FROM pg_tables WHERE schemaname = 'pathproof'", {}));
        return rows.size();
    }
    bool is_read_only() const override { return false; }

    Status run(const char* statement) {
        TRY(query(statement, {}));
        return {};
    }

  private:
    static std::string text_of(const Parameter& parameter) {
        if (const auto* number = std::get_if<std::int64_t>(&parameter)) {
            return std::to_string(*number);
        }
        if (const auto* number = std::get_if<double>(&parameter)) {
            return fmt::format("{}", *number);
        }
        const auto* text = std::get_if<std::string>(&parameter);
        return text == nullptr ? std::string() : text->substr(0, text->find('\0'));
    }

    Rows rows_of(const PGresult* result) const {
        Rows rows;
        for (int at = 0; at < library_.rows(result); ++at) {
            Row row;
            for (int column = 0; column < library_.columns(result); ++column) {
                const bool is_null = library_.is_null(result, at, column) == 1;
                row.push_back(is_null ? Field()
                                      : Field(std::string(library_.value(result, at, column),
                                                          static_cast<std::size_t>(library_.length(
                                                              result, at, column)))));
            }
            rows.push_back(std::move(row));
        }
        return rows;
    }

    const Libpq& library_;
    std::string shown_;
    PGconn* connection_;
};

}  // namespace

Result<std::unique_ptr<Database>> open_postgres(const Target& target,
                                                std::chrono::milliseconds patience) {
    const Libpq* const loaded = TRY(load_libpq());
    const Libpq& library = *loaded;
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(patience).count();
    // Below 2 seconds libpq waits for 2.
    const std::string timeout = std::to_string(seconds);
    // The URI's own settings come after these and take their place.
    const std::array<const char*, 4> names = {"connect_timeout", "application_name", "dbname",
                                              nullptr};
    const std::array<const char*, 4> values = {timeout.c_str(), "pathproof", target.text.c_str(),
                                               nullptr};
    PGconn* const connection = library.connect(names.data(), values.data(), 1);
    auto database = std::make_unique<Postgres>(library, target.shown, connection);
    if (library.status(connection) != CONNECTION_OK) {
        return fail(ErrorCode::kUnavailable, "history {} cannot be reached: {}", target.shown,
                    one_line(library.error_message(connection)));
    }
    library.set_notice_processor(
        connection, [](void*, const char*) {}, nullptr);
    TRY(database->query(fmt::format("SET lock_timeout = {}", patience.count()), {}));
    TRY(database->query("SET search_path TO pathproof", {}));
    return database;
}

}  // namespace pathproof::history
