// A scenario is an experiment: what is set, what is sent, what must be seen. It asks the lab for a
// role, runs its matrix with the negative controls beside it, joins what was lost to its cause, and
// returns plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/port/port_request.h"
#include "harness/lab/journal.h"
#include "harness/lab/lab.h"
#include "harness/profile/profile.h"
#include "harness/scenario/measured.h"
#include "harness/tester/client.h"
#include "harness/truth/matrix_size.h"
#include "harness/verdict/options.h"
#include "harness/verdict/result.h"

namespace pathproof::scenario {

namespace model {
class Program;
}

// A device whose offloads are judged, and the tester's port at the far end of its cable.
struct TruthDevice {
    std::string netns;      // empty: ours
    std::string host = "";  // another machine, by the name that its user gave it; empty: this one
    std::string name;
    std::string tester_netns;
    port::PortRequest tester_port;
    std::optional<int> tester_lcore = std::nullopt;  // its CPU; nothing: the last of Options::cpus
    std::uint32_t longest_packet = 9000;             // bytes, that the tester's port takes whole
    lab::Finish finish = lab::Finish::kAsItsDriverIs;
    std::string label = {};  // of evidence, where one run judges several; empty: it is the only one
    // Another device beside it, whose frames take the same path to the tester's port; empty: there is none.
    std::string proven_by = {};
};

// An option of a scenario: the command line and the report learn of it from the scenario's row.
// Scenarios that share one have the same row but for `with`.
struct OptionRow {
    const char* name;  // "pairs": --pairs
    const char* help;
    // Set for a number, where 0 is as if it had not been given. Nothing: a flag, or a text.
    std::optional<std::uint64_t> most;
    // The option runs cells of its own instead of the scenario's: without --cells, and only one
    // such option at a time.
    bool own_cells = false;
    // Another option without which it says nothing of that scenario.
    const char* with = nullptr;
    // Set for a text: gives kBadInput with what may be typed. Null: it takes none.
    Status (*check_text)(const std::string& text) = nullptr;
    const char* type = nullptr;  // of a text, in the help: "max|RATE|PERCENT"
};

inline constexpr OptionRow kResolvers{"resolvers",
                                      "Go's resolver and systemd-resolved too, where they are "
                                      "(packages golang-go, systemd-resolved); of dns-race with "
                                      "--map",
                                      {}};

// A load for the races, as max, pairs a second, or a share of the links' rate.
inline constexpr const char* kLoadOption = "load";

// kQuick: offload-truth's own judge is proven in the same run.
enum class Calibrate { kNo, kQuick };

struct Options {
    std::uint64_t seed = 1;
    std::vector<std::string> cells = {};  // patterns (fnmatch) of the cells to run; empty: all
    // Values of all scenarios' options, as the run has them; null: none were given.
    const verdict::ScenarioOptions* given = nullptr;
    // The least of offload-truth's matrix; --full takes the whole one.
    truth::MatrixSize least_matrix = truth::MatrixSize::kQuick;
    bool hugepages = false;  // the tester may use them
    std::vector<int> cpus;   // where lcores may run; the DUT shares them in the built-in lab
    std::string out_dir;     // evidence/ below it takes the files of failed cells
    std::string report_folder =
        {};  // that the report goes to, and where what outlasts a run is kept; empty: none
    std::optional<TruthDevice> device = std::nullopt;  // offload-truth: in place of the lab's own
    Calibrate calibrate = Calibrate::kNo;
    // A cure on top of what the cells set, to see what it does to them; what has no such path ignores it.
    lab::Settings cure = {};

    bool has(const char* option) const { return given != nullptr && given->contains(option); }
    // Returns the option's number, or `otherwise` if it was not given.
    std::uint64_t number(const char* option, std::uint64_t otherwise) const {
        return has(option) ? given->at(option).number.value_or(otherwise) : otherwise;
    }
    // Returns the option's text; empty if it was not given.
    std::string text(const char* option) const {
        return has(option) ? given->at(option).text : std::string();
    }
    truth::MatrixSize matrix() const {
        return has("full") ? truth::MatrixSize::kFull : least_matrix;
    }
};

// Returns whether `part` is one of an id's parts, which dots separate.
bool has_part(const std::string& id, const char* part);

// Returns whether the cell is to be run; a cell that is not is not reported as missing either.
// Cells of a resolver that runs on demand ("go" or "resolved" in the id) need --resolvers.
bool asked_for(const Options& options, const std::string& cell);
std::size_t count_asked(const Options& options, const std::vector<std::string>& cells);

// Receives the progress of a run, for a bar on a terminal or plain lines.
class Progress {
  public:
    virtual ~Progress() = default;
    virtual void begin(const std::string& scenario, std::size_t steps) = 0;
    virtual void step(const std::string& what) = 0;
    // Takes this many steps out of those that begin() announced.
    virtual void leave_out(std::size_t steps) = 0;
};

struct Scenario;
class HostWires;

struct Context {
    lab::Lab& lab;
    lab::Journal& journal;
    Progress& progress;
    const Options& options;
    const std::optional<profile::Profile>& profile;  // what the DUT's NIC is expected to offload
    Measured& measured;  // to be told each cell once it is measured, and facts of devices
    // Verdicts of the scenarios that this run had before, by id.
    std::map<std::string, verdict::ScenarioVerdict> earlier = {};
    const Scenario* scenario = nullptr;  // that runs: run_scenario() says it
    // Cables that the tester carries for the bench that is open; null: there are none (host_wires.h).
    HostWires* wires = nullptr;
};

// Ends the carrying of a bench's cables. What the tester did not carry, or came with a wrong checksum, makes the result
// INCONCLUSIVE.
void close_wires(Context& context, verdict::ScenarioResult& result);

// A figure that a cell of a scenario may have.
struct FigureRow {
    std::string name;
    std::string unit;  // empty: a count, or words
};

struct Scenario {
    const char* id;
    const char* title;
    const char* question;
    lab::Role needs;  // of its lab
    // An error means that the experiment could not be made at all; a failed cell is a value. What the row
    // says and the time it took are for run_scenario() to tell; a question of its own goes before the row's.
    Result<verdict::ScenarioResult> (*run)(Context& context);
    // Ids of all cells that `Options::cells` can choose from; null: it runs whole.
    std::vector<std::string> (*cells)() = nullptr;
    // kAsked: longer than a first verdict may take; `qualify` runs it where it is named.
    // kOnItsLab: where the lab has what it needs, and else nothing is said of it.
    enum class When { kAlways, kAsked, kOnItsLab } when = When::kAlways;
    std::vector<OptionRow> options = {};
    // Conclusions of a scenario that has them as data (model/README.md). Ends the program if the
    // data is wrong. Null: they are not data.
    const model::Program& (*conclusions)() = nullptr;
    verdict::Area area = verdict::Area::kKernelPath;  // all_scenarios() says it
    // Names and units of its figures, where they are known before it runs; null: those of its conclusions, if
    // these are data.
    std::vector<FigureRow> (*figures)() = nullptr;
};

// A scenario's figures; none where they are known only once it ran.
std::vector<FigureRow> figures_of(const Scenario& scenario);

// All scenarios in the order in which `qualify` runs them.
const std::vector<Scenario>& all_scenarios();
// Their ids: "vxlan-checksum, dns-race, ...".
std::string known_scenarios();
// Returns null for an unknown id.
const Scenario* find_scenario(const std::string& id);
Result<verdict::ScenarioResult> run_scenario(const Scenario& scenario, Context& context);
// Returns the result of a scenario that its lab cannot run: NOT RUN, all its cells SKIP, with the
// reason.
verdict::ScenarioResult not_run(const Scenario& scenario, const std::string& why);
// Selects this scenario's patterns among patterns of cells ("cure.*", "dns-race/cure.*"), without
// its name.
std::vector<std::string> patterns_for(const std::string& scenario,
                                      const std::vector<std::string>& patterns);
// kBadInput unless each option is of one of these scenarios, within its range, and goes with the others
// and with the patterns of cells.
Status check_options(const std::vector<const Scenario*>& scenarios,
                     const verdict::ScenarioOptions& given,
                     const std::vector<std::string>& patterns);
// kBadInput unless each pattern matches a cell of the scenario: the sentence names those there are.
Status check_cells(const Scenario& scenario, const std::vector<std::string>& patterns);

}  // namespace pathproof::scenario
