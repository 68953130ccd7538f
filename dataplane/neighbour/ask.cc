#include "dataplane/neighbour/ask.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <thread>

namespace pathproof::neighbour {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr unsigned kTries = 3;
constexpr auto kBetweenTries = std::chrono::seconds(1);
constexpr auto kNap = std::chrono::microseconds(50);
constexpr auto kAhead = milliseconds(200);
constexpr auto kAfterEach = milliseconds(2);
constexpr std::uint32_t kMostIntroduced = 1000;
constexpr std::uint32_t kIntroducedAtOnce = 32;

bool send(const Place& place, frame::Bytes frame) {
    rte_mbuf* mbuf = rte_pktmbuf_alloc(place.port->pool());
    if (mbuf == nullptr) {
        return false;
    }
    std::memcpy(rte_pktmbuf_append(mbuf, static_cast<std::uint16_t>(frame.size())), frame.data(),
                frame.size());
    if (place.port->tx_burst(0, &mbuf, 1) == 1) {
        place.port->push_out();
        return true;
    }
    rte_pktmbuf_free(mbuf);
    return false;
}

// Answers on all places until `time` is over, `stop` is true, or `seen` says of a frame of a place that
// it was the one waited for.
void answer_until(std::span<const Place> places, Clock::time_point time,
                  const std::atomic<bool>& stop,
                  const std::function<bool(const Place&, frame::Bytes)>& seen) {
    std::vector<Desk> desks;
    for (const Place& place : places) {
        desks.emplace_back(*place.port, place.station, Outlet(std::uint16_t{0}));
    }
    bool found = false;
    while (!found && !stop.load(std::memory_order_relaxed) && Clock::now() < time) {
        bool idle = true;
        for (std::size_t n = 0; n < places.size(); ++n) {
            std::array<rte_mbuf*, 32> burst;
            const std::uint16_t count = places[n].port->rx_any(burst.data(), burst.size());
            idle = idle && count == 0;
            desks[n].look({burst.data(), count});
            for (std::uint16_t i = 0; i < count; ++i) {
                found = found || seen(places[n], {rte_pktmbuf_mtod(burst[i], const std::uint8_t*),
                                                  rte_pktmbuf_data_len(burst[i])});
            }
            rte_pktmbuf_free_bulk(burst.data(), count);
        }
        if (idle) {
            std::this_thread::sleep_for(kNap);
        }
    }
}

bool send_question(const Place& place, const frame::IpAddress& from,
                   const frame::IpAddress& asked) {
    std::array<std::uint8_t, kMostFrame> bytes;
    const std::size_t size = write_question(bytes, place.station, from, asked);
    return size > 0 && send(place, frame::Bytes(bytes).first(size));
}

}  // namespace

Result<frame::MacAddress> find_mac(std::span<const Place> places, const NextHop& hop,
                                   const std::atomic<bool>& stop) {
    const Place& first = places.front();
    const bool v4 = hop.address.family == frame::Family::kIpv4;
    const frame::IpAddress from = v4 ? hop.from : link_local(first.station.mac);
    const std::string& port = first.port->info().name;
    std::optional<frame::MacAddress> told;
    for (unsigned tries = 0; tries < kTries && !told && !stop; ++tries) {
        if (!send_question(first, from, hop.address)) {
            return fail(ErrorCode::kUnavailable,
                        "port {} did not send the question who has {}; is its link up?", port,
                        to_string(hop.address));
        }
        answer_until(places, Clock::now() + kBetweenTries, stop,
                     [&](const Place& place, frame::Bytes frame) {
                         told = &place == &first ? told_by(frame, place.station, hop.address)
                                                 : std::nullopt;
                         return told.has_value();
                     });
    }
    if (told) {
        return *told;
    }
    return fail(
        ErrorCode::kUnavailable, "{}",
        stop ? fmt::format("stopped while asking for {}", to_string(hop.address))
             : fmt::format("nobody on the link of port {} answered {} in {} s, asked from {}", port,
                           fmt::format("{} {} for {}", kTries,
                                       v4 ? "ARP requests" : "neighbour solicitations",
                                       to_string(hop.address)),
                           kTries, to_string(from)));
}

void introduce(std::span<const Place> places, const frame::IpAddress& hop,
               const std::atomic<bool>& stop) {
    const Place& first = places.front();
    std::uint32_t left = kMostIntroduced;
    std::uint32_t at_once = 0;
    for (const AddressRange& range : first.station.addresses) {
        if (range.first.family != hop.family) {
            continue;
        }
        for (std::uint32_t n = 0; n < std::min(range.count, left); ++n) {
            send_question(first, range.first.plus(n), hop);
            if (++at_once % kIntroducedAtOnce == 0) {
                answer_until(places, Clock::now() + kAfterEach, stop,
                             [](const Place&, frame::Bytes) { return false; });
            }
        }
        left -= std::min(range.count, left);
    }
    answer_until(places, Clock::now() + kAfterEach, stop,
                 [](const Place&, frame::Bytes) { return false; });
}

bool send_ahead(std::span<const Place> places, frame::Bytes frame, frame::Bytes payload,
                const std::atomic<bool>& stop) {
    bool came = false;
    if (!send(places.front(), frame)) {
        return false;
    }
    answer_until(places, Clock::now() + kAhead, stop, [&](const Place& place, frame::Bytes seen) {
        came = &place == &places.back() &&
               std::search(seen.begin(), seen.end(), payload.begin(), payload.end()) != seen.end();
        return came;
    });
    return came;
}

}  // namespace pathproof::neighbour
