#include "harness/history/schema.h"

#include <boost/algorithm/string/replace.hpp>

#include "dataplane/base/version.h"

namespace pathproof::history {
namespace {

struct Version {
    std::size_t number = 0;
    std::string written_by;
};

Result<Version> version_of(Database& database, const Target& target) {
    if (TRY(database.count_tables()) == 0) {
        return Version{};
    }
    const auto rows = database.query(
        "SELECT version, written_by FROM history_version ORDER BY version DESC LIMIT 1");
    if (!rows && rows.error().code != ErrorCode::kFailed) {
        return pass_on(rows.error());
    }
    if (!rows || rows->empty()) {
        return fail(ErrorCode::kBadInput,
                    "{} is a database, but no history of pathproof: name another with --history",
                    target.shown);
    }
    return Version{std::stoul(*(*rows)[0][0]), (*rows)[0][1].value_or("")};
}

Status refuse_newer(const Version& is, std::size_t known, const Target& target) {
    return is.number <= known
               ? Status()
               : fail(ErrorCode::kBadInput,
                      "history {} has schema version {}, made by pathproof {}; this one ({}) knows "
                      "versions up to {}: use that one or a newer one",
                      target.shown, is.number, is.written_by, version(), known);
}

Status make_step(Database& database, const Step& step, std::size_t number) {
    for (const std::string& statement : step) {
        TRY(database.query(boost::replace_all_copy(statement, "{KEY}", database.key_type())));
    }
    TRY(database.query("INSERT INTO history_version (version, written_by) VALUES ($1, $2)",
                       {static_cast<std::int64_t>(number), std::string(version())}));
    return {};
}

Status make_steps(Database& database, const Target& target, const std::vector<Step>& to) {
    if (target.is_postgres) {
        // The lock lets one process at a time make the schema.
        TRY(database.query("SELECT pg_advisory_xact_lock(7284190)"));
        TRY(database.query("CREATE SCHEMA IF NOT EXISTS pathproof"));
    }
    const Version is = TRY(version_of(database, target));  // another program may have been first
    TRY(refuse_newer(is, to.size(), target));
    for (std::size_t number = is.number + 1; number <= to.size(); ++number) {
        TRY(make_step(database, to[number - 1], number));
    }
    return database.commit();
}

}  // namespace

const std::vector<Step>& steps() {
    static const std::vector<Step> all = {
        {
            "CREATE TABLE history_version (version BIGINT PRIMARY KEY, written_by TEXT NOT NULL)",
            "CREATE TABLE runs (run_key {KEY}, id TEXT NOT NULL UNIQUE, started_at TEXT NOT NULL, "
            "seconds DOUBLE PRECISION NOT NULL, version TEXT NOT NULL, command TEXT NOT NULL, "
            "lab TEXT NOT NULL, profile TEXT NOT NULL, evidence_class TEXT NOT NULL, "
            "device TEXT NOT NULL, kernel TEXT NOT NULL, verdict TEXT NOT NULL, exit_code BIGINT, "
            "passed BIGINT NOT NULL, failed BIGINT NOT NULL, others BIGINT NOT NULL, "
            "reason TEXT NOT NULL)",
            "CREATE INDEX runs_by_time ON runs (started_at)",
            "CREATE TABLE names (name_key {KEY}, name TEXT NOT NULL UNIQUE)",
            "CREATE TABLE cells (name_key BIGINT NOT NULL, run_key BIGINT NOT NULL, "
            "verdict TEXT NOT NULL, cause TEXT NOT NULL, PRIMARY KEY (name_key, run_key))",
            "CREATE INDEX cells_by_run ON cells (run_key)",
            "CREATE TABLE figures (name_key BIGINT NOT NULL, run_key BIGINT NOT NULL, "
            "value DOUBLE PRECISION NOT NULL, low DOUBLE PRECISION, high DOUBLE PRECISION, "
            "unit TEXT NOT NULL, trials TEXT NOT NULL, PRIMARY KEY (name_key, run_key))",
            "CREATE INDEX figures_by_run ON figures (run_key)",
        },
        // Environments, once each: the differences at the first bad run are read from them.
        {
            "CREATE TABLE environments (environment_key {KEY}, digest TEXT NOT NULL UNIQUE, "
            "document TEXT NOT NULL)",
            "ALTER TABLE runs ADD COLUMN environment_key BIGINT",
        },
    };
    return all;
}

Status migrate(Database& database, const Target& target, const std::vector<Step>& to) {
    const Version is = TRY(version_of(database, target));
    TRY(refuse_newer(is, to.size(), target));
    if (is.number == to.size()) {
        return {};
    }
    if (database.is_read_only()) {
        return fail(ErrorCode::kNotPermitted,
                    "history {} has schema version {} and cannot be written, to bring it to {}",
                    target.shown, is.number, to.size());
    }
    TRY(database.begin());
    const Status made = make_steps(database, target, to);
    if (!made) {
        database.rollback();
    }
    return made;
}

}  // namespace pathproof::history
