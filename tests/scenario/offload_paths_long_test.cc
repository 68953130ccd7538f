// `offload check --quick` of a healthy device in every environment, and with faults planted in a
// NIC between: no healthy device is accused, and no planted fault is lost.
#define BOOST_TEST_MODULE offload_paths
#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>

#include "harness/compare/compare.h"
#include "harness/report/json.h"
#include "tests/scenario/lab_run.h"
#include "tests/scenario/nic_between.h"
#include "tests/scenario/offload_paths.h"

using nlohmann::json;

namespace {

// A fault of the calibration's list, the cell that must show it, and how the judge calls it.
struct Planted {
    const char* fault;
    const char* cell;  // of tx.as-found; empty: itself, for it is the matrix's to say which
    const char* name;
    bool hides = false;  // it writes over addresses, and then no frame may come
};
using Faults = std::vector<Planted>;

// Faults that stand beside each other: each in frames of its own.
const std::vector<Faults>& planted() {
    static const std::vector<Faults> all = {
        {{"tx.plain.l4.PSEUDO@vlan==0,exthdr==0,ipopt==0", ".udp", "PSEUDO"},
         {"tx.plain.l4.VLAN_START@vlan==1", ".vlan", "VLAN_START"},
         {"tx.inner.l4.TUNNEL_START@encap", ".tunnel-inner", "NO_OUTER_LENGTHS", true},
         {"tx.innermost.seg.SEG_SEQ@tso", ".tso", "SEG_HDR"}},
        {{"tx.innermost.l4.EXTHDR_START@exthdr", "", "EXTHDR_START"},
         {"tx.inner.l4.PSEUDO@encap", ".tunnel-inner", "PSEUDO"},
         {"tx.innermost.seg.SEG_PSH@tso", ".tso", "SEG_HDR"}},
    };
    return all;
}

// Profile that makes veth a device on a cable. The packaged one states that a veth device leaves
// work to the next device; here the NIC between does that work, and the two are judged as one.
class OnACable {
  public:
    OnACable() {
        const char* original = std::getenv("NICPROFILES");
        BOOST_REQUIRE(original != nullptr);
        std::filesystem::copy(original, scratch_.path() + "/profiles",
                              std::filesystem::copy_options::recursive);
        const std::string file = scratch_.path() + "/profiles/veth.toml";
        std::ifstream in(file);
        std::string text{std::istreambuf_iterator<char>(in), {}};
        const std::string line = "evidence_class = \"virtual\"";
        text.replace(text.find(line), line.size(), "evidence_class = \"physical\"");
        std::ofstream(file, std::ios::trunc) << text;
        setenv("PATHPROOF_PROFILES", (scratch_.path() + "/profiles").c_str(), 1);
    }
    ~OnACable() { unsetenv("PATHPROOF_PROFILES"); }

  private:
    Scratch scratch_;
};

// Returns nothing where the fault's cell fails by its name; otherwise what that cell reports.
std::string missed(const json& scenario, const Planted& fault) {
    for (const json& cell : scenario["cells"]) {
        if (cell["id"] == std::string("tx.as-found") + fault.cell) {
            const std::string verdict = cell["verdict"];
            const std::string reason = cell["reason"];
            const bool gone = fault.hides && reason.find("MISSING") != std::string::npos;
            const bool named =
                verdict == "FAIL" && (gone || reason.find(fault.name) != std::string::npos);
            return named ? "" : verdict + ": " + reason;
        }
    }
    return "no such cell";
}

// "4 of 4", or why the environment hides them.
std::string faults_found(const PathEnvironment& environment, bool& right) {
    std::size_t found = 0;
    std::size_t all = 0;
    std::string text;
    for (const Faults& faults : planted()) {
        const OnACable profile;
        const Cable cable(Cable::Between::kNamespace);
        const Kept held = environment.set(cable);
        std::vector<std::string> texts;
        for (const Planted& fault : faults) {
            texts.emplace_back(fault.fault);
        }
        NicBetween nic(cable.middle, "m0", "m1", texts);
        const PathRun run = check_over(cable, environment);
        const std::vector<std::uint64_t> hits = nic.stop();
        for (std::size_t i = 0; i < faults.size(); ++i) {
            ++all;
            const std::string instead = missed(run.scenario, faults[i]);
            if (instead.starts_with("ERROR: the tester's own port lost")) {
                return "hidden, and said so: " + instead;
            }
            if (instead.empty()) {
                ++found;
            } else {
                text += fmt::format("; {} ({} hits, exit {}, {})", faults[i].fault, hits[i],
                                    run.status, instead);
            }
        }
        if (run.scenario["verdict"] == "INCONCLUSIVE" && run.status == 3) {
            return "hidden, and said so: " +
                   run.scenario["headline"].get<std::string>().substr(0, 60);
        }
    }
    right = found == all;
    return fmt::format("{} of {}{}", found, all, text);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_healthy_device_is_accused_in_no_environment_and_planted_faults_are_found) {
    fmt::print("{:<36} {:>4} {:<16} {:>6}  {}\n", "environment", "exit", "verdict", "s",
               "planted faults found");
    std::size_t accused = 0;
    const char* only = std::getenv("PATHPROOF_ENVIRONMENT");  // those with this word in their name
    for (const PathEnvironment& environment : path_environments()) {
        if (only != nullptr && std::string(environment.name).find(only) == std::string::npos) {
            continue;
        }
        PathRun run;
        {
            const Cable cable(Cable::Between::kNothing);
            const Kept held = environment.set(cable);
            run = check_over(cable, environment);
        }
        const std::string verdict = run.scenario["verdict"];
        const std::string headline = run.scenario["headline"];
        accused += verdict == "DEFECT FOUND" ? 1 : 0;
        const bool as_asked = environment.status == PathEnvironment::kClearOrLossy
                                  ? run.status == 0 || run.status == 3
                                  : run.status == environment.status;
        BOOST_TEST(as_asked, environment.name << ": exit " << run.status << ": " << headline);
        BOOST_TEST(headline.find(environment.says) != std::string::npos,
                   environment.name << ": " << headline);
        bool right = true;
        const std::string faults = faults_found(environment, right);
        BOOST_TEST(right, environment.name << ": " << faults);
        fmt::print("{:<36} {:>4} {:<16} {:>6.1f}  {}\n", environment.name, run.status, verdict,
                   run.seconds, faults);
        std::fflush(stdout);
    }
    BOOST_TEST(accused == 0u);
    BOOST_TEST(path_environments().size() >= 24u);
}

BOOST_AUTO_TEST_CASE(a_healthy_nic_between_is_not_accused) {
    const OnACable profile;
    const Cable cable(Cable::Between::kNamespace);
    const NicBetween nic(cable.middle, "m0", "m1", {});
    const PathRun run = check_over(cable, path_environment("as made"));
    // A veth never says a word of received checksums, which a NIC on a cable would: that is of the
    // receiving side.
    for (const json& cell : run.scenario["cells"]) {
        if (cell["id"].get<std::string>().starts_with("tx.")) {
            BOOST_TEST(cell["verdict"] == "PASS", cell["id"] << ": " << cell["reason"]);
        }
    }
}

// Twelve runs, so 66 pairs.
BOOST_AUTO_TEST_CASE(of_one_machine_no_run_is_worse_than_another) {
    const Cable cable(Cable::Between::kNothing);
    std::vector<pathproof::verdict::RunResult> runs;
    std::size_t figures = 0;
    while (runs.size() < 12) {
        const PathRun run = check_over(cable, path_environment("as made"));
        const auto read = pathproof::report::from_json(run.report.dump());
        BOOST_REQUIRE_MESSAGE(read, (read ? "" : read.error().message));
        for (const auto& other : runs) {
            const auto compared = pathproof::compare::compare(other, *read);
            BOOST_TEST(pathproof::compare::exit_code(compared) == 0);
            BOOST_TEST(compared.changed.empty());
            BOOST_TEST(compared.same_cells >= 30u);
            figures += compared.figures.size();
        }
        runs.push_back(*read);
    }
    fmt::print("66 pairs of runs, {} figures called changed\n", figures);
}
