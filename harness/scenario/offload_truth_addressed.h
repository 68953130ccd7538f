// A device that bears test addresses for a while, so that the kernel takes what is sent to them for
// its own. Everything is in the journal, and put back by hand as well.
#pragma once

#include <string>
#include <vector>

#include "harness/lab/journal.h"
#include "harness/scenario/truth_bench.h"

namespace pathproof::scenario {

class AddressedDevice {
  public:
    // 198.19.255.1/30 and 2001:db8:ffff:ffff::1/126; the tester is .2 and ::2. A family that cannot
    // be had is told by why_not(); an error is returned only when neither can.
    static Result<AddressedDevice> take(lab::Journal& journal, const TruthDevice& device);
    AddressedDevice(AddressedDevice&&) noexcept;
    AddressedDevice& operator=(AddressedDevice&&) = delete;
    ~AddressedDevice();

    // Empty: it bears an address of this family.
    const std::string& why_not(frame::Family family) const;
    static frame::IpAddress own(frame::Family family);
    static frame::IpAddress tester(frame::Family family);
    // Another change for as long: see lab::Journal::change_ip().
    Status change(const std::string& change, const std::string& undo);

  private:
    AddressedDevice(lab::Journal& journal, TruthDevice device)
        : journal_(&journal), device_(std::move(device)) {}
    Status add_address(frame::Family family, const std::string& prefix);
    void put_back();

    lab::Journal* journal_;
    TruthDevice device_;
    std::vector<std::string> undo_;  // commands of ip(8), oldest first
    std::string why_no_v4_;
    std::string why_no_v6_;
};

}  // namespace pathproof::scenario
