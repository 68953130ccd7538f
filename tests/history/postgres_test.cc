// A history in a real PostgreSQL server, which runs as an unprivileged user in a folder of the test.
#include <pwd.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>

#include "harness/history/schema.h"
#include "harness/process/program.h"
#include "samples.h"
#include "tests/lab/temp_folder.h"

using namespace pathproof;
using namespace pathproof::history;
using namespace pathproof::history::test;
using pathproof::lab::TempFolder;

namespace {

namespace fs = std::filesystem;

std::string programs_folder() {
    std::error_code none;
    for (const auto& version : fs::directory_iterator("/usr/lib/postgresql", none)) {
        if (fs::exists(version.path() / "bin" / "initdb")) {
            return (version.path() / "bin").string();
        }
    }
    return "";
}

// PostgreSQL refuses to run as root: its package has a user for it.
class Server {
  public:
    explicit Server(const TempFolder& folder)
        : data_(folder.path() + "/data"), sockets_(folder.path()) {
        if (const passwd* user = getpwnam("postgres"); geteuid() == 0 && user != nullptr) {
            BOOST_REQUIRE(chown(folder.path().c_str(), user->pw_uid, user->pw_gid) == 0);
            as_user_ = {"setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"};
        }
        run({"initdb", "-D", data_, "-U", "lab", "-A", "trust", "--no-sync", "-E", "UTF8"});
        start();
    }
    ~Server() {
        static_cast<void>(
            process::run_program(words({"pg_ctl", "-D", data_, "-m", "immediate", "stop"})));
    }

    void start() const {
        run({"pg_ctl", "-D", data_, "-w", "-l", data_ + "/log", "-o",
             "-k " + sockets_ + " -c listen_addresses= -c fsync=off", "start"});
    }
    void stop() const { run({"pg_ctl", "-D", data_, "-m", "fast", "stop"}); }
    std::string uri(const std::string& name) const {
        return "postgresql:///" + name + "?user=lab&host=" + sockets_;
    }

  private:
    std::vector<std::string> words(std::vector<std::string> program) const {
        program[0] = programs_folder() + "/" + program[0];
        program.insert(program.begin(), as_user_.begin(), as_user_.end());
        return program;
    }
    void run(const std::vector<std::string>& program) const {
        const auto ran = process::run_program(words(program));
        BOOST_REQUIRE_MESSAGE(ran, (ran ? "" : ran.error().message));
        BOOST_REQUIRE_MESSAGE(ran->exit_status == 0, ran->out << ran->err);
    }

    std::string data_;
    std::string sockets_;
    std::vector<std::string> as_user_;
};

// One server for all cases, a database of its own for each.
struct WithServer {
    static Server& server() {
        static const TempFolder folder;
        static Server only(folder);
        return only;
    }
    TempFolder state;
    Target target;
    WithServer() {
        static int number = 0;
        setenv("XDG_STATE_HOME", state.path().c_str(), 1);
        const std::string name = fmt::format("case_{}", ++number);
        const auto first = taken(open_database(target_of(server().uri("postgres")), Access::kCreate,
                                               std::chrono::seconds(5)));
        taken(first->query("CREATE DATABASE " + name));
        target = target_of(server().uri(name));
    }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(postgresql, WithServer)

BOOST_AUTO_TEST_CASE(a_run_comes_back_as_it_went_in) {
    check_history(target);
}

BOOST_AUTO_TEST_CASE(thirty_two_writers_of_which_eight_are_killed_lose_nothing) {
    check_writers(target, 32, 2);
}

BOOST_AUTO_TEST_CASE(a_server_that_is_away_gets_its_runs_later) {
    ends_well(remember(target, run_number(1), 0));
    server().stop();
    refused(remember(target, run_number(2), 0), ErrorCode::kUnavailable, "cannot be reached");
    server().start();
    ends_well(remember(target, run_number(3), 0));
    Store store = opened(target);
    BOOST_TEST(taken(store.count()) == 3);
}

BOOST_AUTO_TEST_CASE(schemas_are_brought_forward_and_newer_ones_refused) {
    const auto database = taken(open_database(target, Access::kCreate, std::chrono::seconds(1)));
    ends_well(migrate(*database, target, {steps()[0]}));
    Store store = opened(target);
    BOOST_TEST(taken(store.add(run_number(1), 0)));
    taken(
        database->query("INSERT INTO history_version (version, written_by) VALUES (99, '7.0.0')"));
    refused(Store::open(target, Access::kCreate), ErrorCode::kBadInput,
            "schema version 99, made by pathproof 7.0.0");
}

BOOST_AUTO_TEST_CASE(a_locked_table_is_waited_for_and_then_named) {
    ends_well(remember(target, run_number(1), 0));
    const auto other = taken(open_database(target, Access::kCreate, std::chrono::seconds(1)));
    ends_well(other->begin());
    taken(other->query("LOCK TABLE runs IN ACCESS EXCLUSIVE MODE"));
    refused(remember(target, run_number(2), 0, std::chrono::milliseconds(300)), ErrorCode::kFailed,
            "lock timeout");
    other->rollback();
    ends_well(remember(target, run_number(3), 0));
    Store store = opened(target);
    BOOST_TEST(taken(store.count()) == 3);
}

BOOST_AUTO_TEST_SUITE_END()
