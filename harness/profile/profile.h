// A NIC profile: what a kind of device is expected to offer, written down outside of the driver, so
// that an offload that a driver wrongly stops advertising is a finding and not a skipped test.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dataplane/base/result.h"

namespace pathproof::profile {

// A draft was written from one observation; a verified profile names the reports that bear it out.
enum class Maturity { kDraft, kVerified };

enum class Expectation {
    kRequired,  // the driver offers it: it is on, or may be turned on
    kOptional,  // either way
    kAbsent,    // the driver must not offer it
};

const char* name(Maturity maturity);
const char* name(Expectation expectation);

struct OffloadExpectation {
    std::string name;  // as `ethtool -k` prints the single feature
    Expectation expect = Expectation::kOptional;
    std::optional<bool> on_by_default;  // right after the device was made
    std::string why;
};

// Which devices it speaks of. Each list may be empty, not all of them.
struct Match {
    std::vector<std::string> kernel_driver;  // "ice": ETHTOOL_GDRVINFO
    std::vector<std::string> pmd;            // "net_ice": DPDK
    std::vector<std::string> pci;            // "8086:1592": vendor and device
};

// Where the expectations come from.
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
    std::vector<OffloadExpectation> offloads;  // in the order of their names
    Provenance provenance;
};

// Reads one profile from TOML text. `file` is what errors call it: "veth.toml:12:3: unknown key
// 'exepct'; allowed here: ...". Unknown keys, unknown feature names and wrong types are refused.
Result<Profile> parse_profile(const std::string& text, const std::string& file);

Result<Profile> load_profile(const std::string& path);

// $PATHPROOF_PROFILES if set, else the nicprofiles folder of the source tree if it exists, else the
// installed one.
std::string profile_directory();

// All profiles of a folder, by id. One that cannot be read is an error.
Result<std::vector<Profile>> load_all(const std::string& directory);

// The profile of that id; kNotFound names those there are.
Result<Profile> find_profile(const std::string& directory, const std::string& id);

// What is wrong with a set of profiles beyond the form of each: an id that is not the file's name
// or stands twice, two profiles that match the same device, a verified one without reports. Empty:
// nothing.
std::vector<std::string> lint(const std::vector<Profile>& profiles);

// Whether Linux has, or had, an offload feature of this name (net/ethtool/common.c,
// netdev_features_strings).
bool is_feature_name(const std::string& name);

}  // namespace pathproof::profile
