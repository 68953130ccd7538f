#include "dataplane/port/capture.h"

#include <fcntl.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_pcapng.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "dataplane/base/new_file.h"
#include "dataplane/base/owned.h"
#include "dataplane/port/dpdk_versions.h"

namespace pathproof::port {
namespace {

// A super-frame that a virtual device hands over whole, as long as an mbuf takes it with its block.
constexpr std::uint32_t kLongestFrame = 65'000;
constexpr unsigned kBuffers = 15;  // a frame and its pcapng block, at most one each at a time

using Pool = Owned<rte_mempool, rte_mempool_free>;
using Mbuf = Owned<rte_mbuf, rte_pktmbuf_free>;
using File = Owned<rte_pcapng_t, rte_pcapng_close>;

// The ports that become a file's interfaces, in that order.
std::vector<std::uint16_t> all_ports() {
    std::vector<std::uint16_t> ports;
    std::uint64_t port = rte_eth_find_next_owned_by(0, RTE_ETH_DEV_NO_OWNER);
    while (port < RTE_MAX_ETHPORTS) {
        ports.push_back(static_cast<std::uint16_t>(port));
        port = rte_eth_find_next_owned_by(ports.back() + 1, RTE_ETH_DEV_NO_OWNER);
    }
    return ports;
}

// Through a descriptor of its own, which is closed with it.
Result<File> create(const NewFile& target, const std::string& about,
                    std::span<const std::uint16_t> ports) {
    const int handle = fcntl(target.fd(), F_DUPFD_CLOEXEC, 0);
    File file(rte_pcapng_fdopen(handle, nullptr, nullptr, "pathproof", about.c_str()));
    if (!file) {
        close(handle);
        return fail(ErrorCode::kFailed, "{}", rte_strerror(rte_errno));
    }
    for (const std::uint16_t port : ports) {
        if (!add_interface(file.get(), port)) {
            return fail(ErrorCode::kFailed, "its interface of port {} cannot be written", port);
        }
    }
    return file;
}

// librte_pcapng takes a frame's time from the TSC, and cannot tell one from before it was first
// used: interface and time are put into the finished block. Offsets: pcapng, Enhanced Packet Block.
void complete(rte_mbuf* block, std::uint32_t interface, std::int64_t unix_ns) {
    const auto time = static_cast<std::uint64_t>(unix_ns);
    const std::array<std::uint32_t, 3> fields = {interface, static_cast<std::uint32_t>(time >> 32),
                                                 static_cast<std::uint32_t>(time)};
    std::memcpy(rte_pktmbuf_mtod_offset(block, char*, 8), fields.data(), sizeof fields);
}

Result<Mbuf> as_block(const CapturedFrame& frame, rte_mempool* pool,
                      std::span<const std::uint16_t> ports) {
    const auto port = std::ranges::find(ports, frame.port_id);
    if (frame.bytes.size() > kLongestFrame || port == ports.end()) {
        return fail(ErrorCode::kBadInput, "a frame of {} bytes of port {} cannot be written",
                    frame.bytes.size(), frame.port_id);
    }
    const Mbuf plain(rte_pktmbuf_alloc(pool));
    if (!plain) {
        return fail(ErrorCode::kFailed, "no frame buffer left");
    }
    char* room = rte_pktmbuf_append(plain.get(), static_cast<std::uint16_t>(frame.bytes.size()));
    std::memcpy(room, frame.bytes.data(), frame.bytes.size());
    plain->port = frame.port_id;
    Mbuf block(packet_block(plain.get(), pool,
                            frame.direction == CaptureDirection::kIn ? RTE_PCAPNG_DIRECTION_IN
                                                                     : RTE_PCAPNG_DIRECTION_OUT));
    if (!block || block->nb_segs != 1) {
        return fail(ErrorCode::kFailed, "a frame of {} bytes does not fit a pcapng block",
                    frame.bytes.size());
    }
    complete(block.get(), static_cast<std::uint32_t>(port - ports.begin()), frame.unix_ns);
    return block;
}

// The block with a comment before its other options (pcapng, 3.5 and 4.3), which librte_pcapng cannot
// write in all versions of DPDK.
std::string with_comment(std::string block, const std::string& comment) {
    constexpr std::size_t kLengthAt = 4, kCapturedAt = 20, kDataAt = 28;
    constexpr std::uint16_t kComment = 1;
    const auto word = [&](std::size_t at) {
        std::uint32_t value = 0;
        std::memcpy(&value, block.data() + at, sizeof value);
        return value;
    };
    const auto padded = [](std::size_t bytes) { return (bytes + 3) / 4 * 4; };
    const auto length = static_cast<std::uint16_t>(std::min<std::size_t>(comment.size(), 0xfff0));
    const std::array<std::uint16_t, 2> head = {kComment, length};
    std::string option(reinterpret_cast<const char*>(head.data()), sizeof head);
    option += comment.substr(0, length);
    option.resize(padded(option.size()));
    const std::size_t options_at = kDataAt + padded(word(kCapturedAt));
    if (options_at + 4 == word(kLengthAt)) {
        option.resize(option.size() + 4);  // opt_endofopt
    }
    block.insert(options_at, option);
    const auto whole = static_cast<std::uint32_t>(block.size());
    std::memcpy(block.data() + kLengthAt, &whole, sizeof whole);
    std::memcpy(block.data() + block.size() - sizeof whole, &whole, sizeof whole);
    return block;
}

// Not with rte_pcapng_write_packets(): since DPDK 23.11 that puts a time of its own into each block.
Status write_all(const NewFile& target, rte_mempool* pool, std::span<const std::uint16_t> ports,
                 std::span<const CapturedFrame> frames) {
    for (const CapturedFrame& frame : frames) {
        auto block = TRY(as_block(frame, pool, ports));
        const rte_mbuf* whole = block.get();
        std::string bytes(rte_pktmbuf_mtod(whole, const char*), rte_pktmbuf_data_len(whole));
        if (!frame.comment.empty()) {
            bytes = with_comment(std::move(bytes), frame.comment);
        }
        TRY(target.write(bytes));
    }
    return {};
}

}  // namespace

Status write_capture(const std::string& path, const std::string& about,
                     std::span<const CapturedFrame> frames) {
    const auto room = static_cast<std::uint16_t>(rte_pcapng_mbuf_size(kLongestFrame));
    const Pool pool(rte_pktmbuf_pool_create("capture", kBuffers, 0, 0, room, SOCKET_ID_ANY));
    if (!pool) {
        return fail(ErrorCode::kFailed, "capture file {}: no memory for its buffers ({})", path,
                    rte_strerror(rte_errno));
    }
    auto target = TRY(doing(NewFile::beside(path), "capture file"));
    const auto ports = all_ports();
    auto file = create(target, about, ports);
    const Status written =
        file ? write_all(target, pool.get(), ports, frames) : pass_on(file.error());
    return doing(written ? target.put_in_place() : written, "capture file {}", path);
}

}  // namespace pathproof::port
