#include "dataplane/follow/capture_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "dataplane/base/number.h"

namespace pathproof::follow {
namespace {

constexpr std::size_t kPieceBytes = 1 << 20;
constexpr std::uint32_t kLongestFrame = 1 << 20;  // BIG TCP's are of 512 KiB at most
constexpr std::uint32_t kLongestBlock = 16 << 20;
constexpr std::uint16_t kEthernet = 1;  // LINKTYPE_ETHERNET

// draft-ietf-opsawg-pcap section 4, draft-ietf-opsawg-pcapng sections 4 and 10.
constexpr std::uint32_t kMagicMicroseconds = 0xa1b2c3d4;
constexpr std::uint32_t kMagicNanoseconds = 0xa1b23c4d;
constexpr std::uint32_t kSection = 0x0a0d0d0a;
constexpr std::uint32_t kByteOrder = 0x1a2b3c4d;
constexpr std::uint32_t kInterface = 1;
constexpr std::uint32_t kOldPacket = 2;
constexpr std::uint32_t kSimplePacket = 3;
constexpr std::uint32_t kStatistics = 5;
constexpr std::uint32_t kPacket = 6;

template <typename T>
T load(const std::uint8_t* at) {
    T value{};
    std::memcpy(&value, at, sizeof value);
    return value;
}

}  // namespace

std::uint16_t CaptureReader::u16(const std::uint8_t* at) const {
    const auto value = load<std::uint16_t>(at);
    return swapped_ ? __builtin_bswap16(value) : value;
}

std::uint32_t CaptureReader::u32(const std::uint8_t* at) const {
    const auto value = load<std::uint32_t>(at);
    return swapped_ ? __builtin_bswap32(value) : value;
}

Failure CaptureReader::damaged(const std::string& what) const {
    return fail(ErrorCode::kBadInput,
                "capture file {}: at byte {}, behind frame {}: {}; capture again, or keep the part "
                "before it (editcap -r)",
                path_, offset(), frames_, what);
}

Result<CaptureReader> CaptureReader::open(const std::string& path, const std::string& interface) {
    CaptureReader reader;
    reader.path_ = path;
    reader.chosen_ = interface;
    reader.file_ = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!reader.file_) {
        return fail(ErrorCode::kBadInput, "capture file {}: {}", path, std::strerror(errno));
    }
    TRY(reader.read_header());
    return reader;
}

Status CaptureReader::read_header() {
    const bool any = TRY(fill(1));
    if (!any) {
        return fail(ErrorCode::kBadInput, "capture file {} is empty", path_);
    }
    const bool magic = TRY(fill(4));
    const std::uint32_t first = magic ? u32(here()) : 0;
    if (first == kSection) {
        format_ = Format::kPcapng;
        return {};
    }
    for (const bool swapped : {false, true}) {
        swapped_ = swapped;
        const std::uint32_t value = magic ? u32(here()) : 0;
        if (value == kMagicMicroseconds || value == kMagicNanoseconds) {
            nanoseconds_ = value == kMagicNanoseconds;
            return read_pcap_header();
        }
    }
    const bool compressed = magic && ((here()[0] == 0x1f && here()[1] == 0x8b) ||
                                      load<std::uint32_t>(here()) == 0xfd2fb528);
    return fail(ErrorCode::kBadInput, "capture file {}: {}; it must be a pcap or pcapng file",
                path_, compressed ? "it is compressed" : "it does not begin as a capture does");
}

Status CaptureReader::read_pcap_header() {
    constexpr std::size_t kHeader = 24;
    const bool whole = TRY(fill(kHeader));
    if (!whole) {
        return damaged("the file ends within its header");
    }
    const std::uint32_t link = u32(here() + 20);
    const bool fcs_known = (link & 0x04000000) != 0;
    interfaces_.push_back(
        {.name = "",
         .snap_length = u32(here() + 16),
         .link_type = static_cast<std::uint16_t>(link),
         .fcs_bytes = static_cast<std::uint16_t>(fcs_known ? link >> 28 << 1 : 0)});
    at_ += kHeader;
    return {};
}

Result<bool> CaptureReader::fill(std::size_t bytes) {
    while (filled_ - at_ < bytes) {
        if (capacity_ - at_ < bytes || capacity_ == filled_) {
            const std::size_t capacity = std::max(kPieceBytes, bytes + kPieceBytes / 2);
            std::shared_ptr<std::uint8_t[]> larger(new std::uint8_t[capacity]);
            if (filled_ != at_) {
                std::memcpy(larger.get(), here(), filled_ - at_);
            }
            piece_offset_ += at_;
            filled_ -= at_;
            at_ = 0;
            piece_ = std::move(larger);
            capacity_ = capacity;
        }
        const ssize_t got = ::read(file_.get(), piece_.get() + filled_, capacity_ - filled_);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return fail(ErrorCode::kBadInput, "capture file {}: at byte {}: {}", path_,
                        piece_offset_ + filled_, std::strerror(errno));
        }
        if (got == 0) {
            return false;
        }
        filled_ += static_cast<std::size_t>(got);
    }
    return true;
}

bool CaptureReader::is_chosen(std::uint32_t interface) const {
    return chosen_.empty() || interfaces_[interface].name == chosen_ ||
           std::to_string(interface) == chosen_;
}

Result<bool> CaptureReader::take(CapturedFrame& frame, frame::Bytes bytes, std::uint32_t length) {
    ++frames_;
    const CaptureInterface& interface = interfaces_[frame.interface];
    if (!is_chosen(frame.interface)) {
        left_out_ns_ = std::max(left_out_ns_, frame.time_ns);
        first_left_out_ns_ =
            first_left_out_ns_ == 0 ? frame.time_ns : std::min(first_left_out_ns_, frame.time_ns);
        return false;
    }
    if (interface.link_type != kEthernet) {
        return fail(
            ErrorCode::kBadInput,
            "capture file {}: frame {} is of link type {}; only Ethernet (1) can be followed: "
            "capture on an Ethernet device, not on 'any' or a device without Ethernet header",
            path_, frames_, interface.link_type);
    }
    const std::uint32_t fcs = std::min<std::uint32_t>(interface.fcs_bytes, length);
    frame.length = length - fcs;
    frame.bytes = bytes.first(std::min<std::size_t>(bytes.size(), frame.length));
    frame.number = frames_;
    frame.piece = piece_;
    last_ns_ = frame.time_ns;
    return true;
}

Result<bool> CaptureReader::next_pcap(CapturedFrame& frame) {
    constexpr std::size_t kHeader = 16;
    const bool any = TRY(fill(1));
    if (!any) {
        ended_ = true;
        return false;
    }
    const bool header = TRY(fill(kHeader));
    if (!header) {
        return damaged("the file ends within a frame's header");
    }
    const std::uint32_t captured = u32(here() + 8);
    const std::uint32_t length = u32(here() + 12);
    if (captured > kLongestFrame || length < captured || length > kLongestFrame) {
        return damaged(
            fmt::format("a frame of {} bytes, {} of them captured, cannot be", length, captured));
    }
    const bool whole = TRY(fill(kHeader + captured));
    if (!whole) {
        return damaged(fmt::format("the file ends within a frame of {} bytes", captured));
    }
    const std::int64_t seconds = u32(here());
    const std::int64_t fraction = u32(here() + 4);
    frame.time_ns = seconds * 1'000'000'000 + (nanoseconds_ ? fraction : fraction * 1000);
    frame.interface = 0;
    const frame::Bytes bytes(here() + kHeader, captured);
    at_ += kHeader + captured;
    return take(frame, bytes, length);
}

Status CaptureReader::read_section(std::uint32_t length) {
    if (length < 28) {
        return damaged("a section header that is too short");
    }
    section_start_ = static_cast<std::uint32_t>(interfaces_.size());
    return {};
}

Status CaptureReader::read_interface(frame::Bytes body) {
    constexpr std::uint16_t kName = 2, kResolution = 9, kFcs = 13, kOffset = 14;
    if (body.size() < 8) {
        return damaged("an interface description that is too short");
    }
    CaptureInterface interface;
    interface.link_type = u16(body.data());
    interface.snap_length = u32(body.data() + 4);
    for (std::size_t at = 8; at + 4 <= body.size();) {
        const std::uint16_t code = u16(body.data() + at);
        const std::size_t length = u16(body.data() + at + 2);
        const std::uint8_t* value = body.data() + at + 4;
        if (code == 0 || at + 4 + length > body.size()) {
            break;
        }
        if (code == kName) {
            interface.name.assign(value, value + length);
        } else if (code == kResolution && length >= 1) {
            interface.resolution = *value;
        } else if (code == kFcs && length >= 1) {
            interface.fcs_bytes = *value;
        } else if (code == kOffset && length >= 8) {
            const auto offset = load<std::uint64_t>(value);
            interface.offset_s =
                static_cast<std::int64_t>(swapped_ ? __builtin_bswap64(offset) : offset);
        }
        at += 4 + (length + 3) / 4 * 4;
    }
    interfaces_.push_back(std::move(interface));
    return {};
}

// Times that no clock shows are brought into the range in which differences can be taken.
std::int64_t CaptureReader::unix_ns(const CaptureInterface& interface, std::uint64_t ticks) const {
    constexpr std::uint64_t kMostTicks = 4'000'000'000'000'000;  // microseconds: the year 2096
    constexpr unsigned kMicroseconds = 6, kNanoseconds = 9;
    const unsigned power = interface.resolution & 0x7fu;
    if (interface.resolution == kMicroseconds && interface.offset_s == 0) {
        return static_cast<std::int64_t>(std::min(ticks, kMostTicks) * 1000);
    }
    if (interface.resolution == kNanoseconds && interface.offset_s == 0) {
        return static_cast<std::int64_t>(std::min(ticks, kMostTicks * 1000));
    }
    auto ns = static_cast<long double>(ticks);
    if ((interface.resolution & 0x80) != 0) {
        ns = std::ldexp(ns, -static_cast<int>(power)) * 1e9L;
    } else {
        ns *= std::pow(10.0L, 9 - static_cast<int>(power));
    }
    ns += static_cast<long double>(interface.offset_s) * 1e9L;
    return static_cast<std::int64_t>(std::clamp(ns, 0.0L, 4e18L));
}

void CaptureReader::read_statistics(frame::Bytes body) {
    constexpr std::uint16_t kEnd = 3, kIfDrop = 5, kOsDrop = 7;
    if (body.size() < 12 || u32(body.data()) >= interfaces_.size() - section_start_) {
        return;
    }
    CaptureInterface& interface = interfaces_[section_start_ + u32(body.data())];
    interface.start_ns = start_in(body);
    std::uint64_t dropped = 0;
    bool counted = false;
    for (std::size_t at = 12; at + 4 <= body.size();) {
        const std::uint16_t code = u16(body.data() + at);
        const std::size_t length = u16(body.data() + at + 2);
        const std::uint8_t* value = body.data() + at + 4;
        if (code == 0 || at + 4 + length > body.size()) {
            break;
        }
        if (length == 8 && code == kEnd) {
            interface.end_ns = unix_ns(interface, std::uint64_t{u32(value)} << 32 | u32(value + 4));
        } else if (length == 8 && (code == kIfDrop || code == kOsDrop)) {
            const auto count = load<std::uint64_t>(value);
            const std::uint64_t more = swapped_ ? __builtin_bswap64(count) : count;
            dropped = dropped > ~more ? ~0ull : dropped + more;
            counted = true;
        }
        at += 4 + (length + 3) / 4 * 4;
    }
    if (counted) {
        interface.dropped = dropped;
    }
}

std::optional<std::int64_t> CaptureReader::start_in(frame::Bytes statistics) const {
    constexpr std::uint16_t kStart = 2;
    constexpr std::size_t kOptions = 12;
    if (statistics.size() < kOptions ||
        u32(statistics.data()) >= interfaces_.size() - section_start_) {
        return std::nullopt;
    }
    const CaptureInterface& interface = interfaces_[section_start_ + u32(statistics.data())];
    for (std::size_t at = kOptions; at + 4 <= statistics.size();) {
        const std::uint16_t code = u16(statistics.data() + at);
        const std::size_t length = u16(statistics.data() + at + 2);
        if (code == 0 || at + 4 + length > statistics.size()) {
            break;
        }
        if (code == kStart && length == 8) {
            const std::uint8_t* value = statistics.data() + at + 4;
            return unix_ns(interface, std::uint64_t{u32(value)} << 32 | u32(value + 4));
        }
        at += 4 + (length + 3) / 4 * 4;
    }
    return std::nullopt;
}

// Each block has its length at its end too, so that a file can be read from there.
std::optional<std::int64_t> CaptureReader::start_at_end() const {
    constexpr std::uint32_t kLongestStatistics = 64 << 10;
    struct stat about = {};
    if (format_ != Format::kPcapng || ::fstat(file_.get(), &about) != 0 ||
        !S_ISREG(about.st_mode)) {
        return std::nullopt;
    }
    const auto read_at = [&](off_t from, std::uint8_t* to, std::size_t bytes) {
        return ::pread(file_.get(), to, bytes, from) == static_cast<ssize_t>(bytes);
    };
    std::optional<std::int64_t> start;
    std::uint8_t word[4];
    for (off_t end = about.st_size; end >= 12 && read_at(end - 4, word, sizeof word);) {
        const std::uint32_t length = u32(word);
        if (length < 12 || length % 4 != 0 || length > end || length > kLongestStatistics) {
            break;
        }
        std::vector<std::uint8_t> block(length);
        if (!read_at(end - length, block.data(), length) || u32(block.data() + 4) != length) {
            break;
        }
        const std::uint32_t type = u32(block.data());
        if (type == kPacket || type == kOldPacket || type == kSimplePacket || type == kSection) {
            break;
        }
        if (type == kStatistics) {
            const auto one = start_in(frame::Bytes(block).subspan(8, length - 12));
            start = one && (!start || *one < *start) ? one : start;
        }
        end -= length;
    }
    return start;
}

std::int64_t CaptureReader::since_ns() const {
    std::int64_t since = first_left_out_ns_;
    const auto take = [&](std::optional<std::int64_t> start) {
        if (start && *start > 0) {
            since = since == 0 ? *start : std::min(since, *start);
        }
    };
    take(start_at_end());
    for (const CaptureInterface& interface : interfaces_) {
        take(interface.start_ns);
    }
    return since;
}

Result<bool> CaptureReader::read_packet(std::uint32_t type, frame::Bytes body,
                                        CapturedFrame& frame) {
    const std::uint8_t* const at = body.data();
    const std::size_t fixed = type == kSimplePacket ? 4 : 20;
    if (body.size() < fixed) {
        return damaged("a packet block that is too short");
    }
    std::uint32_t interface = 0;
    std::uint32_t captured = 0;
    std::uint32_t length = 0;
    if (type == kSimplePacket) {
        length = u32(at);
        captured = std::min<std::uint32_t>(length, static_cast<std::uint32_t>(body.size() - 4));
    } else {
        interface = type == kPacket ? u32(at) : u16(at);
        captured = u32(at + 12);
        length = u32(at + 16);
    }
    if (interface >= interfaces_.size() - section_start_) {
        return damaged(
            fmt::format("a frame of interface {}, which the file does not describe", interface));
    }
    frame.interface = section_start_ + interface;
    const CaptureInterface& from = interfaces_[frame.interface];
    if (type == kSimplePacket) {
        frame.time_ns = last_ns_;
        if (from.snap_length != 0) {
            captured = std::min(captured, from.snap_length);
        }
    } else {
        frame.time_ns = unix_ns(from, std::uint64_t{u32(at + 4)} << 32 | u32(at + 8));
    }
    if (captured > body.size() - fixed || length < captured || length > kLongestFrame) {
        return damaged(
            fmt::format("a frame of {} bytes, {} of them captured, cannot be in a block "
                        "of {}",
                        length, captured, body.size()));
    }
    return take(frame, body.subspan(fixed, captured), length);
}

Result<bool> CaptureReader::next_pcapng(CapturedFrame& frame) {
    for (;;) {
        const bool any = TRY(fill(1));
        if (!any) {
            ended_ = true;
            return false;
        }
        const bool header = TRY(fill(12));
        if (!header) {
            return damaged("the file ends within a block's header");
        }
        if (load<std::uint32_t>(here()) == kSection) {
            const auto order = load<std::uint32_t>(here() + 8);
            if (order != kByteOrder && order != __builtin_bswap32(kByteOrder)) {
                return damaged("a section header without a byte order");
            }
            swapped_ = order != kByteOrder;
        }
        const std::uint32_t type = u32(here());
        const std::uint32_t length = u32(here() + 4);
        if (length < 12 || length % 4 != 0 || length > kLongestBlock) {
            return damaged(fmt::format("a block of {} bytes cannot be", length));
        }
        const bool whole = TRY(fill(length));
        if (!whole) {
            return damaged(fmt::format("the file ends within a block of {} bytes", length));
        }
        if (u32(here() + length - 4) != length) {
            return damaged("a block whose two lengths differ");
        }
        const frame::Bytes body(here() + 8, length - 12);
        bool got = false;
        if (type == kSection) {
            TRY(read_section(length));
        } else if (type == kInterface) {
            TRY(read_interface(body));
        } else if (type == kStatistics) {
            read_statistics(body);
        } else if (type == kPacket || type == kOldPacket || type == kSimplePacket) {
            got = TRY(read_packet(type, body, frame));
        }
        at_ += length;
        if (got) {
            return true;
        }
    }
}

Result<bool> CaptureReader::next(CapturedFrame& frame) {
    if (format_ == Format::kPcapng) {
        const bool got = TRY(next_pcapng(frame));
        bool known = chosen_.empty();
        for (std::uint32_t i = 0; !got && !known && i < interfaces_.size(); ++i) {
            known = is_chosen(i);
        }
        if (!got && !known) {
            return fail(ErrorCode::kBadInput, "capture file {} has no interface '{}'", path_,
                        chosen_);
        }
        return got;
    }
    if (!is_chosen(0)) {
        return fail(ErrorCode::kBadInput,
                    "capture file {} has no interface '{}': pcap files have one, without a name",
                    path_, chosen_);
    }
    while (!ended_) {
        const bool got = TRY(next_pcap(frame));
        if (got) {
            return true;
        }
    }
    return false;
}

}  // namespace pathproof::follow
