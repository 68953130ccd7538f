// A NIC in software between two kernel interfaces of a namespace: what one of them gets from its
// veth peer with work left to do (packet(7), PACKET_VNET_HDR) is sent on by the other as hardware
// would, with planted faults. The peer is then a device on a cable, whose driver leaves checksums
// and segmentation to that NIC. Frames that ask for nothing pass as they are, and so do those that
// come back, but for faults of the receiver.
#pragma once

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "dataplane/softnic/soft_nic.h"

class NicBetween {
  public:
    // `faults`: see softnic/faults.h.
    NicBetween(const std::string& netns, const std::string& host_side, const std::string& wire_side,
               const std::vector<std::string>& faults);
    ~NicBetween();
    NicBetween(const NicBetween&) = delete;
    NicBetween& operator=(const NicBetween&) = delete;

    // Ends the NIC and returns how often each fault acted.
    std::vector<std::uint64_t> stop();

  private:
    void run();
    void transmit();
    void receive();

    int host_ = -1;
    int wire_ = -1;
    pathproof::softnic::SoftNic nic_;
    std::atomic<bool> stopping_ = false;
    std::thread thread_;
};
