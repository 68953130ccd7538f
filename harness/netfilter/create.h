// Making conntrack entries through ctnetlink, as they would stand after packets that nobody sent.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "dataplane/base/result.h"
#include "dataplane/frame/address.h"
#include "harness/netfilter/entry.h"

namespace pathproof::netfilter {

// Status of an answered flow, which early_drop leaves alone.
inline constexpr std::uint32_t kAnsweredFlow =
    status::kConfirmed | status::kSeenReply | status::kAssured;

struct NewEntry {
    frame::Endpoint source;
    frame::Endpoint destination;
    std::uint8_t protocol = 0;  // IPPROTO_TCP (then ESTABLISHED) or IPPROTO_UDP
    std::uint32_t status = status::kConfirmed;
    std::optional<frame::IpAddress> translated;  // destination
    std::uint32_t timeout_s = 86'400;
};

// Makes `count` entries in the namespace `netns` (empty: the caller's), some two hundred with each
// system call. Errors: what the kernel says of the first entry that it refuses, kUnavailable where
// the table is full. Needs CAP_NET_ADMIN.
Status create_entries(const std::string& netns, std::uint64_t count,
                      const std::function<NewEntry(std::uint64_t)>& entry);

// Makes one entry with both of its tuples, its mark, zone and status, and waits for the answer.
class Socket;
Status create_entry(Socket& socket, const Entry& entry);

}  // namespace pathproof::netfilter
