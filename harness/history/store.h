// Runs in a history.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/history/database.h"
#include "harness/verdict/result.h"

namespace pathproof::history {

// One run, as a list has it.
struct RunRow {
    std::int64_t key = 0;
    std::string id;
    std::string started_at;
    double seconds = 0;
    std::string version;  // of pathproof
    std::string command;  // repeats it
    std::string lab, profile, evidence_class;
    std::string
        device;  // "eth0: driver ice, firmware 4.90, bus 0000:3b:00.0"; those under test, in one text
    std::string kernel;
    std::string verdict;
    std::optional<std::int64_t>
        exit_code;  // nothing: of an imported report, which does not hold it
    std::int64_t passed = 0, failed = 0, others = 0;  // cells
    std::string reason;                               // why that verdict: the first sentence
    std::optional<std::int64_t> environment;          // key of its environment
};

struct CellRow {
    std::string id;  // "dns-race/same-tuple.two-cpus"
    std::string verdict, cause;
};

struct FigureRow {
    std::string id;  // "dns-race/same-tuple.two-cpus/raced_share"
    double value = 0;
    std::optional<verdict::Interval> interval;
    std::string unit;
    std::vector<double> trials;
};

// Conditions on runs: patterns with * and ?, dates as "2026-11-28"; empty: all.
struct Filter {
    std::string device, lab, verdict, since, until;
    std::size_t last = 0;  // the newest runs only; 0: all
};

// The device of a run: what was under test, by name, driver, firmware and bus.
std::string device_of(const verdict::RunResult& run);

class Store {
  public:
    // Opens a history and brings its schema to today's; kCreate makes one where there is none. Runs that this machine could not write
    // before are added, and those that still cannot be are said by the error of add_pending(). Errors: as of open_database() and migrate().
    static Result<Store> open(const Target& target, Access access,
                              std::chrono::milliseconds patience = std::chrono::seconds(10));

    // Adds a run, whole or not at all. False: it is there already. `exit_code`: nothing for a report that was written earlier.
    Result<bool> add(const verdict::RunResult& run, std::optional<int> exit_code);

    // Newest first.
    Result<std::vector<RunRow>> list(const Filter& filter);
    Result<std::int64_t> count();
    // Finds a run by the beginning of its id. kNotFound; kBadInput: several ids begin so.
    Result<RunRow> find(const std::string& id);
    Result<std::vector<CellRow>> cells(const RunRow& run);
    Result<std::vector<FigureRow>> figures(const RunRow& run);
    // Values of each cell or figure that matches one of the patterns (none: all), in the runs of `filter`, with the keys of those;
    // figures have value and unit alone.
    template <typename Value>
    using Series = std::map<std::string, std::vector<std::pair<std::int64_t, Value>>>;
    Result<Series<CellRow>> cell_series(const std::vector<std::string>& patterns,
                                        const Filter& filter);
    Result<Series<FigureRow>> figure_series(const std::vector<std::string>& patterns,
                                            const Filter& filter);
    // Facts of an environment, without those that differ between any two runs.
    Result<std::vector<verdict::FactGroup>> environment(std::int64_t key);

    bool is_read_only() const { return database_->is_read_only(); }

  private:
    explicit Store(std::unique_ptr<Database> database) : database_(std::move(database)) {}
    Result<bool> insert(const verdict::RunResult& run, std::optional<int> exit_code);
    Result<std::map<std::string, std::int64_t>> keys_of(const std::vector<std::string>& names);
    Status insert_rows(const std::string& into, std::size_t columns,
                       const std::vector<Parameter>& values);
    Result<std::int64_t> environment_key(const verdict::RunResult& run);

    std::unique_ptr<Database> database_;
};

}  // namespace pathproof::history
