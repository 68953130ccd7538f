// A device that bears test addresses for a while, so that the kernel takes what is sent to them for
// its own. Everything is in the journal of its host, and put back by hand as well.
#pragma once

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
    AddressedDevice(AddressedDevice&&) noexcept;
    AddressedDevice& operator=(AddressedDevice&&) = delete;
    ~AddressedDevice();

    // Empty: it bears an address of this family.
    const std::string& why_not(frame::Family family) const;
    static frame::IpAddress own(frame::Family family);
    static frame::IpAddress tester(frame::Family family);
    // Another change for as long: see lab::Journal::change_ip(). `of`: the device that it is of;
    // empty: this one.
    Status change(const std::string& change, const std::string& undo, const std::string& of = "");
    // What change() did so far, addresses included, and putting back all but the first so many.
    std::size_t changes() const { return undo_.size(); }
    void put_back(std::size_t kept = 0);

  private:
    AddressedDevice(const TruthHost& host, std::string device)
        : host_(host), device_(std::move(device)) {}
    Status add_address(frame::Family family, const std::string& prefix);

    TruthHost host_;
    std::string device_;
    std::vector<std::string> undo_;  // commands of ip(8), oldest first
    std::string why_no_v4_;
    std::string why_no_v6_;
};

}  // namespace pathproof::scenario
