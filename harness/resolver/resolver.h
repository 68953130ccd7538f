// Names looked up by the getaddrinfo(3) of this host's own C library or of musl, by Go's resolver, or
// through systemd-resolved, in fresh processes with a resolv.conf of their own: that of the machine
// stays as it is.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/base/result.h"

namespace pathproof::resolver {

enum class Kind : std::uint8_t {
    kGlibc,  // this host's own
    kMusl,   // of a program that is built where musl-gcc is
    kGo,     // of a program that is built where Go is, without cgo
    // glibc, that asks the stub of a systemd-resolved of its own. The latter asks the first nameserver of
    // the first lookup, for names of every domain.
    kResolved,
};
const char* name(Kind kind);  // "glibc", "musl", "Go", "systemd-resolved"

enum class Family : std::uint8_t { kAny = 0, kIpv4 = 4, kIpv6 = 6 };

struct Lookup {
    std::string name;
    std::string resolv_conf;
    Family family = Family::kAny;
    bool addrconfig = false;                  // AI_ADDRCONFIG
    std::chrono::milliseconds limit{30'000};  // then its process is killed
    bool operator==(const Lookup&) const = default;
};

struct Outcome {
    // "ok", "EAI_NONAME", "EAI_AGAIN", ...; of Go "no-such-host", "timeout", "server-misbehaving";
    // "killed": it did not end in time.
    std::string word;
    double milliseconds = 0;
    std::vector<std::string> addresses;  // the first of them
    std::uint64_t unlisted = 0;          // further ones
    std::uint64_t address_count() const { return addresses.size() + unlisted; }
    bool ok() const { return word == "ok"; }
    // Returns whether, as far as the resolver could find out, the name does not exist or has no
    // address.
    bool no_name() const {
        return word == "EAI_NONAME" || word == "EAI_NODATA" || word == "no-such-host";
    }
    bool operator==(const Outcome&) const = default;
};

// kBadInput unless a C library would ask for it: labels of 1 to 63 bytes, 253 in all, no blanks. It may
// end with a dot.
Status check_name(const std::string& name);

// Makes all of them side by side in a network namespace, begun at that rate. Errors: a name that is none
// (kBadInput); no such resolver here (kNotFound, with the package); files that cannot be replaced
// (kNotSupported).
Result<std::vector<Outcome>> look_up(const std::string& netns, Kind kind,
                                     const std::vector<Lookup>& lookups, unsigned per_second);

// A resolv.conf with `instead` in place of its nameservers, and the first of these; empty: it had
// none.
struct Redirected {
    std::string resolv_conf;
    std::string nameserver;
};
Redirected redirect(const std::string& resolv_conf, const std::string& instead);

// Input and output of the program (lookups.c).
std::string requests_text(const std::vector<Lookup>& lookups);
Result<std::vector<Outcome>> read_outcomes(const std::string& said, std::size_t lookups);

}  // namespace pathproof::resolver
