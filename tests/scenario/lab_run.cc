#include "tests/scenario/lab_run.h"

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

using namespace pathproof;

namespace {

std::string first_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

}  // namespace

std::string binary() {
    const char* path = std::getenv("PATHPROOF");
    BOOST_REQUIRE_MESSAGE(path != nullptr, "PATHPROOF names the binary under test");
    return path;
}

process::ProgramOutput pathproof_run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {AS_ON_A_FRESH_MACHINE, binary()});
    const auto output = process::run_program(arguments, {.timeout = std::chrono::seconds(180)});
    BOOST_REQUIRE_MESSAGE(output, output.error().message);
    return *output;
}

MachineState MachineState::read() {
    MachineState state;
    std::error_code none;
    for (const auto& file : std::filesystem::directory_iterator("/run/netns", none)) {
        // "pp-RUN-...": RUN is four hexadecimal digits.
        const std::string name = file.path().filename();
        if (name.starts_with("pp-") && name.size() > 8 && name[7] == '-' &&
            name.find_first_not_of("0123456789abcdef", 3) == 7) {
            state.namespaces.insert(name);
        }
    }
    state.list_receive = first_line("/proc/sys/net/core/gro_normal_batch");
    state.hugepages = first_line("/proc/sys/vm/nr_hugepages");
    // An agent whose controller went away has its host as it was, and ends, within 5 s.
    state.run_folder = true;
    for (int look = 0; look < 100 && state.run_folder; ++look) {
        if (look > 0) {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
        state.run_folder = std::filesystem::exists("/run/pathproof");
    }
    return state;
}

std::ostream& operator<<(std::ostream& out, const MachineState& state) {
    out << "namespaces:";
    for (const std::string& name : state.namespaces) {
        out << " " << name;
    }
    return out << "; gro_normal_batch " << state.list_receive << "; hugepages " << state.hugepages
               << "; /run/pathproof " << (state.run_folder ? "there" : "not there");
}

const nlohmann::json& scenario_named(const nlohmann::json& report, const std::string& id) {
    for (const nlohmann::json& scenario : report.at("scenarios")) {
        if (scenario.at("id") == id) {
            return scenario;
        }
    }
    BOOST_REQUIRE_MESSAGE(false, "no scenario " << id);
    return report;
}

const nlohmann::json& cell_named(const nlohmann::json& scenario, const std::string& id) {
    for (const char* list : {"cells", "controls"}) {
        for (const nlohmann::json& cell : scenario.at(list)) {
            if (cell.at("id") == id) {
                return cell;
            }
        }
    }
    BOOST_REQUIRE_MESSAGE(false, "no cell " << id);
    return scenario;
}

double measure(const nlohmann::json& cell, const std::string& name) {
    const nlohmann::json& value = cell.at("measures").at(name).at("value");
    if (value.is_boolean()) {
        return value.get<bool>() ? 1 : 0;
    }
    return value.get<double>();
}

Scratch::Scratch() {
    char path[] = "/tmp/pathproof-test-XXXXXX";
    BOOST_REQUIRE(mkdtemp(path) != nullptr);
    path_ = path;
}

Scratch::~Scratch() {
    std::error_code none;
    std::filesystem::remove_all(path_, none);
}
