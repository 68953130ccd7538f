// Independent pieces of work on a few threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace pathproof::calibration {

// Calls work(0) ... work(count - 1), each once, in no order, on `workers` threads (at least one).
template <typename Work>
void for_each_piece(std::size_t count, unsigned workers, const Work& work) {
    std::atomic<std::size_t> next = 0;
    const auto take = [&] {
        for (std::size_t piece = next++; piece < count; piece = next++) {
            work(piece);
        }
    };
    std::vector<std::jthread> threads;
    for (unsigned i = 1; i < workers; ++i) {
        threads.emplace_back(take);
    }
    take();
}

}  // namespace pathproof::calibration
