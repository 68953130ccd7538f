// Records when devices of a namespace had no link, from rtnetlink's RTM_NEWLINK messages.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/message/fields.h"

namespace pathproof::drops {

// A time in which a device was down or without a carrier. CLOCK_REALTIME, as the messages were
// read.
struct Outage {
    std::string device;
    std::int64_t from_ns = 0;
    std::int64_t until_ns = INT64_MAX;  // INT64_MAX: still so when the watch ended
    bool operator==(const Outage&) const = default;
};
FIELDS(Outage, device, from_ns, until_ns)

// Watches from the return of start() on, on a thread of its own, the caller's namespace.
class LinkWatch {
  public:
    static Result<std::unique_ptr<LinkWatch>> start();
    virtual ~LinkWatch() = default;

    // Ends the watch. A device that had no link from the start on has an outage from then.
    virtual std::vector<Outage> stop() = 0;
};

}  // namespace pathproof::drops
