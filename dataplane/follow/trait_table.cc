#include "dataplane/follow/trait_table.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace pathproof::follow {
namespace {

// In this order, and only if they have many values.
constexpr Trait kGivenUp[] = {Trait::kSourcePort,    Trait::kDestinationPort,
                              Trait::kSourceAddress, Trait::kDestinationAddress,
                              Trait::kHopLimit,      Trait::kTrafficClass,
                              Trait::kVlan,          Trait::kTcpFlags,
                              Trait::kTcpOptionBytes};
constexpr Trait kGivenUpLast[] = {Trait::kPayloadBytes, Trait::kFrameBytes, Trait::kInterface};

std::uint64_t key_of(std::uint32_t owner, const Traits& traits) {
    return digest({reinterpret_cast<const std::uint8_t*>(traits.data()), sizeof traits},
                  owner + 1ull);
}

}  // namespace

void TraitTable::add(std::uint32_t owner, const Packet& packet) {
    Traits traits = traits_of(packet);
    if (!told_.all()) {
        for (std::size_t i = 0; i < kTraits; ++i) {
            traits[i] = told_.test(i) ? traits[i] : 0;
        }
    }
    const auto [found, is_new] = alike_.try_emplace(key_of(owner, traits));
    Alike& alike = found->second;
    ++alike.frames;
    if (!is_new) {
        return;
    }
    alike.traits = traits;
    alike.first = {packet.file, packet.number};
    alike.owner = owner;
    if (packet.ip == frame::Network::kIpv6 && addresses_.size() < most_) {
        for (const frame::Bytes one : {packet.source(), packet.destination()}) {
            addresses_.try_emplace(address_trait(one), address_text(one));
        }
    }
    if (alike_.size() > most_) {
        coarsen();
    }
}

void TraitTable::coarsen() {
    const auto values = [&](Trait trait) {
        std::unordered_set<std::uint32_t> seen;
        for (const auto& [key, alike] : alike_) {
            seen.insert(alike.traits[bit(trait)]);
        }
        return seen.size();
    };
    const auto give_up = [&](Trait trait) {
        told_.reset(bit(trait));
        std::unordered_map<std::uint64_t, Alike> merged;
        for (auto& [key, alike] : alike_) {
            alike.traits[bit(trait)] = 0;
            const auto [found, is_new] =
                merged.try_emplace(key_of(alike.owner, alike.traits), alike);
            Alike& into = found->second;
            if (!is_new) {
                into.frames += alike.frames;
                into.first = alike.first.number < into.first.number ? alike.first : into.first;
            }
        }
        alike_ = std::move(merged);
    };
    while (alike_.size() > most_ / 2) {
        Trait most_varied = Trait::kFrameBytes;
        std::size_t most = 1;
        for (const Trait trait : kGivenUp) {
            if (const std::size_t count = told_.test(bit(trait)) ? values(trait) : 0;
                count > most) {
                most = count;
                most_varied = trait;
            }
        }
        if (most > 1) {
            give_up(most_varied);
            continue;
        }
        for (const Trait trait : kGivenUpLast) {
            if (told_.test(bit(trait)) && alike_.size() > most_ / 2) {
                give_up(trait);
            }
        }
        break;
    }
}

std::vector<Alike> TraitTable::of(std::uint32_t owner) const {
    std::vector<Alike> all;
    for (const auto& [key, alike] : alike_) {
        if (alike.owner == owner) {
            all.push_back(alike);
        }
    }
    std::ranges::sort(all, {}, [](const Alike& alike) {
        return std::pair(alike.first.file, alike.first.number);
    });
    return all;
}

std::string TraitTable::address(std::uint32_t trait) const {
    const auto found = addresses_.find(trait);
    return found == addresses_.end() ? "" : found->second;
}

}  // namespace pathproof::follow
