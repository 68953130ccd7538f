#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/bench/inspect_bench.h"
#include "harness/bench/measured_program.h"
#include "harness/bench/table_fill.h"
#include "harness/lab/namespaces.h"
#include "harness/process/child.h"
#include "harness/process/json_text.h"
#include "harness/process/program.h"

namespace pathproof::bench {
namespace {

constexpr std::chrono::seconds kLongestDump{300};

// Tables filled for the experiment, one a namespace.
struct Tables {
    struct Table {
        std::string netns;
        std::uint64_t entries = 0;
    };
    std::vector<Table> list;
    std::uint64_t entries = 0;
    std::uint64_t limit = 0;  // of one table
};

Tables plan_tables(const std::string& run_id, std::uint64_t entries, std::uint64_t limit) {
    Tables tables{.list = {}, .entries = entries, .limit = limit};
    const std::uint64_t count = limit == 0 ? 1 : (entries + limit - 1) / limit;
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t share = entries / count + (i < entries % count ? 1 : 0);
        tables.list.push_back({fmt::format("pp-{}-table{}", run_id, i), share});
    }
    return tables;
}

Status fill(lab::Namespaces& namespaces, const Tables& tables) {
    std::vector<std::string> names;
    for (const Tables::Table& table : tables.list) {
        names.push_back(table.netns);
    }
    TRY(namespaces.add(names));
    for (const Tables::Table& table : tables.list) {
        TRY(fill_table(table.netns, table.entries));
    }
    return {};
}

enum class Product { kLines, kCount };  // a line for each entry, or a JSON object with "messages"

Result<std::uint64_t> entries_in(const OutputFile& out, Product product) {
    if (product == Product::kCount) {
        const auto said = process::json_or_null(out.text());
        if (!said.is_object() || !said.contains("messages")) {
            return fail(ErrorCode::kFailed, "it did not say how much it read: '{}'", out.text(200));
        }
        return said["messages"].get<std::uint64_t>();
    }
    std::uint64_t lines = 0;
    TRY(out.each_line([&](std::string_view) { ++lines; }));
    return lines;
}

// Dumps all tables, one after the other, and checks that nothing was left out: a reader that skips
// entries has no speed.
Result<Measurement> dump_all_tables(const Tables& tables, const std::vector<std::string>& argv,
                                    Product product) {
    Cost cost;
    std::uint64_t entries = 0;
    for (const Tables::Table& table : tables.list) {
        const auto run =
            TRY(measure({.argv = argv, .netns = table.netns, .cpus = {}}, kLongestDump));
        const auto read = TRY(entries_in(run.out, product));
        if (read != table.entries) {
            return fail(ErrorCode::kFailed, "it read {} entries of the {} in the table", read,
                        table.entries);
        }
        entries += read;
        cost = sum(cost, run.cost);
    }
    return Measurement{
        .figures = {{"wall_s", cost.wall_s},
                    {"user_s", cost.user_s},
                    {"system_s", cost.system_s},
                    {"rss_mib", static_cast<double>(cost.peak_rss_bytes) / kMebibyte},
                    {"entries", static_cast<double>(entries)}},
        .waiting_share = cost.waiting_share()};
}

std::vector<Lane> lanes_for(const InspectBench& bench, const Tables& tables) {
    const auto lane = [&](std::string id, std::string title, std::string note,
                          std::vector<std::string> argv, Product product) {
        return Lane{.id = std::move(id),
                    .title = std::move(title),
                    .note = std::move(note),
                    .absent = {},
                    .run = [&tables, argv = std::move(argv), product] {
                        return dump_all_tables(tables, argv, product);
                    }};
    };
    const std::vector<std::string> ours{bench.binary, "inspect", "dump"};
    const auto worker = [&](const std::string& what) {
        return std::vector<std::string>{process::own_binary(), "worker", what};
    };
    std::vector<Lane> lanes{
        lane("dump", "pathproof inspect dump", "text into a file in memory", ours, Product::kLines),
        lane("conntrack-list", "conntrack -L", "text into a file in memory", {"conntrack", "-L"},
             Product::kLines),
        lane("dump-again", "pathproof inspect dump (A/A)", "the first lane once more: the control",
             ours, Product::kLines),
        lane("null", "our reader, null consumer",
             "every entry given to a visitor that does nothing", worker("null"), Product::kCount),
        lane("drain", "bare recv loop", "message headers only", worker("drain"), Product::kCount),
    };
    if (bench.conntrack_version.empty()) {
        lanes[1].absent = "not measured: conntrack is not installed (apt-get install conntrack)";
    }
    return lanes;
}

std::vector<Finding> findings_of(const std::vector<LaneResult>& lanes) {
    const Column memory{.figure = "rss_mib", .label = {}, .unit = "MiB", .decimals = 1};
    return {
        compare(lanes, {"wall_ratio", "conntrack -L / ours, wall time", "conntrack-list", "dump",
                        "wall_s", "at least 1.5"}),
        compare(lanes, {"user_ratio", "ours / conntrack -L, user time", "dump", "conntrack-list",
                        "user_s", "at most 0.33"}),
        compare(lanes, {"null_ratio", "our reader / bare recv loop, wall time", "null", "drain",
                        "wall_s", "at most 1.10"}),
        quote(lanes, {"rss", "our memory", "dump", memory, "under 64"}),
        compare(lanes, {"control", "ours / ours (A/A), wall time", "dump", "dump-again", "wall_s",
                        "0.98 to 1.02: else the machine was not quiet enough for the rest"}),
    };
}

}  // namespace

std::string conntrack_version() {
    const auto ran = process::run_program({"conntrack", "--version"});
    if (!ran || ran->exit_status != 0) {
        return {};
    }
    return ran->out.substr(0, ran->out.find('\n'));
}

Result<Experiment> bench_dump(const InspectBench& bench, std::uint64_t entries) {
    const auto limit = TRY(table_limit());
    const Tables tables = plan_tables(bench.journal.run_id(), entries, limit);
    lab::Namespaces namespaces(bench.journal);
    TRY(doing(fill(namespaces, tables), "fill {} table(s) with {} entries", tables.list.size(),
              entries));
    auto lanes = TRY(run_rounds(lanes_for(bench, tables), bench.plan));
    Experiment experiment{.id = "dump",
                          .title = fmt::format("{} entries, whole tables", entries),
                          .conditions = {{"entries", fmt::format("{}", entries)}},
                          .columns = {{"wall_s", "wall", "s", 3},
                                      {"user_s", "user", "s", 3},
                                      {"system_s", "system", "s", 3},
                                      {"rss_mib", "memory", "MiB", 1}},
                          .lanes = std::move(lanes),
                          .findings = {}};
    if (tables.list.size() > 1) {
        experiment.conditions.emplace_back(
            "tables",
            fmt::format("{}, dumped one after the other: net.netfilter.nf_conntrack_max is {} here",
                        tables.list.size(), tables.limit));
    }
    experiment.findings = findings_of(experiment.lanes);
    return experiment;
}

}  // namespace pathproof::bench
