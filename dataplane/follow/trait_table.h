// Counts frames by their traits, in bounded memory: where too many kinds are seen, the trait with the
// most values, addresses and ports before all, is not told apart any more.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "dataplane/follow/traits.h"

namespace pathproof::follow {

// Frames that are alike.
struct Alike {
    Traits traits{};
    std::uint64_t frames = 0;
    FrameName first;
    std::uint32_t owner = 0;
};

class TraitTable {
  public:
    // `most`: kinds that are held. One takes about 200 bytes.
    explicit TraitTable(std::size_t most = 1u << 16) : most_(most) {}

    // `owner`: whose frame it is, any number.
    void add(std::uint32_t owner, const Packet& packet);
    std::vector<Alike> of(std::uint32_t owner) const;
    // Traits that are told apart.
    const TraitSet& told() const { return told_; }
    // Any IPv6 address that was seen, by its trait; empty: none.
    std::string address(std::uint32_t trait) const;

  private:
    void coarsen();

    std::size_t most_;
    TraitSet told_ = TraitSet().set();
    std::unordered_map<std::uint64_t, Alike> alike_;
    std::unordered_map<std::uint32_t, std::string> addresses_;
};

}  // namespace pathproof::follow
