// A device that bears test addresses for a while, so that the kernel takes what is sent to them for
// its own. Everything is in the journal of its host, and put back by hand as well.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/scenario/offload_truth/truth_bench.h"
#include "harness/scenario/offload_truth/truth_host.h"

namespace pathproof::scenario {

class AddressedDevice {
  public:
    // 198.19.255.1/30 and 2001:db8:ffff:ffff::1/126; the tester is .2 and ::2. A family that cannot
    // be had is told by why_not(); an error is returned only when neither can.
    static Result<AddressedDevice> take(const TruthHost& host, const std::string& device);
    AddressedDevice(AddressedDevice&&) = default;  // a moved vector is empty: nothing to undo
    AddressedDevice& operator=(AddressedDevice&&) = delete;
    ~AddressedDevice();

    // Empty: it bears an address of this family.
    const std::string& why_not(frame::Family family) const;
    static frame::IpAddress own(frame::Family family);
    static frame::IpAddress tester(frame::Family family);
    // The kernel need not ask for the tester, which it may have done in vain before.
    Status know_tester(frame::Family family);
    // Another device above this one, for as long.
    struct Above {
        std::string name;
        std::uint32_t mtu = 0;
        std::string type;  // for `ip link add`
        std::string address;
        std::string neighbour;  // that need not be asked for; empty: none
    };
    Status add_device(const Above& above);
    // Number of changes so far; put_back() undoes all but the first `kept` of them.
    std::size_t changes() const { return undo_.size(); }
    void put_back(std::size_t kept = 0);

  private:
    AddressedDevice(const TruthHost& host, std::string device)
        : host_(host), device_(std::move(device)) {}
    // See lab::Journal::change_ip(). `of`: the device that it is of.
    Status change(const std::string& of, const std::string& change, const std::string& undo);
    Status add_address(const std::string& of, const std::string& prefix, const char* flags = "");
    Status add_neighbour(const std::string& of, const std::string& address, const char* mac);

    TruthHost host_;
    std::string device_;
    std::vector<std::string> undo_;  // commands of ip(8), oldest first
    std::string why_no_v4_;
    std::string why_no_v6_;
};

}  // namespace pathproof::scenario
