// A device for searches: a namespace of this kernel that forwards, with a token bucket of known
// rate and queue on its way out, so that the device and not the tester is the limit.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace pathproof {

struct SearchOutput {
    int code = 0;
    std::vector<nlohmann::json> lines;  // that it printed on stdout
    std::string said;                   // on stderr
};

// c0 sends, s0 receives; the device forwards from d0 to ds, where 960 kbit/s leave at most: 2000
// frames of 60 bytes a second, with room for 200 more.
class KernelDevice {
  public:
    KernelDevice();
    KernelDevice(const KernelDevice&) = delete;
    KernelDevice& operator=(const KernelDevice&) = delete;
    ~KernelDevice();

    const std::string& tester() const { return tester_; }

    // The search command with its addresses and ports behind `arguments`; `before` is put before
    // the command, `meanwhile` is run by a shell beside it.
    SearchOutput search(const std::string& arguments, const std::string& before = "",
                        const std::string& meanwhile = "") const;

  private:
    std::string tester_;
    std::string dut_;
};

}  // namespace pathproof
