#include "harness/bench/load/load_plans.h"

#include <algorithm>

namespace pathproof::bench {
namespace {

// Number of mbufs that dpdk-testpmd is given, too (peers/testpmd.cc): a larger pool costs cache
// misses.
constexpr std::uint32_t kMbufs = 8192;
constexpr std::uint32_t kMbufsOfSocket = 16'384;
constexpr std::uint32_t kPlanMemoryMib = 512;
constexpr std::uint16_t kHeadroom = 128;
constexpr std::uint16_t kUsualMbufBytes = 2048 + kHeadroom;
constexpr std::uint16_t kFirstPort = 10'000;
constexpr std::uint64_t kPorts = 50'000;
constexpr std::uint16_t kOuterPorts = 64;
constexpr std::uint16_t kVxlanPort = 4789;
constexpr std::uint16_t kDnsPort = 53;
// Time for which a lost frame holds its place in a closed loop; no answer that is measured takes so
// long.
constexpr auto kLongestAnswer = std::chrono::milliseconds(100);
constexpr std::uint16_t kEthernetMtuFrame = 1514;

std::string device_of(const std::string& vdev) {
    return vdev.substr(0, vdev.find(','));
}

// The job's size is the inner frame's; VXLAN over IPv4 adds 50 bytes (RFC 7348 section 5).
std::uint16_t whole_frame_bytes(const LoadJob& job) {
    const bool in_envelope = job.frame_bytes != 0 && job.envelope == LoadJob::Envelope::kVxlan;
    return static_cast<std::uint16_t>(job.frame_bytes + (in_envelope ? 50 : 0));
}

frame::TunnelSpec envelope() {
    frame::TunnelSpec tunnel;
    tunnel.outer.source_mac = {{0x02, 0, 0, 0xbe, 1, 1}};
    tunnel.outer.destination_mac = {{0x02, 0, 0, 0xbe, 1, 2}};
    tunnel.outer.source = {frame::IpAddress::v4(0xc633'6401), 49'152};           // 198.51.100.1
    tunnel.outer.destination = {frame::IpAddress::v4(0xcb00'7101), kVxlanPort};  // 203.0.113.1
    tunnel.vni = 4096;
    return tunnel;
}

}  // namespace

bool is_of_kernel(const LoadJob& job) {
    return job.vdev.starts_with("net_af_");
}

port::EalOptions eal_options_of(const LoadJob& job) {
    return {.worker_cpus = job.cpus,
            .main_cpus = {job.control_cpu},
            .memory_mib = kPlanMemoryMib,
            .vdevs = {job.vdev},
            .pci = {}};
}

port::PortConfig port_config_of(const LoadJob& job) {
    const auto queues = static_cast<std::uint16_t>(job.cpus.size());
    const auto room = static_cast<std::uint16_t>(job.frame_bytes + kHeadroom + 64);
    port::PortConfig config{.name = "bench",
                            .device = device_of(job.vdev),
                            .rx_queues = queues,
                            .tx_queues = queues,
                            .pool_mbufs = is_of_kernel(job) ? kMbufsOfSocket : kMbufs * queues,
                            .mbuf_bytes = std::max(kUsualMbufBytes, room)};
    if (job.frame_bytes > kEthernetMtuFrame) {
        config.mtu = static_cast<std::uint16_t>(job.frame_bytes - 14);
    }
    return config;
}

load::SourcePlan source_plan_of(const LoadJob& job) {
    load::SourcePlan plan;
    plan.spec.packet.source_mac = job.source_mac;
    plan.spec.packet.destination_mac = job.destination_mac;
    plan.spec.packet.source = {job.source, kFirstPort};
    plan.spec.packet.destination = {job.destination, kDnsPort};
    plan.spec.packet.transport_checksum = job.checksum == LoadJob::UdpChecksum::kZero
                                              ? frame::ChecksumMode::kZero
                                              : frame::ChecksumMode::kSoftware;
    const bool pairs = job.traffic == LoadJob::Traffic::kDnsPairs;
    plan.mix = {{.traffic = pairs ? frame::TrafficClass::kDnsA : frame::TrafficClass::kUdp,
                 .frame_bytes = whole_frame_bytes(job)}};
    plan.pairing = pairs ? load::SourcePlan::Pairing::kPairs : load::SourcePlan::Pairing::kSingle;
    plan.flow = {.flows = job.flows,
                 .first_port = kFirstPort,
                 .ports = static_cast<std::uint16_t>(std::min(job.flows, kPorts))};
    if (job.envelope == LoadJob::Envelope::kVxlan) {
        plan.spec.tunnel = envelope();
        for (std::uint16_t i = 0; i < kOuterPorts; ++i) {
            plan.outer_source_ports.push_back(static_cast<std::uint16_t>(49'152 + i));
        }
    }
    return plan;
}

load::IntakePlan intake_plan_of(const LoadJob& job) {
    load::IntakePlan plan;
    plan.streams = static_cast<unsigned>(job.cpus.size());
    plan.expects = job.back == LoadJob::Back::kAnswers ? load::IntakePlan::Expects::kAnswers
                                                       : load::IntakePlan::Expects::kFrames;
    plan.keep_bad_frames = 0;
    if (job.rate == LoadJob::Rate::kClosedLoop) {
        plan.late_after = kLongestAnswer;
    }
    return plan;
}

}  // namespace pathproof::bench
