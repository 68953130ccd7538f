#include "harness/report/certificate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "dataplane/base/plural.h"
#include "harness/report/text.h"

namespace pathproof::report {
namespace {

using namespace verdict;

// Returns the fact's value; empty: it was not read.
std::string value_in(const std::vector<Fact>& facts, std::string_view name) {
    for (const Fact& fact : facts) {
        if (fact.name == name && fact.status == Fact::Status::kRead) {
            return fact.value;
        }
    }
    return "";
}

// Parts of a line, of which those that say nothing are left out.
class Parts {
  public:
    void add(std::string part) {
        if (!part.empty()) {
            parts_.push_back(std::move(part));
        }
    }
    void add(const char* before, const std::string& value) {
        add(value.empty() ? value : before + value);
    }
    std::string joined(const char* between) const {
        return fmt::format("{}", fmt::join(parts_, between));
    }

  private:
    std::vector<std::string> parts_;
};

std::string driver_text(const Item& item) {
    constexpr std::size_t kEnoughDigits = 12;
    const std::string name = value_in(item.driver, "name");
    if (name.empty()) {
        return "";
    }
    Parts binary;
    binary.add(value_in(item.driver, "tree"));
    if (const std::string hash = value_in(item.driver, "SHA-256"); !hash.empty()) {
        binary.add("SHA-256 " + hash.substr(0, kEnoughDigits) + "...");
    }
    binary.add("signed by ", value_in(item.driver, "signer"));
    const std::string version = value_in(item.driver, "version");
    const std::string more = binary.joined(", ");
    return fmt::format("driver {}{}{}{}", name, version.empty() ? "" : " ", version,
                       more.empty() ? "" : " (" + more + ")");
}

std::string firmware_text(const Item& item) {
    Parts all;
    for (const FirmwareComponent& part : item.firmware) {
        const bool pending = !part.stored.empty() && part.stored != part.running;
        all.add(fmt::format("{} {}{}", part.name, part.running.empty() ? "not told" : part.running,
                            pending ? " (" + part.stored + " after a restart)" : ""));
    }
    return all.joined(", ");
}

std::string module_line(const Item& item) {
    Parts all;
    all.add(value_in(item.module, "kind"));
    all.add(value_in(item.module, "maker"));
    all.add(value_in(item.module, "part number"));
    all.add(value_in(item.module, "cable length"));
    return all.joined(" ");
}

// "FEC uncorrectable blocks 0 to 3".
std::string readings_text(const std::vector<Reading>& readings) {
    Parts all;
    const auto value = [](const std::optional<double>& read) {
        return read ? format_number(*read) : std::string("not read");
    };
    for (const Reading& reading : readings) {
        const bool same = reading.begin == reading.end;
        all.add(fmt::format("{} {}{}{}", reading.name, value(reading.begin),
                            same ? "" : " to " + value(reading.end),
                            reading.unit.empty() ? "" : " " + reading.unit));
    }
    return all.joined(", ");
}

std::string taint_text(const HostWatch& host) {
    const auto letters = [](std::uint64_t taint) {
        const std::string text = taint_letters(taint);
        return text.empty() ? std::string("none") : text;
    };
    if (!host.taint_before || !host.taint_after) {
        return "taint not read";
    }
    return *host.taint_before == *host.taint_after
               ? "taint unchanged (" + letters(*host.taint_before) + ")"
               : fmt::format("taint {} before, {} after", letters(*host.taint_before),
                             letters(*host.taint_after));
}

std::string log_text(const HostWatch& host) {
    if (host.log != Fact::Status::kRead) {
        return host.log == Fact::Status::kDenied ? "kernel log not read: no permission"
                                                 : "kernel log not read: there is none here";
    }
    std::map<std::string, std::size_t> counts;
    for (const KernelMessage& message : host.messages) {
        ++counts[fmt::format("{}{}", name(message.kind),
                             message.subject.empty() ? "" : " of " + message.subject)];
    }
    Parts all;
    all.add("kernel log: " + plural(host.lines, "line"));
    if (host.lost != 0) {
        all.add(fmt::format("{} more overwritten before they were read", host.lost));
    }
    for (const auto& [what, count] : counts) {
        all.add(fmt::format("{} {}", count, what));
    }
    return all.joined(", ");
}

std::string plan_text(const Parties& parties) {
    Parts all;
    all.add(parties.plan_id);
    all.add("revision ", parties.plan_revision);
    return all.joined(", ");
}

std::string when_text(const RunResult& run) {
    return run.ended_at.empty() ? run.started_at : run.started_at + " to " + run.ended_at;
}

// "net_af_packet0: net_af_packet, virtual evidence", each port once.
std::string tester_text(const RunResult& run) {
    std::vector<std::string> ports;
    for (const FactGroup& group : run.environment) {
        if (!group.title.starts_with("Tester port")) {
            continue;
        }
        for (const Fact& fact : group.facts) {
            std::string port =
                fmt::format("{} ({})", fact.name, fact.value.substr(0, fact.value.find(',')));
            if (std::ranges::find(ports, port) == ports.end()) {
                ports.push_back(std::move(port));
            }
        }
    }
    return fmt::format("{}", fmt::join(ports, ", "));
}

// The instrument's own proof in this run: what it was shown to find; empty: it was not calibrated.
std::string calibration_text(const RunResult& run) {
    for (const ScenarioResult& scenario : run.scenarios) {
        if (const std::optional<Calibration>& calibration = scenario.calibration) {
            return fmt::format("in this run: {} planted defects detected, {} in {}",
                               score_text(calibration->faults, &CalibrationRow::detected),
                               plural(calibration->false_alarms, "false alarm"),
                               plural(calibration->healthy_frames, "healthy frame"));
        }
    }
    return "";
}

using Rows = std::vector<std::pair<std::string, std::string>>;

// Devices that do not differ share a row.
void add_items(const RunResult& run, Rows& rows) {
    const std::size_t first = rows.size();
    for (const Item& item : run.items) {
        const std::string text = item_text(item);
        const auto same =
            std::find_if(rows.begin() + static_cast<std::ptrdiff_t>(first), rows.end(),
                         [&](const auto& row) { return row.second == text; });
        if (same == rows.end()) {
            rows.emplace_back(item.title, text);
        } else {
            same->first += ", " + item.device;
        }
    }
}

}  // namespace

std::string item_text(const Item& item) {
    Parts all;
    Parts name;
    name.add(value_in(item.identity, "maker"));
    name.add(value_in(item.identity, "model"));
    all.add(name.joined(" "));
    for (const char* fact : {"part number", "revision", "serial number"}) {
        all.add((std::string(fact) + " ").c_str(), value_in(item.identity, fact));
    }
    all.add("PCI ", value_in(item.identity, "PCI ids"));
    all.add("subsystem ", value_in(item.identity, "subsystem"));
    all.add("at ", value_in(item.identity, "bus"));
    all.add("PCIe ", value_in(item.identity, "PCIe link"));
    all.add("firmware ", firmware_text(item));
    all.add(driver_text(item));
    all.add("module ", module_line(item));
    all.add(readings_text(item.readings));
    return all.joined(", ");
}

std::string host_text(const HostWatch& host) {
    Parts all;
    all.add(log_text(host));
    all.add(taint_text(host));
    all.add(readings_text(host.temperatures));
    return all.joined("; ");
}

std::vector<std::pair<std::string, std::string>> certificate_rows(const RunResult& run) {
    Rows rows = {{"Report", run.id}};
    if (run.amends) {
        rows.emplace_back("Takes the place of", run.amends->id + ": " + run.amends->reason);
    }
    rows.insert(rows.end(), {{"Laboratory", run.parties.laboratory},
                             {"Place", run.parties.place},
                             {"Customer", run.parties.customer},
                             {"Operator", run.parties.operator_name},
                             {"Test plan", plan_text(run.parties)},
                             {"Item received", run.parties.received},
                             {"Condition", run.parties.condition},
                             {"Performed", when_text(run)},
                             {"Issued", run.issued_at}});
    add_items(run, rows);
    for (const FactGroup& group : run.environment) {
        if (run.items.empty() && group.title.starts_with("DUT device ")) {  // an older report
            Parts known;
            for (const char* fact :
                 {"driver", "driver version", "firmware", "bus", "PCI ids", "PCIe link"}) {
                known.add((std::string(fact) + " ").c_str(), value_in(group.facts, fact));
            }
            rows.emplace_back(group.title, known.joined(", "));
        }
    }
    rows.emplace_back("Kernel", fact_of(run, "Kernel", "release"));
    rows.emplace_back("CPU", fact_of(run, "CPU", "model"));
    rows.emplace_back("Lab", run.lab + ": " + run.evidence_class + " evidence");
    rows.emplace_back("Profile", run.profile);
    const std::string dpdk = fact_of(run, "Software", "DPDK");
    rows.emplace_back("Tested with",
                      "pathproof " + run.version + (dpdk.empty() ? "" : ", " + dpdk));
    rows.emplace_back("Tester ports", tester_text(run));
    rows.emplace_back("Judge calibrated", calibration_text(run));
    for (const HostWatch& host : run.meanwhile) {
        rows.emplace_back("Meanwhile, " + host.host, host_text(host));
    }
    rows.emplace_back("Seed", std::to_string(run.seed));
    std::erase_if(rows, [](const auto& row) { return row.second.empty(); });
    return rows;
}

}  // namespace pathproof::report
