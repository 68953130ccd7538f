#include "tests/scenario/traps.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>

#include "dataplane/base/pattern.h"

using namespace std::chrono_literals;
using nlohmann::json;
using pathproof::Pattern;

std::string Planter::name_of(const std::string& role) const {
    std::error_code none;
    for (const auto& file : std::filesystem::directory_iterator("/run/netns", none)) {
        const std::string name = file.path().filename();
        if (name.starts_with("pp-") && name.size() > 8 && name.substr(8) == role) {
            return name;
        }
    }
    return "";
}

void Planter::wait_for_namespace(const std::string& role, const std::string& device) {
    for (int waited = 0; waited < 3000 && going_on(); ++waited) {
        const std::string name = name_of(role);
        if (!name.empty() &&
            (device.empty() ||
             std::system(("ip -n " + name + " link show " + device + " >/dev/null 2>&1").c_str()) ==
                 0)) {
            return;
        }
        std::this_thread::sleep_for(10ms);
    }
    troubles.push_back("no namespace " + role + " with " + device);
}

bool Planter::try_in(const std::string& role, const std::string& command) {
    const auto made = pathproof::process::run_program(
        {"ip", "netns", "exec", name_of(role), "sh", "-c", command});
    trouble_ = !made ? made.error().message : made->err;
    return made && made->exit_status == 0;
}

void Planter::in(const std::string& role, const std::string& command) {
    if (!try_in(role, command)) {
        troubles.push_back(role + ": " + command + ": " + trouble_);
    }
}

std::string Planter::bpf_object(const std::string& text) {
    const std::string source = folder_ + "/trap.c";
    const std::string object = folder_ + "/trap.o";
    std::ofstream(source) << text;
    const auto made = pathproof::process::run_checked({"clang", "-target", "bpf", "-O2", "-g",
                                                       "-I/usr/include/x86_64-linux-gnu", "-c",
                                                       source, "-o", object});
    if (!made) {
        troubles.push_back(made.error().message);
    }
    return object;
}

std::string rubbish_server(int port) {
    const std::string where = "(\"\", " + std::to_string(port) + ")";
    return R"(timeout 60 python3 -c 'import socket, threading
def answer(q): return q[:2] + b"\x81\x80" + b"\xff" * 30
def udp():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind()" +
           where + R"()
    while True:
        q, a = s.recvfrom(4096)
        s.sendto(answer(q), a)
def serve(c):
    while q := c.recv(4096):
        c.sendall(b"\0\x22" + answer(q[2:]))
threading.Thread(target=udp, daemon=True).start()
t = socket.create_server()" +
           where + R"()
while True: threading.Thread(target=serve, args=(t.accept()[0],), daemon=True).start()
' >/dev/null 2>&1 &)";
}

Sprung spring(const Trap& trap) {
    const Scratch scratch;
    const auto began = std::chrono::steady_clock::now();
    std::vector<std::string> arguments = trap.arguments;
    arguments.insert(arguments.end(), {"--out", scratch.path() + "/report"});
    Background run(arguments, scratch.path() + "/log");
    Planter planter(run, scratch.path());
    std::thread beside([&] {
        if (trap.plant) {
            trap.plant(planter);
        }
    });
    siginfo_t over{};
    waitid(P_PID, static_cast<id_t>(run.pid()), &over, WEXITED | WNOWAIT);
    planter.ended = true;
    beside.join();
    Sprung sprung{
        .exit_status = run.end(), .report = {}, .log = run.log(), .troubles = planter.troubles};
    std::ifstream file(scratch.path() + "/report/report.json");
    sprung.report = json::parse(file, nullptr, false);
    sprung.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    return sprung;
}

namespace {

double value_of(const json& cell, const std::string& name) {
    if (!cell.at("measures").contains(name) || cell["measures"][name]["value"].is_null()) {
        return 0;
    }
    return measure(cell, name);
}

const Pattern& pattern_of(const std::string& phrase) {
    static std::map<std::string, Pattern> known;
    return known.try_emplace(phrase, phrase).first->second;
}

void check_text(const std::string& text, const std::string& where, const json& scenario,
                const json* cell, const std::vector<Claim>& claims,
                std::vector<std::string>& found) {
    for (const Claim& claim : claims) {
        for (const Pattern::Match& groups : pattern_of(claim.phrase).search_all(text)) {
            if (!claim.holds({scenario, cell, groups})) {
                found.push_back(where + " says '" + groups[0] +
                                "', and no value bears it out: " + text);
            }
        }
    }
}

}  // namespace

double Said::total(const std::string& measure_name) const {
    if (cell != nullptr) {
        return value_of(*cell, measure_name);
    }
    double sum = 0;
    for (const json& each : scenario["cells"]) {
        sum += value_of(each, measure_name);
    }
    return sum;
}

std::vector<Claim> common_claims() {
    return {
        {"([0-9]+) of ([0-9]+)\\b",
         [](const Said& said) { return said.number(1) <= said.number(2); }},
        {"every probe works|all four probes work",
         [](const Said& said) {
             const auto works = [](const json& cell) {
                 for (const auto& [name, made] : cell["measures"].items()) {
                     if (name.starts_with("probe_") && made["value"] == false) {
                         return false;
                     }
                 }
                 return true;
             };
             if (said.cell != nullptr) {
                 return works(*said.cell);
             }
             for (const json& cell : said.scenario["cells"]) {
                 if (cell["verdict"] == "PASS" && cell["role"] == "cure" && !works(cell)) {
                     return false;
                 }
             }
             return true;
         }},
    };
}

std::vector<std::string> contradictions(const json& scenario, std::vector<Claim> claims) {
    for (Claim& claim : common_claims()) {
        claims.push_back(std::move(claim));
    }
    std::vector<std::string> found;
    for (const char* part : {"headline", "cause", "cure"}) {
        check_text(scenario[part], part, scenario, nullptr, claims, found);
    }
    for (const json& paragraph : scenario["explanation"]) {
        check_text(paragraph, "explanation", scenario, nullptr, claims, found);
    }
    for (const json& proof : scenario["proofs"]) {
        check_text(proof["conclusion"], "proof", scenario, nullptr, claims, found);
    }
    bool cure_passed = false;
    for (const char* list : {"cells", "controls"}) {
        for (const json& cell : scenario[list]) {
            check_text(cell["reason"], cell["id"], scenario, &cell, claims, found);
            cure_passed |= cell["role"] == "cure" && cell["verdict"] == "PASS";
            if (cell["verdict"] == "PASS" && value_of(cell, "unexplained") != 0) {
                found.push_back(cell["id"].get<std::string>() +
                                " passes with something unexplained");
            }
        }
    }
    if (scenario["cure_shown"] == true && !cure_passed) {
        found.push_back("the cure is said to be shown, and no cure's cell passes");
    }
    return found;
}
