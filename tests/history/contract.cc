#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <random>
#include <set>
#include <thread>

#include "harness/history/schema.h"
#include "samples.h"

namespace pathproof::history::test {
namespace {

void check_rows(Store& store) {
    const auto runs = taken(store.list({}));
    BOOST_REQUIRE(runs.size() == 3u);
    BOOST_TEST(runs[0].id == run_number(3).id);  // newest first
    const RunRow& run = runs[2];
    BOOST_TEST(run.lab == "lab.toml");
    BOOST_TEST(run.device == "eth0: driver ice");
    BOOST_TEST(run.kernel == "6.1.0");
    BOOST_TEST(run.verdict == "NOT QUALIFIED");
    BOOST_TEST((run.exit_code == 1));
    BOOST_TEST(run.passed == 1);
    BOOST_TEST(run.failed == 1);
    BOOST_TEST(run.reason == "s: it fails");
    BOOST_TEST((!runs[1].exit_code));
    const auto cells = taken(store.cells(run));
    BOOST_REQUIRE(cells.size() == 2u);
    BOOST_TEST(cells[1].id == "s/other");
    BOOST_TEST(cells[1].verdict == "FAIL");
    BOOST_TEST(cells[1].cause == "stale-port");
    const auto figures = taken(store.figures(run));
    BOOST_REQUIRE(figures.size() == 1u);  // numbers only
    BOOST_TEST(figures[0].id == "s/good/ms");
    BOOST_TEST(figures[0].value == 1.0 / 3 + 1);  // all its digits
    BOOST_TEST(figures[0].unit == "ms");
    BOOST_TEST(figures[0].interval->high == 1000.0);
    BOOST_TEST((figures[0].trials == std::vector<double>{1.0 / 3, 2.0 / 3}));
}

void check_filters(Store& store) {
    const auto count = [&](const Filter& filter) { return taken(store.list(filter)).size(); };
    BOOST_TEST(count({.device = "*ice*"}) == 3u);
    BOOST_TEST(count({.device = "*i_e*"}) == 0u);  // no pattern of SQL
    BOOST_TEST(count({.lab = "lab.????"}) == 3u);
    BOOST_TEST(count({.verdict = "QUALIFIED"}) == 0u);
    BOOST_TEST(count({.since = "2026-11-02"}) == 0u);
    BOOST_TEST(count({.until = "2026-11-01"}) == 3u);
    BOOST_TEST(count({.last = 2}) == 2u);
    BOOST_TEST(taken(store.count()) == 3);
    BOOST_TEST(taken(store.find("00000002")).id == run_number(2).id);
    refused(store.find("0000000"), ErrorCode::kBadInput, "several");
    refused(store.find("%"), ErrorCode::kNotFound, "history list");
}

}  // namespace

void check_history(const Target& target) {
    {
        Store store = opened(target);
        BOOST_TEST(taken(store.add(run_number(1), 1)));
        BOOST_TEST(taken(store.add(run_number(3), 0)));
        BOOST_TEST(taken(store.add(run_number(2), std::nullopt)));
        BOOST_TEST(!taken(store.add(run_number(2), 0)), "one run twice");
    }
    Store store = opened(target, Access::kRead);
    check_rows(store);
    check_filters(store);
    const auto series = taken(store.figure_series({"s/good/*"}, {}));
    BOOST_REQUIRE(series.size() == 1u);
    BOOST_TEST(series.at("s/good/ms").size() == 3u);
    BOOST_TEST(
        taken(store.cell_series({"s/oth?r"}, {.lab = "lab.*", .last = 3})).at("s/other").size() ==
        3u);
    BOOST_TEST(taken(store.cell_series({}, {})).size() == 2u);
    BOOST_TEST(taken(store.cell_series({}, {.last = 1})).at("s/other").size() == 1u);
    // One environment for all.
    const auto runs = taken(store.list({}));
    BOOST_TEST((runs[0].environment == runs[2].environment));
    const auto facts = taken(store.environment(*runs[0].environment));
    BOOST_REQUIRE(facts.size() == 2u);
    BOOST_TEST(facts[1].facts[0].value == "ice");
}

namespace {

// Adds its runs, and notes each one behind it.
void write_runs(const Target& target, int first, int runs, int noted) {
    for (int n = first; n < first + runs; ++n) {
        if (!remember(target, run_number(n), 0, std::chrono::seconds(60)) ||
            write(noted, &n, sizeof n) != sizeof n) {
            _exit(1);
        }
    }
    _exit(0);
}

}  // namespace

void check_writers(const Target& target, int writers, int runs) {
    int noted[2];
    BOOST_REQUIRE(pipe(noted) == 0);
    std::vector<pid_t> children;
    for (int writer = 0; writer < writers; ++writer) {
        const pid_t child = fork();
        if (child == 0) {
            close(noted[0]);
            write_runs(target, 1 + writer * runs, runs, noted[1]);
        }
        children.push_back(child);
    }
    close(noted[1]);
    // Every fourth is killed while it writes.
    std::mt19937 random(writers);
    std::size_t killed = 0;
    for (std::size_t at = 0; at < children.size(); at += 4) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5 + random() % 30));
        killed += kill(children[at], SIGKILL) == 0 ? 1 : 0;
    }
    std::set<std::string> begun;
    for (int n = 0; read(noted[0], &n, sizeof n) == sizeof n;) {
        begun.insert(run_number(n).id);
    }
    close(noted[0]);
    for (std::size_t at = 0; at < children.size(); ++at) {
        int status = 0;
        waitpid(children[at], &status, 0);
        BOOST_TEST(((WIFEXITED(status) && WEXITSTATUS(status) == 0) || at % 4 == 0),
                   "writer " << at << " ended with " << status);
    }
    BOOST_TEST(killed == static_cast<std::size_t>((writers + 3) / 4));
    // Files of those that were killed between their file and the database.
    std::error_code none;
    for (const auto& file : std::filesystem::directory_iterator(target.pending, none)) {
        if (file.path().extension() == ".json" &&
            !file.path().filename().string().starts_with(".")) {
            begun.insert(file.path().filename().string().substr(0, 36));
        }
    }
    Store store = opened(target);
    BOOST_TEST(add_pending(store, target).problems.empty());
    BOOST_TEST(begun.size() >= static_cast<std::size_t>(writers * runs * 3 / 4));
    std::set<std::string> there;
    for (const RunRow& run : taken(store.list({}))) {
        BOOST_TEST(there.insert(run.id).second, run.id << " is there twice");
        BOOST_TEST(taken(store.cells(run)).size() == 2u, run.id << " is there in part");
        BOOST_TEST(taken(store.figures(run)).size() == 1u, run.id << " is there in part");
    }
    for (const std::string& id : begun) {
        BOOST_TEST(there.contains(id), id << " is lost");
    }
}

}  // namespace pathproof::history::test
