// A laboratory signs these beside the cells: the items that were tested, who had it done, and what
// the hosts did meanwhile.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace pathproof::verdict {

// One value of the environment and how it was come by.
struct Fact {
    enum class Status { kRead, kAbsent, kDenied };
    std::string name;
    std::string value;  // empty unless kRead
    Status status = Status::kAbsent;
    std::string source;  // "/proc/sys/kernel/osrelease", "ETHTOOL_GDRVINFO eth0"
};

struct FactGroup {
    std::string title;  // "Kernel", "NIC under test: eth0 in node A"
    std::vector<Fact> facts;
};

// A figure that is read as a run begins and as it ends; nothing: it was not there to be read then.
struct Reading {
    std::string name;  // "module temperature", "FEC uncorrectable blocks"
    std::string unit;  // "°C", "dBm", "" for counts
    std::optional<double> begin;
    std::optional<double> end;
    std::string source;
};

// Gives each reading of `begin` the value that its namesake in `now` was read with, as that of the end.
void end_readings(std::vector<Reading>& begin, const std::vector<Reading>& now);

// A part of a device's firmware, by devlink's names (Documentation/networking/devlink/devlink-info.rst
// of the kernel): "fw.mgmt", "fw.undi". Running and stored differ where a restart is pending.
struct FirmwareComponent {
    std::string name;
    std::string running;
    std::string stored;
};

// A device under test.
struct Item {
    std::string device;  // "ens1f0"
    std::string title;   // of its group in the environment: "DUT device ens1f0 (NAT box)"
    std::vector<Fact>
        identity;  // maker, model, part number, revision, PCI ids, subsystem, bus, PCIe link
    std::vector<FirmwareComponent> firmware;
    std::vector<Fact> driver;  // name, version, module's file, SHA-256, signer, in or out of tree
    std::vector<Fact>
        module;  // the plugged module: kind, maker, part number, revision, cable length
    std::vector<Reading> readings;  // of module, FEC, PCIe errors, temperature
};

// Something that a kernel logged during a run and that bears on it.
struct KernelMessage {
    enum class Kind {
        kWarning,
        kOops,
        kLockup,
        kTxTimeout,
        kLinkDown,
        kLinkUp,
        kPcieError,
        kMemory
    };
    double seconds = 0;  // since the run began
    Kind kind = Kind::kWarning;
    std::string text;                // its first line
    std::vector<std::string> trace;  // the lines after it that belong to it
    std::string subject;   // the driver, device or part of the kernel that it names; empty: none
    bool against = false;  // it speaks against what is tested
};
const char* name(KernelMessage::Kind kind);  // "warning", "tx-timeout", "link-down"

// One host during the run.
struct HostWatch {
    std::string host;                           // "this machine", "the DUT"
    Fact::Status log = Fact::Status::kAbsent;   // whether its kernel's log was read
    std::uint64_t lines = 0;                    // logged during the run
    std::uint64_t lost = 0;                     // of them: overwritten before they were read
    std::vector<KernelMessage> messages;        // those that bear on a network
    std::optional<std::uint64_t> taint_before;  // /proc/sys/kernel/tainted
    std::optional<std::uint64_t> taint_after;
    std::vector<Reading> temperatures;  // hwmon
};

// Letters of taint flags as the kernel prints them ("G", "OE"), in the order of their bits; empty: none.
// Documentation/admin-guide/tainted-kernels.rst of the kernel.
std::string taint_letters(std::uint64_t taint);

// Parties to a test: who had which item tested, by which plan, and where; an empty field was not
// given.
struct Parties {
    std::string laboratory, place, customer, operator_name;
    std::string plan_id, plan_revision;  // of the test plan
    std::string received;                // the day on which the item came: "2026-11-23"
    std::string condition;               // of the item: "new", "reworked"
    bool operator==(const Parties&) const = default;
};

// A field of Parties: an option of the command line ("plan-id": --plan-id), and a key of [report]
// in a lab file ("plan_id").
struct PartyField {
    const char* option;
    const char* key;
    std::string Parties::*value;
    const char* help;
};
std::span<const PartyField> party_fields();

// The words that are there, and `otherwise` where there are none.
Parties merged(Parties said, const Parties& otherwise);

// Returns whether a text is a day, as 2026-11-23.
bool is_day(const std::string& text);

// The report that this one takes the place of.
struct Amendment {
    std::string id;      // its UUID
    std::string sha256;  // of its report.json
    std::string reason;
    bool operator==(const Amendment&) const = default;
};

// A failure that somebody accepts.
struct Waiver {
    std::string reason, link, approver, until;  // empty: not said
    bool operator==(const Waiver&) const = default;
};

}  // namespace pathproof::verdict
