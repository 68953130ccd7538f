// The fixed parts of a DNS message as they lie in it (RFC 1035 sections 4.1.1 and 4.1.2).
#pragma once

#include "dataplane/base/be.h"
#include "dataplane/frame/dns.h"

namespace pathproof::frame {

// The flag word is kept whole and taken apart by hand.
struct DnsWireHeader {
    Be16 id;
    Be16 flags;
    Be16 questions;
    Be16 answers;
    Be16 authorities;
    Be16 additionals;
};
static_assert(sizeof(DnsWireHeader) == kDnsHeaderBytes);

inline constexpr std::uint16_t kDnsResponse = 0x8000;
inline constexpr std::uint16_t kDnsOpcodeMask = 0x7800;
inline constexpr std::uint16_t kDnsRecursionDesired = 0x0100;

struct DnsQuestionTail {
    Be16 type;
    Be16 query_class;
};

}  // namespace pathproof::frame
