// Names looked up by the getaddrinfo(3) of this host's own C library, or of musl, in fresh processes
// with a resolv.conf of their own: that of the machine stays as it is.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/base/result.h"

namespace pathproof::resolver {

enum class Libc : std::uint8_t {
    kGlibc,  // this host's own
    kMusl,   // of a program that is built where musl-gcc is
};
const char* name(Libc libc);  // "glibc", "musl"

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
    std::string word;  // "ok", "EAI_NONAME", "EAI_AGAIN", ...; "killed": it did not end in time
    double milliseconds = 0;
    std::vector<std::string> addresses;
    bool ok() const { return word == "ok"; }
    bool operator==(const Outcome&) const = default;
};

// kBadInput unless a C library would ask for it: labels of 1 to 63 bytes, 253 in all, no blanks. It may
// end with a dot.
Status check_name(const std::string& name);

// Makes all of them side by side in a network namespace, begun at that rate. Errors: a name that is none
// (kBadInput); no musl here (kNotFound, with the package); files that cannot be replaced (kNotSupported).
Result<std::vector<Outcome>> look_up(const std::string& netns, Libc libc,
                                     const std::vector<Lookup>& lookups, unsigned per_second);

// What the program (lookups.c) reads and says.
std::string requests_text(const std::vector<Lookup>& lookups);
Result<std::vector<Outcome>> read_outcomes(const std::string& said, std::size_t lookups);

}  // namespace pathproof::resolver
