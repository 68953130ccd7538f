#define BOOST_TEST_MODULE history
#include "harness/history/store.h"

#include <sqlite3.h>
#include <sys/resource.h>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <filesystem>

#include "harness/history/schema.h"
#include "samples.h"
#include "tests/lab/temp_folder.h"

using namespace pathproof;
using namespace pathproof::history;
using namespace pathproof::history::test;
using pathproof::lab::TempFolder;

namespace {

std::unique_ptr<Database> database_of(const Target& target) {
    return taken(open_database(target, Access::kCreate, std::chrono::milliseconds(300)));
}

std::size_t files_in(const std::string& folder) {
    std::size_t count = 0;
    std::error_code none;
    for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator(folder, none)) {
        ++count;
    }
    return count;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sqlite)

BOOST_AUTO_TEST_CASE(a_run_comes_back_as_it_went_in) {
    const TempFolder folder;
    check_history(target_of(folder.path() + "/new/history.db"));
}

BOOST_AUTO_TEST_CASE(thirty_two_writers_of_which_eight_are_killed_lose_nothing) {
    const TempFolder folder;
    check_writers(target_of(folder.path() + "/history.db"), 32, 4);
}

BOOST_AUTO_TEST_CASE(no_history_is_made_by_who_reads_one) {
    const TempFolder folder;
    refused(Store::open(target_of(folder.path() + "/history.db"), Access::kRead),
            ErrorCode::kNotFound, "there is no history");
    BOOST_TEST(!std::filesystem::exists(folder.path() + "/history.db"));
}

BOOST_AUTO_TEST_CASE(an_older_schema_is_brought_forward_with_its_runs) {
    const TempFolder folder;
    const Target target = target_of(folder.path() + "/history.db");
    const auto database = database_of(target);
    ends_well(migrate(*database, target, {steps()[0]}));
    taken(database->query(
        "INSERT INTO runs (id, started_at, seconds, version, command, lab, profile, "
        "evidence_class, "
        "device, kernel, verdict, passed, failed, others, reason) VALUES ('old', "
        "'2026-01-01T00:00:00Z', 1, '0.0.9', '', 'veth', '', 'virtual', '', '6.1', 'QUALIFIED', 1, "
        "0, 0, '')"));
    Store store = opened(target);
    BOOST_TEST(taken(store.add(run_number(1), 0)));
    const auto runs = taken(store.list({}));
    BOOST_REQUIRE(runs.size() == 2u);
    BOOST_TEST(runs[1].id == "old");
    BOOST_TEST((!runs[1].environment));
}

BOOST_AUTO_TEST_CASE(a_newer_schema_is_refused_by_name_and_left_alone) {
    const TempFolder folder;
    const Target target = target_of(folder.path() + "/history.db");
    opened(target);
    taken(database_of(target)->query(
        "INSERT INTO history_version (version, written_by) VALUES (99, '7.0.0')"));
    refused(Store::open(target, Access::kCreate), ErrorCode::kBadInput,
            "schema version 99, made by pathproof 7.0.0");
    refused(remember(target, run_number(1), 0), ErrorCode::kBadInput, "the run is kept in");
    BOOST_TEST(files_in(target.pending) == 1u);
}

BOOST_AUTO_TEST_CASE(the_database_of_somebody_else_is_left_alone) {
    const TempFolder folder;
    const Target target = target_of(folder.path() + "/places.db");
    taken(database_of(target)->query("CREATE TABLE bookmarks (url TEXT)"));
    refused(Store::open(target, Access::kCreate), ErrorCode::kBadInput, "no history of pathproof");
    BOOST_TEST(taken(database_of(target)->count_tables()) == 1u);
}

BOOST_AUTO_TEST_CASE(damaged_files_and_other_files_are_refused_and_the_run_is_kept) {
    const TempFolder folder;
    folder.write("history.db", std::string(8192, 'x'));
    const Target target = target_of(folder.path() + "/history.db");
    refused(Store::open(target, Access::kRead), ErrorCode::kBadInput, "or damaged");
    refused(remember(target, run_number(1), 0), ErrorCode::kBadInput, "the run is kept in");
    // Moved away, as the sentence says: the next run begins another, with both.
    std::filesystem::rename(target.text, folder.path() + "/away.db");
    ends_well(remember(target, run_number(2), 0));
    Store store = opened(target);
    BOOST_TEST(taken(store.count()) == 2);
    BOOST_TEST(!std::filesystem::exists(target.pending));
}

BOOST_AUTO_TEST_CASE(a_locked_history_gets_the_run_with_the_next_one) {
    const TempFolder folder;
    const Target target = target_of(folder.path() + "/history.db");
    ends_well(remember(target, run_number(1), 0));
    const auto other = database_of(target);
    ends_well(other->begin());
    taken(other->query("INSERT INTO names (name) VALUES ('half')"));
    refused(remember(target, run_number(2), 1, std::chrono::milliseconds(200)), ErrorCode::kFailed,
            "locked by another program");
    other->rollback();
    ends_well(remember(target, run_number(3), 0));
    Store store = opened(target);
    const auto runs = taken(store.list({}));
    BOOST_REQUIRE(runs.size() == 3u);
    BOOST_TEST((runs[1].exit_code == 1));  // kept with the run
}

// A limit of the size of files stands in for a disk that is full.
BOOST_AUTO_TEST_CASE(a_full_disk_leaves_the_history_as_it_was) {
    const TempFolder folder;
    const Target target = target_of(folder.path() + "/history.db");
    ends_well(remember(target, run_number(1), 0));
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit was{};
    getrlimit(RLIMIT_FSIZE, &was);
    rlimit small = was;
    small.rlim_cur = 1024;
    setrlimit(RLIMIT_FSIZE, &small);
    const Status written = remember(target, run_number(2), 0);
    setrlimit(RLIMIT_FSIZE, &was);
    refused(written, ErrorCode::kFailed, "pathproof history import");
    Store store = opened(target);
    BOOST_TEST(taken(store.count()) == 1);
    BOOST_TEST(taken(store.add(run_number(2), 0)));
}

BOOST_AUTO_TEST_CASE(a_pending_file_that_is_no_report_stays_and_stops_no_other) {
    const TempFolder folder;
    const Target target = target_of(folder.path() + "/history.db");
    taken(keep_pending(target, run_number(1), 0));
    folder.write("history.db.pending/broken.json", "{");
    Store store = opened(target);
    const AddedRuns added = add_pending(store, target);
    BOOST_TEST(added.added == 1u);
    BOOST_REQUIRE(added.problems.size() == 1u);
    BOOST_TEST(added.problems[0].find("broken.json") != std::string::npos);
    BOOST_TEST(files_in(target.pending) == 1u);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(targets)

BOOST_AUTO_TEST_CASE(a_target_is_a_file_or_a_uri_of_postgresql) {
    setenv("XDG_STATE_HOME", "/somewhere", 1);
    BOOST_TEST(target_of("").text == "/somewhere/pathproof/history.db");
    const Target lab = target_of("postgresql://op:secret@db.lab/pathproof?password=other&x=1");
    BOOST_TEST(lab.is_postgres);
    BOOST_TEST(lab.shown == "postgresql://op@db.lab/pathproof?password=...&x=1");
    BOOST_TEST(lab.pending.starts_with("/somewhere/pathproof/history-"));
    BOOST_TEST(lab.pending.find("secret") == std::string::npos);
    refused(parse_target("mysql://x/y"), ErrorCode::kBadInput, "mysql");
    refused(parse_target("/tmp"), ErrorCode::kBadInput, "folder");
}

BOOST_AUTO_TEST_SUITE_END()
