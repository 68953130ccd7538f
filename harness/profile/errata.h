// The catalogue of documented offload defects, nicprofiles/errata: one file an erratum. A defect
// that was seen on the wire is looked up here, and comes back with its workaround and its source.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/profile/version_range.h"

namespace pathproof::profile {

enum class Direction {
    kTransmit,  // "tx": what the device under test sends is wrong
    kReceive,   // "rx": what it says of received frames is wrong
    kPath,      // "path": frames vanish or slow down, or a counter lies
};

// Depth to which a source was read.
enum class Evidence {
    kSource,     // code, commit message or manual read in full
    kThread,     // an issue thread or a vendor's article
    kChangelog,  // a commit id and its subject
};

const char* name(Direction direction);
const char* name(Evidence evidence);

// Appearance of the defect. `layer` is depth.protocol as the judge's word() has it ("outer.udp",
// "plain.ipv4"); an entry of the catalogue may be broader ("innermost.l4", see layer_covers()).
// `name` may carry an argument: "STALE(sport)".
struct Signature {
    Direction direction = Direction::kTransmit;
    std::string layer;
    std::string name;
    bool operator==(const Signature&) const = default;
};

// Devices and programs that have the defect: all that the lists name; "*" is any driver.
struct Affected {
    std::vector<std::string> kernel_driver;  // "mlx5_core"
    std::vector<std::string> pmd;            // "net_ice"
    std::string hardware;                    // in words, where a driver serves good and bad devices
    std::string software;                    // in words: what is neither driver nor PMD
    std::string firmware;                    // in words
    VersionRange kernel;
    VersionRange dpdk;
    std::vector<std::uint16_t> only_ports;    // tunnel or UDP ports that have it; empty: any
    std::vector<std::uint16_t> except_ports;  // and ports that do not
};

struct Source {
    std::string reference;  // "linux ea64d8d6c675", "calico#3145"
    std::string url;        // empty where none is known
    std::string says;       // what of it bears the entry out
    Evidence evidence = Evidence::kSource;
};

struct Erratum {
    std::string id;  // "E01-nat0-outer-udp"; the file's name
    std::string title;
    std::string file;
    std::vector<Signature> signatures;
    std::vector<Affected> affected;
    // Conditions under which the defect shows, as key=value words: "nat=outer", "outer_checksum=0".
    std::vector<std::string> conditions;
    std::string seen;                     // how a user meets it
    std::vector<std::string> counters;    // that move, or should and do not
    std::vector<std::string> workaround;  // commands; DEV, PORT stand for the user's own
    std::string advice;                   // what no command does: an update, another port
    std::vector<Source> sources;
    std::vector<std::string> faults;  // `dir.layer.field.MECH@predicate!rate` that stand for it

    // Returns the best evidence among the sources: read in full beats a thread, a thread beats a
    // subject line.
    Evidence evidence() const;
};

// A defect as found on the wire, with as many of its circumstances as are known.
struct Sighting {
    Signature signature;
    std::string driver;  // of the kernel ("ice") or of DPDK ("net_ice"); empty: not known
    std::string kernel;  // `uname -r` of the DUT; empty: not known
    std::string dpdk;    // "22.11.11", where the DUT is a DPDK port; empty: not known or not DPDK
    std::optional<std::uint16_t> tunnel_port;  // destination port of the outer UDP header
    std::vector<std::string> conditions;       // as Erratum::conditions
};

enum class Certainty {
    kDriverAndRange,  // the entry names this driver, and its versions cover this one
    kDriver,     // the entry names this driver; whether it speaks of this version or chip is open
    kSignature,  // it looks the same, elsewhere: another driver or version, or not known
};

const char* name(Certainty certainty);  // "driver and version", "driver", "signature only"

struct ErratumMatch {
    std::string id;
    std::string title;
    Certainty certainty = Certainty::kSignature;
    std::string why;  // a sentence: what fits, what does not, what is not known
    std::vector<std::string> workaround;
    std::string advice;
    std::vector<Source> sources;
};

// The entries whose signature is the sighting's, the surest first, and of those equally sure the
// ones that name the driver. Left out are those that its tunnel port, its conditions or its layer
// contradict. UNKNOWN is no name: nothing looks like it.
std::vector<ErratumMatch> match_errata(const std::vector<Erratum>& errata,
                                       const Sighting& sighting);

// Reads one entry from TOML text; errors as parse_profile().
Result<Erratum> parse_erratum(const std::string& text, const std::string& file);

// All entries of the folder `errata` in a profile directory, by id.
Result<std::vector<Erratum>> load_errata(const std::string& directory);

// The entry of that id, or the only one whose id has it as a part ("E01"); kNotFound says what to
// do.
Result<Erratum> find_erratum(const std::string& directory, const std::string& id);

// "tx.outer.udp.NAT0" taken apart; kBadInput says what is allowed.
Result<Signature> parse_signature(const std::string& text);
std::string to_text(const Signature& signature);

// Accepts `word` if it is a condition of the catalogue ("nat=outer"); the error says what is
// allowed.
Status check_condition(const std::string& word);

// Lengths of frames, in bytes without FCS, that a condition speaks of: "length=1500",
// "length=1499-9000", "length=short", "length=odd". Nothing for another condition.
struct Lengths {
    enum class Parity : std::uint8_t { kAny, kOdd, kEven };
    std::uint32_t low = 0;
    std::uint32_t high = ~std::uint32_t{0};
    Parity parity = Parity::kAny;
};
std::optional<Lengths> lengths_of(const std::string& condition);
// Returns whether some length fits both.
bool may_be_both(const Lengths& a, const Lengths& b);

// Lists the errors of a set of entries beyond each entry's form: an id that is not the file's name,
// a number (the E01 of E01-...) that occurs twice.
std::vector<std::string> lint(const std::vector<Erratum>& errata);

// Returns whether a layer of the catalogue is or includes a layer that was seen: "innermost" is
// inner or plain, "outermost" outer or plain, "any" each of the three; "l4" is udp, tcp, sctp, icmp
// and icmpv6, "ip" is ipv4 and ipv6.
bool layer_covers(const std::string& general, const std::string& special);
// "STALE" covers "STALE(sport)", and the other way round; two arguments must be equal.
bool same_name(const std::string& a, const std::string& b);

}  // namespace pathproof::profile
