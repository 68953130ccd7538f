#include "harness/report/ocp.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>

#include "dataplane/base/clock.h"
#include "harness/process/json_text.h"
#include "harness/report/outcome.h"
#include "harness/report/text.h"

namespace pathproof::report {

// One artifact: its key at the top, and what stands below it.
struct OcpStream::Line {
    const char* artifact;
    nlohmann::ordered_json content;
};

namespace {

using namespace verdict;
using nlohmann::ordered_json;

constexpr const char* kRun = "testRunArtifact";
constexpr const char* kStep = "testStepArtifact";
constexpr const char* kDut = "dut";

// RFC 3339, to the millisecond.
std::string rfc3339_now() {
    constexpr std::int64_t kPerSecond = 1'000'000'000;
    constexpr std::int64_t kPerMillisecond = 1'000'000;
    const std::int64_t now = realtime_ns();
    const std::time_t seconds = now / kPerSecond;
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    std::array<char, 32> text{};
    std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
    return fmt::format("{}.{:03}Z", text.data(), now % kPerSecond / kPerMillisecond);
}

std::string value_of(const std::vector<Fact>& facts, std::string_view name) {
    for (const Fact& fact : facts) {
        if (fact.name == name && fact.status == Fact::Status::kRead) {
            return fact.value;
        }
    }
    return "";
}

const char* status_of(ScenarioVerdict verdict) {
    if (verdict == ScenarioVerdict::kNotRun) {
        return "SKIP";
    }
    return verdict == ScenarioVerdict::kInconclusive ? "ERROR" : "COMPLETE";
}

const char* result_of(Outcome outcome) {
    if (outcome == Outcome::kError) {
        return "NOT_APPLICABLE";
    }
    return outcome == Outcome::kPassed ? "PASS" : "FAIL";
}

// A field of the schema that is left out where nothing is known.
void put(ordered_json& into, const char* key, const std::string& value) {
    if (!value.empty()) {
        into[key] = value;
    }
}

ordered_json hardware_of(const Item& item, std::size_t number) {
    const std::string model = value_of(item.identity, "model");
    ordered_json info = {{"hardwareInfoId", fmt::format("nic-{}", number)},
                         {"name", model.empty() ? item.device : model}};
    put(info, "manufacturer", value_of(item.identity, "maker"));
    put(info, "partNumber", value_of(item.identity, "part number"));
    put(info, "revision", value_of(item.identity, "revision"));
    put(info, "serialNumber", value_of(item.identity, "serial number"));
    put(info, "location", value_of(item.identity, "bus"));
    put(info, "partType", "NIC");
    return info;
}

void add_software(ordered_json& all, const std::string& name, const std::string& version,
                  const char* type) {
    ordered_json info = {{"softwareInfoId", fmt::format("software-{}", all.size())},
                         {"name", name},
                         {"softwareType", type}};
    put(info, "version", version);
    all.push_back(std::move(info));
}

ordered_json dut_info(const RunResult& head) {
    ordered_json hardware = ordered_json::array();
    ordered_json software = ordered_json::array();
    for (const Item& item : head.items) {
        hardware.push_back(hardware_of(item, hardware.size()));
        add_software(software, "driver " + value_of(item.driver, "name"),
                     value_of(item.driver, "version"), "SYSTEM");
        for (const FirmwareComponent& component : item.firmware) {
            add_software(software, fmt::format("{} of {}", component.name, item.device),
                         component.running, "FIRMWARE");
        }
    }
    add_software(software, "pathproof", head.version, "APPLICATION");
    return {{"dutInfoId", kDut},
            {"name", "device under test"},
            {"softwareInfos", std::move(software)},
            {"hardwareInfos", std::move(hardware)}};
}

bool is_settled(const Case& one) {
    return one.outcome == Outcome::kPassed || one.cell->verdict == CellVerdict::kSkip;
}

ordered_json diagnosis(const std::string& verdict, const char* type, const std::string& message) {
    ordered_json content = {{"verdict", verdict}, {"type", type}};
    put(content, "message", message);
    return {{"diagnosis", std::move(content)}};
}

ordered_json error(const std::string& symptom, const std::string& message) {
    return {{"error", {{"symptom", symptom}, {"message", message}}}};
}

ordered_json log_line(const char* severity, const std::string& message) {
    return {{"log", {{"severity", severity}, {"message", message}}}};
}

// The one reading of a cell as an artifact of a step.
ordered_json artifact_of(const ScenarioResult& scenario, const Case& one) {
    const std::string id = finding_id(scenario.id, *one.cell);
    switch (one.outcome) {
        case Outcome::kPassed: return diagnosis(id, "PASS", message_of(one));
        case Outcome::kFailure: return diagnosis(id, "FAIL", message_of(one));
        case Outcome::kSkipped: return diagnosis(id, "UNKNOWN", message_of(one));
        case Outcome::kError: return error(id, message_of(one));
    }
    return error(id, message_of(one));
}

std::optional<ordered_json> measurement_of(const Cell& cell, const Measure& measure) {
    ordered_json value = std::visit(
        []<typename Held>(const Held& held) -> ordered_json {
            if constexpr (std::same_as<Held, std::monostate>) {
                return nullptr;
            } else {
                return held;
            }
        },
        measure.value.kinds());
    if (value.is_null() || (value.is_number_float() && !std::isfinite(value.get<double>()))) {
        return std::nullopt;  // not measured: a measurement has a value
    }
    ordered_json content = {{"name", cell.id + "/" + measure.name}, {"value", std::move(value)}};
    put(content, "unit", measure.unit);
    if (measure.interval) {
        content["metadata"] = {
            {"interval95", {{"low", measure.interval->low}, {"high", measure.interval->high}}}};
    }
    return ordered_json{{"measurement", std::move(content)}};
}

ordered_json file_of(const EvidenceFile& file) {
    return {{"file",
             {{"displayName", file.path},
              {"uri", "file:" + file.path},
              {"description", file.description},
              {"isSnapshot", true}}}};
}

}  // namespace

void OcpStream::write(const Line& line) {
    if (ended_) {
        return;
    }
    ordered_json all = {{line.artifact, line.content},
                        {"sequenceNumber", sequence_++},
                        {"timestamp", rfc3339_now()}};
    const Status written = sink_(process::to_text(all) + "\n");
    status_ = status_ ? written : status_;
}

void OcpStream::begin(const RunResult& head) {
    const std::lock_guard lock(mutex_);
    begun_ = true;
    write({"schemaVersion", {{"major", 2}, {"minor", 0}}});
    ordered_json parameters = {{"lab", head.lab},
                               {"seed", head.seed},
                               {"evidence_class", head.evidence_class},
                               {"profile", head.profile}};
    put(parameters, "report_id", head.id);
    put(parameters, "plan_id", head.parties.plan_id);
    put(parameters, "plan_revision", head.parties.plan_revision);
    const std::string name = "pathproof " + head.options.command;
    write({kRun,
           {{"testRunStart",
             {{"name", name},
              {"version", head.version},
              {"commandLine", head.command},
              {"parameters", std::move(parameters)},
              {"dutInfo", dut_info(head)}}}}});
}

void OcpStream::open_step(const std::string& name) {
    step_ = std::to_string(steps_++);
    write({kStep, {{"testStepId", step_}, {"testStepStart", {{"name", name}}}}});
}

void OcpStream::close_step(const char* status) {
    if (!step_.empty()) {
        write({kStep, {{"testStepId", step_}, {"testStepEnd", {{"status", status}}}}});
        step_.clear();
    }
}

void OcpStream::begin_scenario(const std::string& id) {
    const std::lock_guard lock(mutex_);
    open_step(id);
}

void OcpStream::write_measures(const ScenarioResult& scenario) {
    const auto in_step = [&](ordered_json artifact) {
        ordered_json content = {{"testStepId", step_}};
        content.update(artifact);
        write({kStep, std::move(content)});
    };
    for (const Cell& cell : all_cells(scenario)) {
        for (const Measure& measure : cell.measures) {
            if (auto artifact = measurement_of(cell, measure)) {
                in_step(std::move(*artifact));
            }
        }
        for (const EvidenceFile& file : cell.evidence) {
            in_step(file_of(file));
        }
    }
    for (const EvidenceFile& file : scenario.evidence) {
        in_step(file_of(file));
    }
}

void OcpStream::write_settled(const ScenarioResult& scenario) {
    for (const Case& one : cases_of(scenario, 0)) {
        ordered_json content = {{"testStepId", step_}};
        if (is_settled(one)) {
            content.update(artifact_of(scenario, one));
        } else {
            content.update(log_line(fails(one.cell->verdict) ? "ERROR" : "WARNING",
                                    fmt::format("{}: {}: {}", one.cell->id, name(one.cell->verdict),
                                                one.cell->reason)));
        }
        write({kStep, std::move(content)});
    }
}

void OcpStream::write_open(const ScenarioResult& scenario, int exit_code) {
    for (const Case& one : cases_of(scenario, exit_code)) {
        if (!is_settled(one)) {
            ordered_json content = {{"testStepId", step_}};
            content.update(artifact_of(scenario, one));
            write({kStep, std::move(content)});
        }
    }
}

void OcpStream::finish_scenario(const ScenarioResult& scenario) {
    scenarios_.insert(scenario.id);
    write_measures(scenario);
    write_settled(scenario);
    write({kStep,
           {{"testStepId", step_},
            {"log",
             {{"severity", "INFO"},
              {"message", fmt::format("{}: {}", name(scenario.verdict), scenario.headline)}}}}});
    close_step(status_of(scenario.verdict));
}

void OcpStream::end_scenario(const ScenarioResult& scenario) {
    const std::lock_guard lock(mutex_);
    if (step_.empty()) {
        open_step(scenario.id);
    }
    finish_scenario(scenario);
}

void OcpStream::interrupt(const std::string& sentence) {
    const std::lock_guard lock(mutex_);
    if (!begun_) {
        ended_ = true;
        return;
    }
    close_step("ERROR");
    write({kRun, error("interrupted", sentence)});
    write({kRun, {{"testRunEnd", {{"status", "ERROR"}, {"result", "NOT_APPLICABLE"}}}}});
    ended_ = true;
}

void OcpStream::end(const RunResult& run, int exit_code) {
    const std::lock_guard lock(mutex_);
    for (const ScenarioResult& scenario : run.scenarios) {
        if (!scenarios_.contains(scenario.id)) {
            open_step(scenario.id);
            finish_scenario(scenario);
        }
    }
    open_step("verdict");
    for (const ScenarioResult& scenario : run.scenarios) {
        write_open(scenario, exit_code);
    }
    const Outcome outcome = outcome_of_run(exit_code);
    const std::string reason = run.reasons.empty() ? "" : run.reasons.front();
    ordered_json content = {{"testStepId", step_}};
    const bool judged = outcome != Outcome::kError;
    content.update(judged ? diagnosis(name(run.verdict), result_of(outcome), reason)
                          : error(name(run.verdict), reason));
    write({kStep, std::move(content)});
    close_step("COMPLETE");
    write({kRun,
           {{"testRunEnd",
             {{"status", judged ? "COMPLETE" : "ERROR"}, {"result", result_of(outcome)}}}}});
    ended_ = true;
}

Status OcpStream::status() const {
    const std::lock_guard lock(mutex_);
    return status_;
}

}  // namespace pathproof::report
