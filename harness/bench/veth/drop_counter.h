// A sink for frames at the far end of a veth pair: an XDP program that counts and drops them, so
// that what is measured ends there and is no IP stack's work. Its counter belongs to no program
// that is compared.
#pragma once

#include <cstdint>
#include <string>

#include "dataplane/base/file.h"
#include "dataplane/base/result.h"

namespace pathproof::bench {

class DropCounter {
  public:
    // Attaches the program in driver mode. kKernelLacks when the kernel or the device has no XDP,
    // kNotPermitted without CAP_BPF and CAP_NET_ADMIN.
    static Result<DropCounter> attach(const std::string& netns, const std::string& device);
    DropCounter(DropCounter&& other) noexcept;
    DropCounter& operator=(DropCounter&&) = delete;
    ~DropCounter();  // detaches it

    // Frames dropped so far, over all CPUs.
    Result<std::uint64_t> frames() const;

  private:
    DropCounter(Fd map, std::string netns) : map_(std::move(map)), netns_(std::move(netns)) {}

    Fd map_;
    int index_ = 0;  // of the device, once the program is attached
    std::string netns_;
};

}  // namespace pathproof::bench
