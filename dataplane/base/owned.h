// Things that a library of C gives and wants back.
#pragma once

#include <memory>

namespace pathproof {

template <auto give_back>
struct GivesBack {
    template <typename T>
    void operator()(T* thing) const noexcept {
        give_back(thing);
    }
};

// using Ring = Owned<rte_ring, rte_ring_free>;
template <typename T, auto give_back>
using Owned = std::unique_ptr<T, GivesBack<give_back>>;

}  // namespace pathproof
