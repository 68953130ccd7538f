// A packet socket that sees nothing but refusals.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "dataplane/base/result.h"
#include "harness/monitor/refusal.h"

namespace pathproof::monitor {

// Origin of a refusal that was seen.
enum class Sender {
    kElsewhere,  // it came in, or passed through
    kHere,       // it went out from an address of this namespace: a rule or a closed port here
};

class RefusalListener {
  public:
    // Listens on every device of the namespace (empty: the caller's) from its return on, at the
    // cost of a short socket filter for each packet. Needs CAP_NET_RAW there (kNotPermitted).
    static Result<std::unique_ptr<RefusalListener>> start(const std::string& netns);
    virtual ~RefusalListener() = default;

    // Gives all that waits in the socket, without waiting for more. The same refusal may come
    // several times: on the way in and, translated, on the way out.
    virtual void drain(const std::function<void(const Refusal&, Sender)>& visit) = 0;

    // Packets that found the socket's buffer full.
    virtual std::uint64_t lost() = 0;
};

}  // namespace pathproof::monitor
