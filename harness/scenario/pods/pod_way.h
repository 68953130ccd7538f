// One way between pods, and what is sent on it.
#pragma once

#include <cstdint>

#include "harness/scenario/pods/pod_bench.h"
#include "harness/scenario/pods/pod_paths.h"

namespace pathproof::scenario {

// A way between pods: who asks, by which address, and who answers.
struct PodWay {
    PodHost* sender = nullptr;
    PodHost* receiver = nullptr;
    frame::IpAddress sender_address, receiver_address;
    frame::IpAddress called;
    std::uint16_t port_offset = 0;
    std::uint32_t mtu = 1500;
    frame::Endpoint at(std::uint16_t port) const {
        return {called, static_cast<std::uint16_t>(port + port_offset)};
    }
};

inline constexpr std::uint16_t kFirstPodPort = 42'000;  // of what is forged

// Sends of each size, up to the first that fails, while the receiver's frames are taken; what is forged
// takes its ports from next_port on. An error: it could not be sent or looked at.
Status send_by(const PodWay& way, const PodPathCell& what, std::uint16_t& next_port,
               PodPathValues& seen);

}  // namespace pathproof::scenario
