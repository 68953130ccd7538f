// Settings of a kernel network interface, as commands of ip(8) that set a fresh one alike: MTU, MAC address,
// flags, addresses, permanent neighbours and routes. An interface that comes back from another driver or from
// another network namespace has lost them.
#pragma once

#include <string>
#include <vector>

#include "dataplane/base/result.h"

namespace pathproof::lab {

// Reads the settings of an interface in the calling thread's namespace, in the order in which they
// are to be given.
std::vector<std::string> settings_of(const std::string& interface);

// Gives the interface those of these settings that it lacks, and says how many these were.
Result<std::size_t> give_settings(const std::string& interface,
                                  const std::vector<std::string>& settings);

// Output of ip(8) about an interface, each with -json; empty where it printed nothing.
struct InterfaceText {
    std::string addresses;   // ip -details address show dev NAME
    std::string neighbours;  // ip neigh show dev NAME nud permanent
    std::string routes;      // ip -4 route show table all dev NAME
    std::string routes6;     // ip -6 route show table all dev NAME
};
std::vector<std::string> settings_in(const InterfaceText& text);

}  // namespace pathproof::lab
