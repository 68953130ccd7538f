// Many conntrack entries of many kinds at once, made through ctnetlink.
#pragma once

#include <cstdint>
#include <string>

namespace pathproof::netfilter::lab {

// Puts `count` entries into the namespace's table, each with addresses of its own from `first` on:
// TCP and SCTP in all their states, UDP, UDP-Lite, ICMP, ICMPv6, GRE and a protocol without ports,
// over IPv4 and IPv6, with every kind of zone, with marks, status bits and labels. Needs a rule
// with -m connlabel in the namespace for the labels.
void insert_mixed(const std::string& netns, std::uint32_t count, std::uint32_t first = 0);

// Gives the same entries another mark.
void mark_mixed(const std::string& netns, std::uint32_t count, std::uint32_t first,
                std::uint32_t mark);

}  // namespace pathproof::netfilter::lab
