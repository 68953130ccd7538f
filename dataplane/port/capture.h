// Frames that were kept as evidence, written as a pcapng file that Wireshark and tshark open.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "dataplane/base/result.h"

namespace pathproof::port {

enum class CaptureDirection : std::uint8_t { kIn, kOut };

struct CapturedFrame {
    std::uint16_t port_id = 0;  // Port::id() of an open port: it becomes the file's interface
    CaptureDirection direction = CaptureDirection::kIn;
    std::int64_t unix_ns = 0;  // when, since 1970 UTC
    std::span<const std::uint8_t> bytes;
    std::string comment = {};  // of the packet; empty: none
};

// Writes all frames to a new file through DPDK's librte_pcapng; `about` becomes the comment of the
// file's section header. Not for the data path: it allocates, copies and writes. The EAL must run.
// A regular file that is there is replaced once the new one is complete.
Status write_capture(const std::string& path, const std::string& about,
                     std::span<const CapturedFrame> frames);

}  // namespace pathproof::port
