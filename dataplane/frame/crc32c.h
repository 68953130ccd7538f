// CRC32c (RFC 9260 appendix A) eight bytes at a time: the fast path. Its judge is
// checksum_oracle.h, which shares no code with it.
#pragma once

#include <cstdint>

#include "dataplane/frame/view.h"

namespace pathproof::frame {

// A CRC that was begun: not complemented yet.
struct Crc32c {
    std::uint32_t remainder = 0xffffffff;

    void add(Bytes bytes) noexcept;
    // Returns the value of SCTP's field, its bytes read in the order in which they are sent (the
    // least significant byte of the CRC is sent first).
    std::uint32_t sctp_checksum() const noexcept { return __builtin_bswap32(~remainder); }
};

}  // namespace pathproof::frame
