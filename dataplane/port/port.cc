#include "dataplane/port/port.h"

#include <fmt/ranges.h>
#include <net/if.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "dataplane/port/device.h"
#include "dataplane/port/eal_log.h"
#include "dataplane/port/frame_pool.h"
#include "dataplane/port/kernel_interface.h"
#include "dataplane/port/link_speed.h"
#include "dataplane/port/rss.h"

namespace pathproof::port {

struct Port::Kernel {
    Kernel(KernelInterface&& watched, unsigned packet_index)
        : interface(std::move(watched)), sockets(packet_index) {}

    // Adds what the kernel counted since the port was opened; one that is gone counts no more.
    void add_its_count(PortCounters& counters) {
        if (const auto now = interface.state()) {
            latest = *now;
        }
        if (is_af_packet) {
            counters.rx_missed += sockets.dropped() + (latest.rx_dropped - at_open.rx_dropped);
            counters.tx_errors += latest.tx_dropped - at_open.tx_dropped;
        } else {
            counters.rx_missed = std::max(counters.rx_missed + xdp_sockets.dropped_at_full_ring(),
                                          latest.rx_dropped - at_open.rx_dropped);
        }
        if (at_open.kind != "veth") {
            return;  // hardware counts late, and what stands on it (bond) no sooner
        }
        counters.tx_by_interface = latest.tx_packets - at_open.tx_packets;
        // A frame that the far end has no room for is gone, unless it came from a packet socket,
        // which sends it again (tpacket_snd).
        if (is_af_xdp) {
            counters.tx_by_interface += latest.tx_dropped - at_open.tx_dropped;
        }
    }

    KernelInterface interface;
    PacketSockets sockets;                   // none unless the driver is net_af_packet
    XdpSockets xdp_sockets;                  // none unless it is net_af_xdp
    std::optional<Promiscuous> promiscuous;  // of both
    unsigned index = 0;
    InterfaceState at_open;
    InterfaceState latest;
    std::optional<std::uint16_t> mtu_before;  // set: the MTU was changed and is put back
    bool is_af_packet = false;
    bool is_af_xdp = false;
};

namespace {

constexpr std::uint16_t kNoPort = 0xffff;
constexpr std::string_view kAfPacket = "net_af_packet";
constexpr std::string_view kAfXdp = "net_af_xdp";

std::string devices_there() {
    std::vector<std::string> names;
    for (std::uint16_t id = 0; id < RTE_MAX_ETHPORTS; ++id) {
        std::array<char, RTE_ETH_NAME_MAX_LEN> name{};
        if (rte_eth_dev_get_name_by_port(id, name.data()) == 0) {
            names.emplace_back(name.data());
        }
    }
    return names.empty() ? "there is none" : fmt::format("there are {}", fmt::join(names, ", "));
}

int memory_node(std::uint16_t id) {
    const int node = rte_eth_dev_socket_id(id);
    return node < 0 ? SOCKET_ID_ANY : node;
}

// Turns the outcome of a DPDK call into a status; a failure carries what was logged since
// `log_from`.
Status done(const PortConfig& config, int outcome, std::string_view doing, std::size_t log_from) {
    if (outcome == 0) {
        return {};
    }
    const std::string said = eal_log_errors(log_from);
    return fail(ErrorCode::kFailed, "port {} ({}): {}: {}{}{}", config.name, config.device, doing,
                rte_strerror(-outcome), said.empty() ? "" : "; ", said);
}

// Names the port in front of an error.
template <typename T>
Result<T> of_port(const PortConfig& config, Result<T> outcome) {
    return doing(std::move(outcome), "port {} ({})", config.name, config.device);
}

}  // namespace

Port::Port() = default;

Port::Port(Port&& other) noexcept {
    *this = std::move(other);
}

Port& Port::operator=(Port&& other) noexcept {
    if (this != &other) {
        close();
        id_ = std::exchange(other.id_, kNoPort);
        pool_ = std::exchange(other.pool_, nullptr);
        config_ = std::move(other.config_);
        info_ = std::move(other.info_);
        receive_limit_ = other.receive_limit_;
        transmit_limit_ = other.transmit_limit_;
        transmit_room_ = other.transmit_room_;
        kernel_ = std::move(other.kernel_);
    }
    return *this;
}

Port::~Port() {
    close();
}

void Port::close() noexcept {
    if (id_ == kNoPort) {
        return;
    }
    if (kernel_ && kernel_->mtu_before) {
        rte_eth_dev_set_mtu(id_, *kernel_->mtu_before);
    }
    with_standard_streams_aside([this] {
        if (!kernel_ || !kernel_->promiscuous) {
            rte_eth_promiscuous_disable(id_);
        }
        rte_eth_dev_stop(id_);
        rte_eth_dev_close(id_);
    });
    // Frames of this pool may still lie in another port's ring; then EAL's end frees it.
    if (pool_ != nullptr && rte_mempool_full(pool_) == 1) {
        rte_mempool_free(pool_);
    }
    id_ = kNoPort;
    pool_ = nullptr;
    kernel_.reset();
}

Result<Port> Port::open(const PortConfig& config) {
    Port port;
    port.config_ = config;
    Status ready;
    // libbpf and libxdp, which net_af_xdp uses, print.
    with_standard_streams_aside([&] { ready = port.set_up(); });
    if (!ready) {
        return pass_on(ready.error());
    }
    return port;
}

Status Port::set_up() {
    std::uint16_t id = kNoPort;
    if (rte_eth_dev_get_port_by_name(config_.device.c_str(), &id) != 0) {
        const std::string said = eal_log_errors(0);  // why it was not made, when the EAL started
        if (said.find(config_.device) != std::string::npos) {
            return fail(ErrorCode::kNotFound,
                        "port {}: DPDK could not make the device '{}'; {}. It "
                        "said: {}",
                        config_.name, config_.device,
                        says_out_of_memory(said)
                            ? "there is not enough memory ('ulimit -v', the cgroup's memory.max)"
                            : "look at its arguments",
                        said);
        }
        return fail(ErrorCode::kNotFound, "port {}: DPDK has no device '{}'; {}", config_.name,
                    config_.device, devices_there());
    }
    const std::size_t log_from = eal_log_text().size();
    rte_eth_dev_info device{};
    TRY(done(config_, rte_eth_dev_info_get(id, &device), "ask for its capabilities", log_from));
    TRY(check_capabilities(config_, device));
    auto rss = TRY(choose_rss(config_, device));
    rte_eth_conf wanted{};
    wanted.rxmode.offloads = config_.rx_offloads;
    wanted.txmode.offloads = config_.tx_offloads;
    if (rss.hash_functions != 0) {
        wanted.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
        wanted.rx_adv_conf.rss_conf = {.rss_key = rss.key.empty() ? nullptr : rss.key.data(),
                                       .rss_key_len = static_cast<std::uint8_t>(rss.key.size()),
                                       .rss_hf = rss.hash_functions};
    }
    const int configured = rte_eth_dev_configure(id, config_.rx_queues, config_.tx_queues, &wanted);
    TRY(done(config_, configured, configured == -EBUSY ? "it is open already" : "configure",
             log_from));
    id_ = id;  // from here on it is ours to close
    TRY(watch_interface(device));
    TRY(set_mtu());
    TRY(make_pool(device));
    TRY(set_up_queues());
    TRY(start());
    TRY(await_link(device));
    describe(device);
    return {};
}

Status Port::watch_interface(const rte_eth_dev_info& device) {
    if (device.if_index == 0) {
        return {};
    }
    auto watched = TRY(KernelInterface::watch(device.if_index));
    const bool is_af_packet = device.driver_name == kAfPacket;
    kernel_ = std::make_unique<Kernel>(std::move(watched), is_af_packet ? device.if_index : 0);
    kernel_->index = device.if_index;
    kernel_->is_af_packet = is_af_packet;
    kernel_->is_af_xdp = device.driver_name == kAfXdp;
    kernel_->at_open = TRY(of_port(config_, kernel_->interface.state()));
    kernel_->latest = kernel_->at_open;
    return {};
}

Status Port::set_mtu() {
    if (config_.mtu == 0) {
        return {};
    }
    const std::size_t log_from = eal_log_text().size();
    TRY(done(config_, rte_eth_dev_set_mtu(id_, config_.mtu), fmt::format("set MTU {}", config_.mtu),
             log_from));
    if (kernel_) {
        kernel_->mtu_before = static_cast<std::uint16_t>(kernel_->at_open.mtu);
    }
    return {};
}

Status Port::make_pool(const rte_eth_dev_info& device) {
    std::uint32_t room =
        std::max<std::uint32_t>(config_.mbuf_bytes, device.min_rx_bufsize + RTE_PKTMBUF_HEADROOM);
    if (kernel_ && kernel_->is_af_packet) {
        const PacketRingShape ring = packet_ring_shape(device);
        if (ring.slot == 0 || ring.block % ring.slot != 0) {
            // The driver takes slot n at n * framesz; the kernel starts each block anew
            // (packet_lookup_frame).
            return fail(ErrorCode::kBadInput,
                        "port {} ({}): framesz={} does not divide blocksz={}, and the driver would "
                        "read the wrong "
                        "places; choose one that does",
                        config_.name, config_.device, ring.slot, ring.block);
        }
        receive_limit_ = packet_ring_room(ring.slot);
        // The driver wants room for the whole slot behind its header, though a frame takes less.
        room = std::max(room, ring.slot + RTE_PKTMBUF_HEADROOM);
        transmit_room_ = packet_ring_send_room(ring.slot);
    }
    const bool is_af_xdp = kernel_ && kernel_->is_af_xdp;
    if (is_af_xdp) {
        if (room > page_pool_room()) {
            return fail(ErrorCode::kNotSupported,
                        "port {} ({}): AF_XDP has buffers of {} bytes, and {} are asked for",
                        config_.name, config_.device, page_pool_room(), room);
        }
        room = page_pool_room();
    }
    transmit_room_ = transmit_room_ == 0 ? room - RTE_PKTMBUF_HEADROOM : transmit_room_;
    if (room > UINT16_MAX) {
        return fail(ErrorCode::kNotSupported,
                    "port {} ({}): a frame buffer of {} bytes is longer than DPDK's longest, {}",
                    config_.name, config_.device, room, UINT16_MAX);
    }
    const std::string name = fmt::format("frames_{}", id_);
    pool_ = is_af_xdp ? make_page_pool(name, config_.pool_mbufs, memory_node(id_))
                      : make_frame_pool(name, config_.pool_mbufs, static_cast<std::uint16_t>(room),
                                        memory_node(id_));
    if (pool_ == nullptr) {
        return fail(
            ErrorCode::kFailed,
            "port {} ({}): no memory for {} frame buffers of {} bytes ({}); give the tester more",
            config_.name, config_.device, config_.pool_mbufs, room, rte_strerror(rte_errno));
    }
    return {};
}

// The kernel takes no XDP program whose frames need more than a page (veth_xdp_set, and most
// drivers).
Status Port::receive_queue_done(int outcome, std::size_t log_from) const {
    if (outcome != 0 && kernel_ && kernel_->is_af_xdp && kernel_->at_open.mtu > RTE_ETHER_MTU) {
        return fail(ErrorCode::kBadInput,
                    "port {} ({}): no AF_XDP socket on interface {} with its MTU {}, which is more "
                    "than a buffer holds; 'ip link set dev {} mtu {}'",
                    config_.name, config_.device, kernel_->at_open.name, kernel_->at_open.mtu,
                    kernel_->at_open.name, RTE_ETHER_MTU);
    }
    return done(config_, outcome, "set up a receive queue", log_from);
}

Status Port::set_up_queues() {
    const std::size_t log_from = eal_log_text().size();
    std::uint16_t rx_descriptors = config_.rx_descriptors;
    std::uint16_t tx_descriptors = config_.tx_descriptors;
    TRY(done(config_, rte_eth_dev_adjust_nb_rx_tx_desc(id_, &rx_descriptors, &tx_descriptors),
             "number of descriptors", log_from));
    const auto node = static_cast<unsigned>(memory_node(id_));
    const XdpSockets others = XdpSockets::all();
    for (std::uint16_t queue = 0; queue < config_.rx_queues; ++queue) {
        TRY(receive_queue_done(
            rte_eth_rx_queue_setup(id_, queue, rx_descriptors, node, nullptr, pool_), log_from));
    }
    for (std::uint16_t queue = 0; queue < config_.tx_queues; ++queue) {
        TRY(done(config_, rte_eth_tx_queue_setup(id_, queue, tx_descriptors, node, nullptr),
                 "set up a transmit queue", log_from));
    }
    if (kernel_ && kernel_->is_af_xdp) {
        kernel_->xdp_sockets = XdpSockets::opened_since(others);
        TRY(of_port(config_, kernel_->xdp_sockets.set_send_buffer(config_.send_buffer_bytes)));
    }
    return {};
}

Status Port::start() {
    const bool is_af_packet = kernel_ && kernel_->is_af_packet;
    if (is_af_packet) {
        TRY(of_port(config_, kernel_->sockets.hear(config_.hears)));
    }
    const std::size_t log_from = eal_log_text().size();
    const bool shares_flag = is_af_packet || (kernel_ && kernel_->is_af_xdp);
    if (shares_flag) {
        auto asked = TRY(of_port(config_, Promiscuous::on(kernel_->index)));
        kernel_->promiscuous.emplace(std::move(asked));
    }
    // Drivers of kernel interfaces write their own mode to the flag that all users share when they
    // start: give them the flag's mode, so that it stays as it is. A ring has no such mode: not an
    // error.
    if (shares_flag && (kernel_->at_open.flags & IFF_PROMISC) != 0) {
        rte_eth_promiscuous_enable(id_);
    }
    TRY(done(config_, rte_eth_dev_start(id_), "start", log_from));
    if (!shares_flag) {
        rte_eth_promiscuous_enable(id_);
    }
    if (is_af_packet) {
        empty();
        kernel_->sockets.start_counting();
    }
    return {};
}

Status Port::await_link(const rte_eth_dev_info& device) {
    // Emulated NICs take their time, too. Only a device on a bus has a colon.
    const bool has_cable = config_.device.find(':') != std::string::npos &&
                           evidence_of(device.driver_name, config_.device) != Evidence::kSimulated;
    if (!has_cable || config_.link_wait.count() == 0 || wait_for_link(id_, config_.link_wait)) {
        return {};
    }
    return fail(ErrorCode::kUnavailable,
                "port {} ({}): no link within {} s; look at the cable, the transceiver and the "
                "peer's port",
                config_.name, config_.device,
                std::chrono::duration<double>(config_.link_wait).count());
}

void Port::describe(const rte_eth_dev_info& device) {
    info_.name = config_.name;
    info_.device = config_.device;
    info_.driver = device.driver_name;
    info_.evidence = evidence_of(info_.driver, config_.device);
    rte_ether_addr mac{};
    if (rte_eth_macaddr_get(id_, &mac) == 0) {
        std::copy(std::begin(mac.addr_bytes), std::end(mac.addr_bytes), info_.mac.bytes.begin());
    }
    // A virtual driver's speed is a constant in its source, no measurement.
    if (info_.evidence == Evidence::kPhysical) {
        info_.link_mbps = link_mbps(id_);
    }
    info_.numa_node = std::max(-1, rte_eth_dev_socket_id(id_));
    info_.tx_offloads = tx_names(device.tx_offload_capa);
    info_.rx_offloads = rx_names(device.rx_offload_capa);
    if (info_.evidence != Evidence::kSimulated) {
        std::uint16_t mtu = 0;
        rte_eth_dev_get_mtu(id_, &mtu);
        // net_af_packet keeps 1500 whatever its interface has.
        const auto state = kernel_ ? kernel_->interface.state() : Result<InterfaceState>();
        transmit_limit_ = (kernel_ && state ? state->mtu : mtu) + RTE_ETHER_HDR_LEN;
    }
}

std::uint16_t Port::rx_burst(std::uint16_t queue, rte_mbuf** frames, std::uint16_t room) noexcept {
    return rte_eth_rx_burst(id_, queue, frames, room);
}

std::uint16_t Port::rx_any(rte_mbuf** frames, std::uint16_t room) noexcept {
    std::uint16_t got = 0;
    for (std::uint16_t look = 0; look < config_.rx_queues && got == 0; ++look) {
        got = rx_burst(turn_, frames, room);
        turn_ = turn_ + 1 < config_.rx_queues ? static_cast<std::uint16_t>(turn_ + 1)
                                              : std::uint16_t{0};
    }
    return got;
}

std::uint64_t Port::empty(std::uint16_t queue) noexcept {
    std::array<rte_mbuf*, 64> frames;
    std::uint64_t total = 0;
    // Bounded: somebody may go on sending to us.
    for (int burst = 0; burst < 2048; ++burst) {
        const std::uint16_t got = rx_burst(queue, frames.data(), frames.size());
        if (got == 0) {
            break;
        }
        rte_pktmbuf_free_bulk(frames.data(), got);
        total += got;
    }
    return total;
}

std::uint64_t Port::empty() noexcept {
    std::uint64_t total = 0;
    for (std::uint16_t queue = 0; queue < config_.rx_queues; ++queue) {
        total += empty(queue);
    }
    return total;
}

std::uint16_t Port::tx_burst(std::uint16_t queue, rte_mbuf** frames, std::uint16_t count) noexcept {
    return rte_eth_tx_burst(id_, queue, frames, count);
}

bool Port::push_out() noexcept {
    return !kernel_ || !kernel_->is_af_packet || kernel_->sockets.push_out();
}

PortCounters Port::counters() const {
    rte_eth_stats stats{};
    rte_eth_stats_get(id_, &stats);
    PortCounters counters{.rx_packets = stats.ipackets,
                          .tx_packets = stats.opackets,
                          .rx_missed = stats.imissed,
                          .rx_no_mbuf = stats.rx_nombuf,
                          .rx_errors = stats.ierrors,
                          .tx_errors = stats.oerrors};
    counters.tx_by_interface = counters.tx_packets;
    if (kernel_ && (kernel_->is_af_packet || kernel_->is_af_xdp)) {
        kernel_->add_its_count(counters);
    }
    return counters;
}

Link Port::link() const {
    if (kernel_) {
        const auto state = kernel_->interface.state();
        if (!state) {
            return Link::kGone;
        }
        return (state->flags & IFF_RUNNING) != 0 ? Link::kUp : Link::kDown;
    }
    if (is_removed(id_, config_.device)) {
        return Link::kGone;
    }
    rte_eth_link link{};
    const bool asked = rte_eth_link_get_nowait(id_, &link) == 0;
    return asked && link.link_status == RTE_ETH_LINK_UP ? Link::kUp : Link::kDown;
}

std::string Port::link_trouble() const {
    switch (link()) {
        case Link::kUp: return {};
        case Link::kGone:
            return kernel_ ? fmt::format("port {}: its kernel interface {} no longer exists",
                                         config_.name, kernel_->at_open.name)
                           : fmt::format("port {}: its device {} was removed", config_.name,
                                         config_.device);
        case Link::kDown:
            return kernel_ ? fmt::format("port {}: interface {} is down or has no carrier",
                                         config_.name, kernel_->at_open.name)
                           : fmt::format("port {} ({}): the link is down", config_.name,
                                         config_.device);
    }
    return {};
}

}  // namespace pathproof::port
