// Names of code addresses in the kernel.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace pathproof::drops {

// "nf_hook_slow+0xa7" for an address in the kernel or a module. Where /proc/kallsyms hides the
// addresses (kernel.kptr_restrict) or does not know one, the address itself: "0xffffffff81a2b3c4".
class KernelSymbols {
  public:
    explicit KernelSymbols(std::string path = "/proc/kallsyms") : path_(std::move(path)) {}

    // Reads the file once for all addresses that were not asked for before; nothing else of it is
    // kept.
    void learn(const std::vector<std::uint64_t>& addresses);
    // Names an address that was given to learn().
    std::string name(std::uint64_t address) const;

  private:
    std::string path_;
    std::map<std::uint64_t, std::string> known_;
};

}  // namespace pathproof::drops
