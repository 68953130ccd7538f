// Work for several hosts at one time: most of it is waiting for them.
#pragma once

#include <future>
#include <vector>

#include "dataplane/base/result.h"

namespace pathproof::process {

// Calls work(host) for each in a thread of its own and waits for all of them. The error of the first host
// that has one.
template <typename Hosts, typename Work>
Status at_once(const Hosts& hosts, const Work& work) {
    std::vector<std::future<Status>> all;
    for (const auto& host : hosts) {
        all.push_back(std::async(std::launch::async, [&]() -> Status { return work(host); }));
    }
    Status first;
    for (std::future<Status>& each : all) {
        Status done = each.get();
        if (first) {
            first = std::move(done);
        }
    }
    return first;
}

}  // namespace pathproof::process
