// Senders that leave work to a device: what a cure that switches checksums off in a tunnel does to
// programs of the node that send through it.
#include <arpa/inet.h>
#include <linux/if_xdp.h>
#include <linux/tls.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "dataplane/frame/frame_spec.h"
#include "dataplane/frame/template.h"
#include "harness/agent/client.h"
#include "harness/agent/socket.h"
#include "harness/prices/probes.h"
#include "harness/process/netns.h"
#include "harness/process/program.h"
#include "harness/scenario/concluded.h"

namespace pathproof::prices {
namespace {

using namespace std::chrono_literals;
using scenario::some_of;
using verdict::CellVerdict;
using verdict::ProbeOutcome;

constexpr std::uint16_t kSenderPort = 7100;
constexpr auto kSenderPatience = 3000ms;
constexpr std::size_t kPieceBytes = 1000;  // of a datagram
constexpr std::size_t kPieces = 10;        // of a call of sendmsg(2)
constexpr unsigned kCalls = 8;
constexpr std::size_t kStreamBytes = 1 << 20;
constexpr std::size_t kChunkBytes = 64 * 1024;

// Both ends of a sender's path: from node A through its vxlan device to pod B.
struct SenderPath {
    std::string from, to;  // namespaces
    std::string tunnel;    // device in `from`
    frame::Endpoint server;
};
using Send = Result<ProbeOutcome> (*)(const SenderPath& path);

ProbeOutcome came(std::uint64_t lost, std::uint64_t all, const std::string& what, int error) {
    if (lost == 0) {
        return {CellVerdict::kPass, ""};
    }
    return {CellVerdict::kFail,
            fmt::format("{} {}{}", some_of(lost, all), what,
                        error == 0 ? "" : fmt::format(" ({})", agent::describe_errno(error)))};
}

std::vector<std::uint8_t> counted(std::size_t bytes, unsigned seed) {
    std::vector<std::uint8_t> all(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
        all[i] = static_cast<std::uint8_t>(i * 7 + (i >> 8) * 13 + seed);
    }
    return all;
}

Result<Fd> bound(const SenderPath& path, int type) {
    return process::in_netns(path.to, [&]() -> Result<Fd> {
        Fd socket = TRY(agent::open_socket(AF_INET, type, 0));
        const int on = 1;
        const agent::SocketAddress address = agent::to_socket_address(path.server);
        setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (::bind(socket.get(), address.raw(), address.length) != 0 ||
            (type == SOCK_STREAM && ::listen(socket.get(), 1) != 0)) {
            return agent::system_failure("listen for a sender", errno);
        }
        return socket;
    });
}

Result<Fd> datagram_socket(const SenderPath& path) {
    return process::in_netns(path.from, [&]() -> Result<Fd> {
        Fd socket = TRY(agent::open_socket(AF_INET, SOCK_DGRAM, 0));
        const agent::SocketAddress address = agent::to_socket_address(path.server);
        if (::connect(socket.get(), address.raw(), address.length) != 0) {
            return agent::system_failure("connect a sender", errno);
        }
        return socket;
    });
}

// Datagrams that came as they were sent, each of them `kPieceBytes` of `sent`.
std::uint64_t datagrams_of(int receiver, const std::vector<std::uint8_t>& sent,
                           std::uint64_t expected) {
    std::uint64_t right = 0;
    std::vector<std::uint8_t> buffer(2 * kPieceBytes);
    const agent::Deadline deadline(1000ms);
    while (right < expected && agent::wait_for(receiver, POLLIN, deadline)) {
        const ssize_t got = ::recv(receiver, buffer.data(), buffer.size(), 0);
        bool found = false;
        for (std::size_t at = 0; at + kPieceBytes <= sent.size() && !found; at += kPieceBytes) {
            found = got == static_cast<ssize_t>(kPieceBytes) &&
                    std::memcmp(buffer.data(), sent.data() + at, kPieceBytes) == 0;
        }
        right += found ? 1 : 0;
    }
    return right;
}

Result<ProbeOutcome> send_segments(const SenderPath& path) {
    constexpr int kUdpSegment = 103;  // UDP_SEGMENT (linux/udp.h)
    const Fd receiver = TRY(bound(path, SOCK_DGRAM));
    const Fd sender = TRY(datagram_socket(path));
    const int size = kPieceBytes;
    if (setsockopt(sender.get(), IPPROTO_UDP, kUdpSegment, &size, sizeof size) != 0) {
        return agent::system_failure("set UDP_SEGMENT", errno);
    }
    const std::vector<std::uint8_t> data = counted(kPieces * kPieceBytes, 1);
    std::uint64_t right = 0;
    int error = 0;
    for (unsigned call = 0; call < kCalls; ++call) {
        if (::send(sender.get(), data.data(), data.size(), 0) < 0) {
            error = errno;  // EIO where the device lacks checksums, before Linux 6.11
            continue;
        }
        right += datagrams_of(receiver.get(), data, kPieces);
    }
    const std::uint64_t all = kCalls * kPieces;
    return came(all - std::min(all, right), all, "datagrams of UDP_SEGMENT were lost", error);
}

struct Connection {
    Fd listening, from, to;
};

Result<Connection> connected(const SenderPath& path) {
    Connection made;
    made.listening = TRY(bound(path, SOCK_STREAM));
    made.from = TRY(process::in_netns(path.from, [&]() -> Result<Fd> {
        Fd socket = TRY(agent::open_socket(AF_INET, SOCK_STREAM, 0));
        const int wrong =
            agent::connect_before(socket.get(), path.server, agent::Deadline(kSenderPatience));
        if (wrong != 0) {
            return fail(ErrorCode::kFailed, "connect a sender: {}", agent::describe_errno(wrong));
        }
        return socket;
    }));
    if (!agent::wait_for(made.listening.get(), POLLIN, agent::Deadline(kSenderPatience))) {
        return fail(ErrorCode::kFailed, "a sender's connection was not accepted");
    }
    made.to = Fd(::accept4(made.listening.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!made.to) {
        return agent::system_failure("accept a sender", errno);
    }
    return made;
}

// Sends all of it, and reads it at the other end: the bytes that came right, from the first on.
std::uint64_t stream(const Connection& over, const std::vector<std::uint8_t>& data, int flags,
                     int& error) {
    std::size_t sent = 0;
    std::size_t right = 0;
    std::vector<std::uint8_t> buffer(kChunkBytes);
    const agent::Deadline deadline(kSenderPatience);
    while (right < data.size() && !deadline.passed()) {
        if (sent < data.size() && error == 0) {
            const ssize_t more =
                ::send(over.from.get(), data.data() + sent,
                       std::min(kChunkBytes, data.size() - sent), flags | MSG_NOSIGNAL);
            error = more < 0 && errno != EAGAIN && errno != ENOBUFS ? errno : 0;
            sent += more > 0 ? static_cast<std::size_t>(more) : 0;
        }
        const ssize_t got = ::recv(over.to.get(), buffer.data(), buffer.size(), 0);
        if (got == 0 || (got < 0 && errno != EAGAIN)) {
            error = got == 0 ? ECONNRESET : errno;
            break;
        }
        if (got < 0) {
            agent::wait_for(over.to.get(), POLLIN, agent::Deadline(5ms));
            continue;
        }
        const auto length = static_cast<std::size_t>(got);
        if (right + length > data.size() ||
            std::memcmp(buffer.data(), data.data() + right, length) != 0) {
            break;
        }
        right += length;
    }
    return right;
}

Result<ProbeOutcome> send_without_copies(const SenderPath& path) {
    const Connection over = TRY(connected(path));
    const int on = 1;
    if (setsockopt(over.from.get(), SOL_SOCKET, SO_ZEROCOPY, &on, sizeof on) != 0) {
        return agent::system_failure("set SO_ZEROCOPY", errno);
    }
    const std::vector<std::uint8_t> data = counted(kStreamBytes, 2);
    int error = 0;
    const std::uint64_t right = stream(over, data, MSG_ZEROCOPY, error);
    return came(data.size() - right, data.size(), "bytes of MSG_ZEROCOPY were lost", error);
}

Status set_tls(int socket, int direction) {
    tls12_crypto_info_aes_gcm_128 keys{};  // one key for both ends: nobody else is there
    keys.info.version = TLS_1_2_VERSION;
    keys.info.cipher_type = TLS_CIPHER_AES_GCM_128;
    if (setsockopt(socket, IPPROTO_TCP, TCP_ULP, "tls", sizeof "tls") != 0) {
        return fail(ErrorCode::kNotSupported, "the kernel has no TLS of its own ({}); modprobe tls",
                    agent::describe_errno(errno));
    }
    constexpr int kSolTls = 282;  // SOL_TLS (linux/socket.h)
    return setsockopt(socket, kSolTls, direction, &keys, sizeof keys) == 0
               ? Status()
               : Status(agent::system_failure("give the kernel's TLS its keys", errno));
}

Result<ProbeOutcome> send_by_tls(const SenderPath& path) {
    const Connection over = TRY(connected(path));
    TRY(set_tls(over.from.get(), TLS_TX));
    TRY(set_tls(over.to.get(), TLS_RX));
    const std::vector<std::uint8_t> data = counted(kStreamBytes / 4, 3);
    int error = 0;
    const std::uint64_t right = stream(over, data, 0, error);
    return came(data.size() - right, data.size(), "bytes of kernel TLS were lost", error);
}

// An AF_XDP socket that only sends, in copy mode (Documentation/networking/af_xdp.rst).
class XdpSender {
  public:
    static constexpr std::uint32_t kFrames = 64;
    static constexpr std::uint32_t kFrameBytes = 2048;

    static Result<std::unique_ptr<XdpSender>> open(const std::string& device) {
        std::unique_ptr<XdpSender> made(new XdpSender);
        TRY(made->set_up(device));
        return made;
    }
    ~XdpSender() {
        munmap(memory_, kFrames * kFrameBytes);
        munmap(ring_, ring_bytes_);
    }
    XdpSender(const XdpSender&) = delete;
    XdpSender& operator=(const XdpSender&) = delete;

    // 0, or an errno.
    int send(std::span<const std::vector<std::uint8_t>> frames) {
        auto* const producer = reinterpret_cast<std::uint32_t*>(ring_ + offsets_.tx.producer);
        auto* const slots = reinterpret_cast<xdp_desc*>(ring_ + offsets_.tx.desc);
        std::uint32_t at = __atomic_load_n(producer, __ATOMIC_RELAXED);
        for (const std::vector<std::uint8_t>& frame : frames) {
            const std::uint32_t slot = at++ % kFrames;
            std::memcpy(memory_ + slot * kFrameBytes, frame.data(), frame.size());
            slots[slot] = {.addr = std::uint64_t{slot} * kFrameBytes,
                           .len = static_cast<std::uint32_t>(frame.size()),
                           .options = 0};
        }
        __atomic_store_n(producer, at, __ATOMIC_RELEASE);
        const agent::Deadline deadline(1000ms);
        const auto* const consumer =
            reinterpret_cast<const std::uint32_t*>(ring_ + offsets_.tx.consumer);
        while (__atomic_load_n(consumer, __ATOMIC_ACQUIRE) != at && !deadline.passed()) {
            if (::sendto(socket_.get(), nullptr, 0, MSG_DONTWAIT, nullptr, 0) < 0 &&
                errno != EAGAIN && errno != EBUSY && errno != ENOBUFS) {
                return errno;
            }
        }
        return __atomic_load_n(consumer, __ATOMIC_ACQUIRE) == at ? 0 : ETIMEDOUT;
    }

  private:
    XdpSender() = default;
    Status set_up(const std::string& device) {
        constexpr int kSolXdp = 283;  // SOL_XDP (linux/socket.h)
        const auto failed = [](const char* doing) {
            return Status(agent::system_failure(fmt::format("{} an AF_XDP socket", doing), errno));
        };
        socket_ = Fd(::socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0));
        void* const memory = mmap(nullptr, kFrames * kFrameBytes, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (!socket_ || memory == MAP_FAILED) {
            return failed("make");
        }
        memory_ = static_cast<std::uint8_t*>(memory);
        xdp_umem_reg area{};
        area.addr = reinterpret_cast<std::uintptr_t>(memory_);
        area.len = kFrames * kFrameBytes;
        area.chunk_size = kFrameBytes;
        const std::uint32_t entries = kFrames;
        const auto set = [&](int option, const void* value, socklen_t length) {
            return setsockopt(socket_.get(), kSolXdp, option, value, length) == 0;
        };
        socklen_t length = sizeof offsets_;
        if (!set(XDP_UMEM_REG, &area, sizeof area) ||
            !set(XDP_UMEM_FILL_RING, &entries, sizeof entries) ||
            !set(XDP_UMEM_COMPLETION_RING, &entries, sizeof entries) ||
            !set(XDP_TX_RING, &entries, sizeof entries) ||
            getsockopt(socket_.get(), kSolXdp, XDP_MMAP_OFFSETS, &offsets_, &length) != 0) {
            return failed("set up");
        }
        ring_bytes_ = offsets_.tx.desc + kFrames * sizeof(xdp_desc);
        void* const ring = mmap(nullptr, ring_bytes_, PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_POPULATE, socket_.get(), XDP_PGOFF_TX_RING);
        if (ring == MAP_FAILED) {
            return failed("map the ring of");
        }
        ring_ = static_cast<std::uint8_t*>(ring);
        sockaddr_xdp address{};
        address.sxdp_family = AF_XDP;
        address.sxdp_flags = XDP_COPY;
        address.sxdp_ifindex = if_nametoindex(device.c_str());
        return ::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0
                   ? Status()
                   : failed("bind");
    }

    Fd socket_;
    std::uint8_t* memory_ = nullptr;
    std::uint8_t* ring_ = nullptr;
    std::size_t ring_bytes_ = 0;
    xdp_mmap_offsets offsets_{};
};

Result<frame::MacAddress> next_hop(const SenderPath& path) {
    const auto said = TRY(
        process::run_program({"ip", "-n", path.from, "-j", "neigh", "show", "dev", path.tunnel}));
    const auto all = nlohmann::json::parse(said.out, nullptr, false);
    if (!all.is_array() || all.empty() || !all[0].contains("lladdr")) {
        return fail(ErrorCode::kFailed, "{} has no neighbour", path.tunnel);
    }
    return frame::parse_mac(all[0]["lladdr"].get<std::string>());
}

Result<ProbeOutcome> send_by_xdp(const SenderPath& path) {
    const Fd receiver = TRY(bound(path, SOCK_DGRAM));
    const Fd socket = TRY(datagram_socket(path));  // tells the address that this node sends from
    frame::FrameSpec spec;
    spec.packet.source = TRY(agent::local_endpoint(socket.get()));
    spec.packet.destination = path.server;
    spec.packet.destination_mac = TRY(next_hop(path));
    spec.packet.source_mac = {{2, 0, 0, 0, 0, 1}};
    spec.packet.transport = frame::Transport::kUdp;
    const std::vector<std::uint8_t> data = counted(kPieces * kPieceBytes, 4);
    std::vector<std::vector<std::uint8_t>> frames;
    for (std::size_t at = 0; at < data.size(); at += kPieceBytes) {
        const auto from = data.begin() + static_cast<std::ptrdiff_t>(at);
        spec.payload.assign(from, from + kPieceBytes);
        const auto made = TRY(frame::FrameTemplate::make(spec));
        const auto bytes = made.render();
        frames.emplace_back(bytes.begin(), bytes.end());
    }
    std::uint64_t right = 0;
    int error = 0;
    TRY(process::in_netns(path.from, [&]() -> Status {
        const auto sender = TRY(XdpSender::open(path.tunnel));
        error = sender->send(frames);
        right = datagrams_of(receiver.get(), data, kPieces);
        return {};
    }));
    return came(kPieces - std::min<std::uint64_t>(kPieces, right), kPieces,
                "datagrams of an AF_XDP socket were lost", error);
}

// The tunnel is made anew for each turn, and a cure set on both of its ends.
Result<Tried> try_sender(scenario::Context& context, const Cures& cures, Send send) {
    const auto overlay = TRY(context.lab.overlay(context.journal));
    TRY(overlay->join_by_bridge());
    const lab::OverlayNames& names = overlay->names();
    const SenderPath path{
        names.node_a, names.pod_b, names.vxlan, {names.pod_b_address, kSenderPort}};
    const auto once = [&](const Cure& cure) -> Result<ProbeOutcome> {
        TRY(overlay->set_anew(both(overlay->usual(), cure.settings)));
        return send(path);
    };
    Tried tried;
    tried.without.push_back(TRY(once(kNoCure)));
    for (const Cure* cure : cures) {
        tried.with[cure->id] = TRY(once(*cure));
    }
    tried.without.push_back(TRY(once(kNoCure)));
    return tried;
}

}  // namespace

Result<Tried> run_segment_sender(scenario::Context& context, const Cures& cures) {
    return try_sender(context, cures, send_segments);
}
Result<Tried> run_zero_copy_sender(scenario::Context& context, const Cures& cures) {
    return try_sender(context, cures, send_without_copies);
}
Result<Tried> run_tls_sender(scenario::Context& context, const Cures& cures) {
    return try_sender(context, cures, send_by_tls);
}
Result<Tried> run_xdp_sender(scenario::Context& context, const Cures& cures) {
    return try_sender(context, cures, send_by_xdp);
}

}  // namespace pathproof::prices
