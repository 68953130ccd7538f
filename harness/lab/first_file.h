// A first lab file, written from what two machines have.
#pragma once

#include <string>
#include <vector>

#include "harness/agent/device_info.h"
#include "harness/lab/lab_file.h"
#include "harness/lab/machine_use.h"

namespace pathproof::lab {

struct FoundDevice {
    DeviceUse use;
    agent::DeviceInfo info = {};          // as far as it is told
    std::vector<std::string> objections;  // why it is left alone; empty: it may be used
};

struct FoundHosts {
    std::string tester_netns;
    std::vector<FoundDevice> tester;
    Dut dut;  // where it is; nowhere: nobody said
    std::vector<FoundDevice> dut_devices;
};

// Text of TOML that parse_lab_file() takes. Ports with a link come first; the first of the tester is
// put together with the first of the DUT, and so on. kNotFound: the tester has no port to spare, and
// why not.
Result<std::string> first_lab_file(const FoundHosts& found);

}  // namespace pathproof::lab
