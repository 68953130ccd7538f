// The table of prices on the running kernel, measured as a user measures it.
#define BOOST_TEST_MODULE prices_lab
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>

#include "harness/prices/kept.h"
#include "tests/scenario/lab_run.h"

using nlohmann::json;
using namespace std::chrono_literals;

namespace {

json row_of(const json& rows, const std::string& id) {
    for (const json& row : rows) {
        if (row["id"] == id) {
            return row;
        }
    }
    BOOST_TEST(false, "the table has no " << id);
    return {{"effect", ""}, {"verdict", ""}};
}

struct Priced {
    json report;
    pathproof::process::ProgramOutput run;
};

// Kept tables of the machine's user are left alone.
Priced priced(const Scratch& scratch, std::vector<std::string> arguments,
              std::chrono::milliseconds patience) {
    setenv("XDG_STATE_HOME", (scratch.path() + "/state").c_str(), 1);
    arguments.insert(arguments.begin(), {binary(), "qualify", "--out", scratch.path() + "/report"});
    auto run = pathproof::process::run_program(arguments, {.timeout = patience});
    BOOST_REQUIRE_MESSAGE(run, run.error().message);
    BOOST_TEST_MESSAGE(run->out << run->err);
    std::ifstream file(scratch.path() + "/report/report.json");
    if (!file) {
        file.open(scratch.path() + "/report/incomplete/report.json");
    }
    return {json::parse(file), std::move(*run)};
}

void effect(const json& prices, const std::string& cell, const std::string& wanted) {
    const json row = row_of(prices["cells"], cell);
    BOOST_TEST(row["effect"] == wanted, row.dump());
}

void cost(const json& prices, const std::string& id, const std::string& wanted) {
    const json row = row_of(prices["costs"], id);
    BOOST_TEST(row["verdict"] == wanted, row.dump());
}

// The interval of a cost may reach zero where other programs take the CPU.
void costs_cpu_time(const json& prices, const std::string& id) {
    const json row = row_of(prices["costs"], id);
    BOOST_TEST((row["verdict"] == "costs" || row["verdict"] == "within noise"), row.dump());
    BOOST_TEST(row["more"]["value"].get<double>() > 0, row.dump());
}

// A lookup with single-request takes one round trip more: the load's server answers after 20 ms.
void one_round_trip_more(const json& prices) {
    cost(prices, "single-request/lookups/latency", "costs");
    const json more = row_of(prices["costs"], "single-request/lookups/latency")["more"];
    BOOST_TEST(more["value"].get<double>() > 15);
    BOOST_TEST(more["value"].get<double>() < 30);
}

}  // namespace

BOOST_AUTO_TEST_CASE(four_cures_show_what_they_break_and_cost) {
    const MachineState before = MachineState::read();
    const Scratch scratch;
    const Priced made =
        priced(scratch,
               {"--only", "bridge-unnat", "--prices", "--no-hugepages", "--cells",
                "control.direct,prices/bridge-nf/bridged-datagrams,"
                "prices/drop-invalid/asymmetric-route,prices/be-liberal/asymmetric-route,"
                "prices/use-vc/dns-tcp-limit.resolver,prices/single-request/dns-tcp-limit.resolver,"
                "prices/single-request/lookups"},
               120s);
    BOOST_TEST(made.run.exit_status == 3);  // of one control nothing is concluded
    const json& prices = made.report["prices"];
    costs_cpu_time(prices, "bridge-nf/bridged-datagrams/cpu");
    effect(prices, "drop-invalid/asymmetric-route", "breaks");
    effect(prices, "be-liberal/asymmetric-route", "does not touch");
    effect(prices, "use-vc/dns-tcp-limit.resolver", "breaks");
    effect(prices, "single-request/dns-tcp-limit.resolver", "does not touch");
    one_round_trip_more(prices);
    BOOST_TEST(made.run.out.find("prices of cures\n") != std::string::npos);
    // A part of the table is not kept.
    BOOST_TEST(!std::filesystem::exists(pathproof::prices::kept_file()));
    BOOST_TEST(MachineState::read() == before);
}

BOOST_AUTO_TEST_CASE(all_of_the_table_shows_the_known_side_effects_and_is_kept) {
    const MachineState before = MachineState::read();
    const Scratch scratch;
    const Priced made = priced(
        scratch, {"--only", "bridge-unnat", "--cells", "*", "--prices", "--no-hugepages"}, 1500s);
    BOOST_TEST(made.run.exit_status == 0);
    const json& prices = made.report["prices"];
    BOOST_TEST(prices["seconds"].get<double>() < 1200);
    effect(prices, "random-fully/snat-race", "cures");
    effect(prices, "random-fully/snat-timestamps", "breaks");
    effect(prices, "drop-invalid/asymmetric-route", "breaks");
    effect(prices, "use-vc/dns-tcp-limit.resolver", "breaks");
    effect(prices, "no-aaaa/ipv6-only-name", "breaks");
    effect(prices, "trailing-dot/short-name", "breaks");
    effect(prices, "tx-checksum-off/vxlan-checksum", "cures");
    effect(prices, "tx-checksum-off/sender.zero-copy", "does not touch");
    effect(prices, "tx-checksum-off/sender.af-xdp", "does not touch");
    effect(prices, "single-request/dns-race.of-hosts", "cures");
    effect(prices, "bridge-nf/bridge-unnat", "cures");
    effect(prices, "timestamps-2/snat-timestamps.few-ports", "cures");
    effect(prices, "drop-invalid/long-lived-connection", "does not touch");
    effect(prices, "bridge-nf/snat-race", "does not apply");
    cost(prices, "tx-checksum-off/tunnel-transfer/throughput", "costs");
    costs_cpu_time(prices, "bridge-nf/bridged-datagrams/cpu");
    one_round_trip_more(prices);
    BOOST_TEST(made.run.out.find("Side effects of `sysctl -w "
                                 "net.bridge.bridge-nf-call-iptables=1`") != std::string::npos);
    BOOST_TEST(MachineState::read() == before);
    // A later run says it with its date.
    const auto later = pathproof_run({"repro", "bridge-unnat", "--no-hugepages"});
    const std::string said = std::regex_replace(later.out, std::regex("\\s+"), " ");  // unwrapped
    BOOST_TEST(
        said.find("measured by `qualify --prices` on this kernel on 20") != std::string::npos,
        said);
}
