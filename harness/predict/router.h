// Routes asked of the kernel itself (RTM_GETROUTE), which uses its tables, routing rules, reverse path
// filters and next hops as they are.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "dataplane/base/result.h"
#include "dataplane/frame/address.h"

namespace pathproof::predict {

struct RouteQuery {
    std::optional<frame::IpAddress> source = std::nullopt;  // none: as the kernel chooses
    frame::IpAddress destination;
    std::string in = "";  // empty: sent by this host
    std::uint32_t mark = 0;
    std::uint8_t protocol = 0;
    std::uint16_t source_port = 0, destination_port = 0;
    std::optional<std::uint32_t> user = std::nullopt;
    bool operator==(const RouteQuery&) const = default;
};

struct RouteAnswer {
    enum class Kind : std::uint8_t {
        kLocal,
        kOnward,
        kNone,           // unreachable, prohibited, blackhole
        kReversePath,    // EXDEV of fib_validate_source(): the source's way back is another
        kNotForwarding,  // the device it comes by does not forward
        kUnknown,        // `text` says why
    } kind = Kind::kUnknown;
    std::string out = "";
    std::optional<frame::IpAddress> gateway = std::nullopt;
    std::optional<frame::IpAddress> source = std::nullopt;  // RTA_PREFSRC
    std::uint32_t mtu = 0;                                  // of the path, where one is known
    std::string text = "";
};

class Router {
  public:
    virtual ~Router() = default;
    virtual RouteAnswer find(const RouteQuery& query) = 0;
};

// A router that asks the kernel in a network namespace (empty: the caller's).
Result<std::unique_ptr<Router>> kernel_router(const std::string& netns);

}  // namespace pathproof::predict
