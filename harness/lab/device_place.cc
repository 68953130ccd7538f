#include "harness/lab/device_place.h"

#include <net/if.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>

#include "harness/agent/ethtool.h"
#include "harness/lab/netns_identity.h"
#include "harness/lab/port_interface.h"

namespace pathproof::lab {
namespace {

struct Place {
    NetnsIdentity netns;
    unsigned index = 0;
    std::string permanent;  // empty: it has no such address
};

std::string permanent_of(const std::string& device) {
    const auto address = agent::read_permanent_address(device);
    return address ? to_string(*address) : "";
}

std::optional<Place> parse_place(const std::string& text) {
    Place place;
    int end = 0;
    if (std::sscanf(text.c_str(), "%lu:%lu:%u%n", &place.netns.inode, &place.netns.cookie,
                    &place.index, &end) != 3 ||
        (text[end] != '\0' && text[end] != ' ')) {
        return std::nullopt;
    }
    place.permanent = text.substr(std::min<std::size_t>(end + 1, text.size()));
    return place;
}

}  // namespace

Result<std::string> place_of(const std::string& device) {
    const NetnsIdentity netns = TRY(current_netns());
    const unsigned index = TRY(interface_index(device));
    const std::string permanent = permanent_of(device);
    return fmt::format("{}:{}{}{}", to_string(netns), index, permanent.empty() ? "" : " ",
                       permanent);
}

Result<bool> at_device(const std::string& place,
                       const std::function<Status(const std::string& device)>& work) {
    const auto wanted = parse_place(place);
    if (!wanted) {
        return fail(ErrorCode::kBadInput, "'{}' names no device", place);
    }
    bool there = false;
    TRY(run_in(wanted->netns, [&]() -> Status {
        std::array<char, IF_NAMESIZE> name{};
        there = if_indextoname(wanted->index, name.data()) != nullptr &&
                permanent_of(name.data()) == wanted->permanent;
        return there ? work(name.data()) : Status();
    }));
    return there;
}

}  // namespace pathproof::lab
