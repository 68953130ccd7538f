// The device of the kernel that a run judges, and the tester's port at the other end of its cable.
#pragma once

#include <string>

#include "dataplane/base/result.h"
#include "dataplane/port/port.h"
#include "harness/agent/client.h"
#include "harness/lab/lab.h"
#include "harness/scenario/scenario.h"

namespace pathproof::run {

// A device that may be touched, its far end, and what a report on it may say.
struct DeviceChoice {
    scenario::TruthDevice device;
    port::Evidence evidence = port::Evidence::kVirtual;
    std::string evidence_note;
};

// `cable.tester_port` empty: the peer of a veth device. `dut`: the agent that describes the device,
// of a lab that has checked whether it may be touched; null: the device is on this machine.
// Errors (kBadInput): a device that must not be touched, is a tunnel, or has no link; a far end
// that is not known.
Result<DeviceChoice> choose_device(const lab::CabledDevice& cable, agent::Client* dut = nullptr);

// Takes another device of that host as the one by which the path is proven. Errors (kBadInput): it is the
// device itself or the tester's port, must not be touched, is a tunnel or has no link; kNotFound: there is none.
Status choose_proof(const std::string& name, scenario::TruthDevice& device);

}  // namespace pathproof::run
