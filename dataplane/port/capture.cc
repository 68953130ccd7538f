#include "dataplane/port/capture.h"

#include <fcntl.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_pcapng.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <memory>

#include "dataplane/base/new_file.h"

namespace pathproof::port {
namespace {

constexpr std::uint32_t kLongestFrame = 9728;  // a jumbo frame with tags
constexpr unsigned kBuffers = 15;  // a frame and its pcapng block, at most one each at a time

struct FreePool {
    void operator()(rte_mempool* pool) const { rte_mempool_free(pool); }
};
using Pool = std::unique_ptr<rte_mempool, FreePool>;

struct FreeMbuf {
    void operator()(rte_mbuf* mbuf) const { rte_pktmbuf_free(mbuf); }
};
using Mbuf = std::unique_ptr<rte_mbuf, FreeMbuf>;

struct CloseFile {
    void operator()(rte_pcapng_t* file) const { rte_pcapng_close(file); }
};
using File = std::unique_ptr<rte_pcapng_t, CloseFile>;

// Through a descriptor of its own, which is closed with it.
Result<File> create(const NewFile& target, const std::string& about) {
    const int handle = fcntl(target.fd(), F_DUPFD_CLOEXEC, 0);
    File file(rte_pcapng_fdopen(handle, nullptr, nullptr, "pathproof", about.c_str()));
    if (!file) {
        close(handle);
        return fail(ErrorCode::kFailed, "{}", rte_strerror(rte_errno));
    }
    return file;
}

// librte_pcapng counts from the moment of its own first use (pcapng_tsc_to_ns), and frames kept
// before that get a time centuries off: the time is put into the finished block. Offsets: pcapng,
// Enhanced Packet Block.
void set_time(rte_mbuf* block, std::int64_t unix_ns) {
    const auto time = static_cast<std::uint64_t>(unix_ns);
    const std::array<std::uint32_t, 2> high_low = {static_cast<std::uint32_t>(time >> 32),
                                                   static_cast<std::uint32_t>(time)};
    std::memcpy(rte_pktmbuf_mtod_offset(block, char*, 12), high_low.data(), sizeof high_low);
}

Result<Mbuf> as_block(const CapturedFrame& frame, rte_mempool* pool) {
    if (frame.bytes.size() > kLongestFrame || rte_eth_dev_is_valid_port(frame.port_id) == 0) {
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
    Mbuf block(rte_pcapng_copy(frame.port_id, 0, plain.get(), pool, UINT32_MAX, 0,
                               frame.direction == CaptureDirection::kIn
                                   ? RTE_PCAPNG_DIRECTION_IN
                                   : RTE_PCAPNG_DIRECTION_OUT));
    if (!block) {
        return fail(ErrorCode::kFailed, "a frame of {} bytes does not fit a pcapng block",
                    frame.bytes.size());
    }
    set_time(block.get(), frame.unix_ns);
    return block;
}

Status write_all(rte_pcapng_t* file, rte_mempool* pool, std::span<const CapturedFrame> frames) {
    for (const CapturedFrame& frame : frames) {
        auto block = as_block(frame, pool);
        if (!block) {
            return pass_on(block.error());
        }
        rte_mbuf* one = block->get();
        const ssize_t put = rte_pcapng_write_packets(file, &one, 1);
        if (put < 0 || static_cast<std::size_t>(put) != rte_pktmbuf_pkt_len(one)) {
            return fail(ErrorCode::kFailed, "{}",
                        put < 0 ? rte_strerror(rte_errno) : "there is no room for all of it");
        }
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
    auto target = NewFile::beside(path);
    if (!target) {
        return fail(target.error(), "capture file");
    }
    auto file = create(*target, about);
    Status written = file ? write_all(file->get(), pool.get(), frames) : pass_on(file.error());
    written = written ? target->put_in_place() : written;
    return written ? Status() : fail(written.error(), "capture file {}", path);
}

}  // namespace pathproof::port
