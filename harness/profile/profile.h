// A NIC profile: what a kind of device is expected to offer, written down outside of the driver, so
// that an offload that a driver wrongly stops advertising is a finding and not a skipped test.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/profile/acceptance.h"
#include "harness/profile/version_range.h"

namespace pathproof::profile {

// A draft was written from one observation or from sources; a verified profile names the reports
// that bear it out.
enum class Maturity { kDraft, kVerified };

enum class Expectation {
    kRequired,  // the driver offers it: it is on, or may be turned on
    kOptional,  // either way
    kAbsent,    // the driver must not offer it
    kBroken,    // the driver offers it, and it is known to do wrong
};

const char* name(Maturity maturity);
const char* name(Expectation expectation);

struct OffloadExpectation {
    std::string name;  // as `ethtool -k` prints the single feature, or as DPDK names the offload
    Expectation expect = Expectation::kOptional;
    std::optional<bool> on_by_default;  // right after the device was made
    std::string why;
    std::string when;     // on which of the family's devices, firmware, settings; empty: on all
    VersionRange kernel;  // in which the expectation holds
    VersionRange dpdk;    // likewise, of a DPDK offload
    std::string erratum;  // id of the catalogue that says more
    std::string source;   // key in Profile::sources
};

// Returns the expectation of the offload of that name; null: there is none.
const OffloadExpectation* claim_on(const std::vector<OffloadExpectation>& claims,
                                   const std::string& name);
// "required", ...; empty: nothing is expected of it.
std::string expected(const std::vector<OffloadExpectation>& claims, const std::string& name);

// Devices that the profile is about. Each list may be empty, but not all of them.
struct Match {
    std::vector<std::string> kernel_driver;  // "ice": ETHTOOL_GDRVINFO
    std::vector<std::string> pmd;            // "net_ice": DPDK
    std::vector<std::string> pci;            // "8086:1592": vendor and device
    std::string source;                      // of the PCI ids: key in Profile::sources
};

struct LinkSpeeds {
    std::vector<std::uint64_t> mbps;
    std::string why;
    std::string source;
};

// A figure that the driver does not go beyond.
enum class LimitKind {
    kMaxMtu,  // bytes
    kRxQueues,
    kTxQueues,
    kTsoMaxBytes,  // of a super-frame
    kTsoMaxSegments,
};
const char* name(LimitKind kind);  // "max_mtu", "rx_queues", ...

struct Limit {
    LimitKind kind = LimitKind::kMaxMtu;
    std::uint64_t value = 0;
    std::string when;
    std::string why;
    std::string source;
};

// UDP ports that the device takes for a tunnel's. A frame to another port is segmented and
// checksummed in software, or goes out unfinished if the driver does not look.
struct TunnelPorts {
    std::string protocol;                // "vxlan", "geneve"
    std::optional<std::uint64_t> count;  // that can be set at a time
    std::vector<std::uint16_t> fixed;    // always taken for it
    std::string outer;                   // "ipv4": only with this outer family; empty: both
    std::string when;
    std::string why;
    std::string source;
};

// A driver's workaround for a defect of the device, or a defect of the driver, with the versions
// that have it.
struct Quirk {
    std::string what;
    VersionRange kernel;
    VersionRange dpdk;
    std::string erratum;
    std::string source;
};

// Origin of the expectations.
struct Provenance {
    std::string source;
    std::string date;
    std::vector<std::string> reports;  // that bear out a verified profile
};

struct Profile {
    std::string id;
    std::string title;
    std::string file;
    Maturity maturity = Maturity::kDraft;
    std::string evidence_class;  // what a run on such a device may claim: "physical", "virtual",
                                 // "simulated"
    Match match;
    std::vector<OffloadExpectation> offloads;  // of the kernel's device, by name
    Provenance provenance;
    std::vector<OffloadExpectation> dpdk_tx;  // rte_eth_dev_tx_offload_name(), by name
    std::vector<OffloadExpectation> dpdk_rx;  // rte_eth_dev_rx_offload_name(), by name
    std::optional<LinkSpeeds> link;
    std::vector<Limit> limits;       // of the kernel's device
    std::vector<Limit> dpdk_limits;  // of the DPDK port
    std::vector<TunnelPorts> tunnels;
    std::vector<Quirk> quirks;
    std::vector<std::string> errata;  // ids of the catalogue
    std::vector<AcceptanceLimit>
        acceptance;  // what a run's figures are held against without a file of limits
    // Sources by the key that the claims name: file and function, document, probe.
    std::map<std::string, std::string> sources;
};

// Reads one profile from TOML text. `file` is what errors call it: "veth.toml:12:3: unknown key
// 'exepct'; allowed here: ...". Unknown keys, unknown feature names, wrong types and claims without
// a source are refused.
Result<Profile> parse_profile(const std::string& text, const std::string& file);

Result<Profile> load_profile(const std::string& path);

// $PATHPROOF_PROFILES if set, else the nicprofiles folder of the source tree if it exists, else the
// installed one.
std::string profile_directory();

// All profiles of a folder, by id. One that cannot be read is an error.
Result<std::vector<Profile>> load_all(const std::string& directory);
// Loads every readable profile; the errors of the others go to `damaged`.
Result<std::vector<Profile>> load_each(const std::string& directory, std::vector<Error>& damaged);

// The profile of that id; kNotFound names those there are.
Result<Profile> find_profile(const std::string& directory, const std::string& id);

// Identity of a device that wants a profile, as far as it is known.
struct DeviceIdentity {
    std::string kernel_driver;  // empty: no kernel device
    std::string pmd;            // empty: no DPDK port
    std::string pci;            // "8086:1592"; empty: not on PCI, or not known

    const std::string& driver() const { return kernel_driver.empty() ? pmd : kernel_driver; }
};

// The profile whose [match] fits best: one that names the PCI id before one that only names the
// driver. kNotFound says what to write.
Result<Profile> matching_profile(const std::vector<Profile>& profiles,
                                 const DeviceIdentity& device);

// Lists the errors of a set of profiles beyond each profile's form: an id that is not the file's
// name or occurs twice, two profiles that match the same device, a verified profile without
// reports, a source that nothing names. Empty: none.
std::vector<std::string> lint(const std::vector<Profile>& profiles);
// Errata that a profile names and `known` (ids) does not have.
std::vector<std::string> lint_errata(const std::vector<Profile>& profiles,
                                     const std::vector<std::string>& known);

// Returns whether Linux has, or had, an offload feature of this name (net/ethtool/common.c,
// netdev_features_strings).
bool is_feature_name(const std::string& name);
// Return whether DPDK 22.11 has an offload of this name (lib/ethdev/rte_ethdev.c).
bool is_dpdk_tx_offload(const std::string& name);
bool is_dpdk_rx_offload(const std::string& name);

}  // namespace pathproof::profile
