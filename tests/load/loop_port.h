// A port whose frames come back to it: each transmit queue is the receive queue of the same number.
#pragma once

#include <cstdint>
#include <string>

#include "dataplane/port/port.h"

namespace pathproof::load {

port::Port loop_port(const std::string& name, std::uint16_t queues = 1, unsigned ring_size = 2048);

}  // namespace pathproof::load
