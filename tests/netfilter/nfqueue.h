// Packets held in an NFQUEUE and let go one by one: two first packets of a flow, held between
// conntrack's look-up and its confirmation, clash every time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct mnl_socket;

namespace pathproof::netfilter::lab {

class HeldPackets {
  public:
    // Binds queue `number` in the namespace.
    HeldPackets(const std::string& netns, std::uint16_t number);
    ~HeldPackets();

    // Waits until `count` packets are held (at most two seconds); their ids, oldest first.
    std::vector<std::uint32_t> wait_for(std::size_t count);
    void release(std::uint32_t id);

  private:
    void send_config(const void* attribute, std::uint16_t type, std::size_t length);

    const std::uint16_t number_;
    mnl_socket* socket_ = nullptr;
};

}  // namespace pathproof::netfilter::lab
