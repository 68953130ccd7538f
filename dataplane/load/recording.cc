#include "dataplane/load/recording.h"

#include <fcntl.h>
#include <pcap/pcap.h>
#include <poll.h>
#include <rte_ether.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "dataplane/base/file.h"
#include "dataplane/base/owned.h"

namespace pathproof::load {
namespace {

// An mbuf counts its bytes in 16 bits, and some of them are headroom.
constexpr std::uint32_t kLongestAnywhere = 65'000;

using Capture = Owned<pcap_t, pcap_close>;

// libpcap names the file in some of its sentences, and ours do in all.
std::string without_path(std::string_view trouble, const std::string& path) {
    if (trouble.starts_with(path + ": ")) {
        trouble.remove_prefix(path.size() + 2);
    }
    return std::string(trouble);
}

// Opens a file without waiting inside open(2) for a FIFO's writer: no signal before it would end
// that wait. Null: errno says why.
std::FILE* open_file(const std::string& path, const std::atomic<bool>* stop) {
    constexpr int kLookMs = 100;
    Fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!file) {
        return nullptr;
    }
    pollfd end{.fd = file.get(), .events = POLLIN, .revents = 0};
    while (poll(&end, 1, kLookMs) <= 0) {
        if (stop != nullptr && *stop) {
            errno = EINTR;
            return nullptr;
        }
    }
    fcntl(file.get(), F_SETFL, 0);
    return fdopen(file.release(), "r");
}

Result<Capture> open(const std::string& path, const std::atomic<bool>* stop) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(path, ignored) &&
        std::filesystem::is_empty(path, ignored)) {
        return fail(ErrorCode::kBadInput, "capture file {} is empty", path);
    }
    std::FILE* const file = open_file(path, stop);
    if (file == nullptr) {
        return fail(ErrorCode::kBadInput, "capture file {}: {}", path, std::strerror(errno));
    }
    std::array<char, PCAP_ERRBUF_SIZE> trouble{};
    Capture capture(
        pcap_fopen_offline_with_tstamp_precision(file, PCAP_TSTAMP_PRECISION_NANO, trouble.data()));
    if (!capture) {
        std::fclose(file);
        return fail(ErrorCode::kBadInput,
                    "capture file {}: {}; it must be an uncompressed pcap or pcapng file", path,
                    without_path(trouble.data(), path));
    }
    if (const int type = pcap_datalink(capture.get()); type != DLT_EN10MB) {
        const char* const known = pcap_datalink_val_to_name(type);
        return fail(ErrorCode::kBadInput,
                    "capture file {}: its frames are of link type {} ({}); only Ethernet can be "
                    "replayed",
                    path, known == nullptr ? "unknown" : known, type);
    }
    return capture;
}

std::uint64_t unix_ns(const pcap_pkthdr& header) {
    // With PCAP_TSTAMP_PRECISION_NANO, tv_usec holds nanoseconds (pcap_open_offline(3PCAP)).
    return static_cast<std::uint64_t>(header.ts.tv_sec) * 1'000'000'000u +
           static_cast<std::uint64_t>(header.ts.tv_usec);
}

Status check_frame(const pcap_pkthdr& header, const std::string& path, std::size_t number,
                   const RecordingLimits& limits) {
    if (header.caplen < header.len) {
        return fail(ErrorCode::kBadInput,
                    "capture file {}: of frame {} only {} of {} bytes were captured; capture with "
                    "a snap length that holds whole frames",
                    path, number, header.caplen, header.len);
    }
    if (header.caplen < sizeof(rte_ether_hdr)) {
        return fail(ErrorCode::kBadInput,
                    "capture file {}: frame {} has {} bytes, less than an Ethernet header", path,
                    number, header.caplen);
    }
    const std::uint32_t longest = limits.longest_frame == 0
                                      ? kLongestAnywhere
                                      : std::min(limits.longest_frame, kLongestAnywhere);
    if (header.caplen > longest) {
        return fail(ErrorCode::kBadInput,
                    "capture file {}: frame {} has {} bytes, and {} sends at most {}: raise its "
                    "MTU or leave the frame out",
                    path, number, header.caplen, limits.port, longest);
    }
    return {};
}

}  // namespace

void Recording::append(frame::Bytes bytes, std::uint64_t unix_ns) {
    if (frames_.empty()) {
        first_unix_ns_ = unix_ns;
    }
    const std::uint64_t since = unix_ns - std::min(unix_ns, first_unix_ns_);
    const std::uint64_t before = frames_.empty() ? 0 : frames_.back().at_ns;
    frames_.push_back(
        {bytes_.size(), std::max(since, before), static_cast<std::uint16_t>(bytes.size())});
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    longest_ = std::max(longest_, frames_.back().length);
}

Recording Recording::of(std::span<const frame::ByteVector> frames) {
    Recording recording;
    for (const frame::ByteVector& bytes : frames) {
        recording.append(bytes, recording.frames() * 1000);
    }
    return recording;
}

Result<Recording> Recording::read(const std::string& path, CutShort cut_short,
                                  const RecordingLimits& limits) {
    Capture capture = TRY(open(path, limits.stop));
    pcap_t* const file = capture.get();
    Recording recording;
    for (;;) {
        const std::size_t number = recording.frames() + 1;
        const long at = std::ftell(pcap_file(file));
        pcap_pkthdr* header = nullptr;
        const std::uint8_t* bytes = nullptr;
        const int outcome = pcap_next_ex(file, &header, &bytes);
        if (outcome == PCAP_ERROR_BREAK) {
            break;
        }
        if (outcome != 1) {
            recording.cut_ =
                fmt::format("capture file {}: frame {}, at byte {}, cannot be read: {}", path,
                            number, at, pcap_geterr(file));
            if (cut_short == CutShort::kRefused) {
                return fail(ErrorCode::kBadInput,
                            "{}; ask for the part before the cut, or capture again",
                            recording.cut_);
            }
            break;
        }
        TRY(check_frame(*header, path, number, limits));
        if (recording.bytes_.size() + header->caplen > limits.most_bytes) {
            return fail(ErrorCode::kBadInput,
                        "capture file {}: its frames up to number {} have more than {} bytes, the "
                        "most that is held in memory; replay a part of it",
                        path, number, limits.most_bytes);
        }
        recording.append({bytes, header->caplen}, unix_ns(*header));
    }
    if (recording.frames() == 0) {
        return fail(ErrorCode::kBadInput, "{}",
                    recording.cut_.empty()
                        ? fmt::format("capture file {}: there is no frame in it", path)
                        : recording.cut_);
    }
    return recording;
}

double Recording::mean_frame_bytes() const noexcept {
    return static_cast<double>(bytes_.size()) / static_cast<double>(frames_.size());
}

}  // namespace pathproof::load
