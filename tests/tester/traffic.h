// Small kernel-socket traffic between two namespaces, for judging what a wire between them carries.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace pathproof::tester {

struct Side {
    std::string netns;
    std::string address;  // IPv4
};

// Echo requests that were answered, of `count` with `payload` bytes each; every one waits up to 300
// ms.
unsigned ping(const Side& from, const Side& to, unsigned count, std::size_t payload = 56);

// Bytes that arrived of `size` sent over one TCP connection; 0 when it was not made within
// `patience`.
std::size_t tcp_transfer(const Side& from, const Side& to, std::size_t size,
                         std::chrono::milliseconds patience);

// Sends `count` UDP datagrams as fast as it can to a port where nobody listens; gives how many the
// kernel took.
unsigned udp_burst(const Side& from, const Side& to, unsigned count);

// Sends Ethernet frames of `size` bytes without their VLAN tag, tagged with VLAN 7, from eth0 to
// eth0; gives how many arrived whole and still tagged.
unsigned tagged_frames(const Side& from, const Side& to, unsigned count, std::size_t size);

// A counter of /proc/net/snmp of the namespace: kernel_counter("pp-x", "Tcp", "InCsumErrors").
std::uint64_t kernel_counter(const std::string& netns, const std::string& protocol,
                             const std::string& name);

// Runs a command inside the namespace; fails the test if it fails.
void in(const std::string& netns, const std::string& command);

}  // namespace pathproof::tester
