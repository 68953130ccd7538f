// Packets to and from the ends of services: the window in which a backend answers, or has fallen silent.
// An entry of conntrack says that a flow was answered once, and nothing of what became of it since.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>

#include "harness/monitor/backend.h"
#include "harness/netfilter/entry.h"

namespace pathproof::monitor {

// A packet as a device of the namespace saw it.
struct PassedPacket {
    std::int64_t time_ns = 0;
    frame::Endpoint source, destination;
    std::uint8_t protocol = 0;
    bool leaving = false;  // sent by this namespace; else received
    std::uint32_t device = 0;
    bool asks = false;          // wants an answer: UDP, or of TCP a SYN or one with data
    bool acknowledges = false;  // of TCP: the sender has had an answer
};

class TrafficTable {
  public:
    // The packets of that end are counted from now on; up to `most` ends.
    void follow(const frame::Endpoint& end, std::uint8_t protocol);
    bool follows(const frame::Endpoint& end, std::uint8_t protocol) const;

    // Takes a packet. One that passes several devices counts once: at the first device, and in the
    // direction, in which its endpoint's packets were seen.
    void take(const PassedPacket& packet);
    // Packets that conntrack has counted for an entry since the last time it was read
    // (nf_conntrack_acct): `asked` to the entry's destination, `answered` from it.
    void take(const netfilter::Entry& entry, std::uint64_t asked, std::uint64_t answered,
              std::int64_t now_ns);

    // The packets of a backend; those of its service where its own are not seen, which is so of a
    // backend on this host, and `alone`: it is the only one.
    BackendTraffic of(const frame::Endpoint& service, const frame::Endpoint& backend,
                      std::uint8_t protocol, bool alone, std::int64_t now_ns) const;

    bool empty() const { return ends_.empty(); }

  private:
    struct End {
        frame::Endpoint at;
        std::uint8_t protocol = 0;
        bool operator==(const End&) const = default;
    };
    struct EndHash {
        std::size_t operator()(const End& end) const;
    };
    struct Seen {
        std::uint64_t asked = 0, answered = 0;
        std::uint64_t unanswered = 0;          // asked since the last answer
        std::int64_t first_unanswered_ns = 0;  // of these
        bool acknowledged = false;
        std::uint32_t ask_device = 0, answer_device = 0;
        bool ask_leaves = false, answer_leaves = false;
        std::int64_t last_asked_ns = 0;
    };

    static void ask(Seen& seen, std::uint64_t packets, std::int64_t now_ns);
    static void answer(Seen& seen, std::uint64_t packets);

    static constexpr std::size_t kMostEnds = 16'384;
    std::unordered_map<End, Seen, EndHash> ends_;
    // Addresses of the ends, and whether any packet has come from there.
    std::map<frame::IpAddress, bool> addresses_;
};

// Reads all packets of a namespace's devices by a packet socket: for the time of a look, as it costs
// the kernel a copy of each packet's head.
class TrafficTap {
  public:
    // Needs CAP_NET_RAW there (kNotPermitted).
    static Result<std::unique_ptr<TrafficTap>> start(const std::string& netns);
    virtual ~TrafficTap() = default;
    // Gives all that waits in the socket, without waiting for more.
    virtual void drain(const std::function<void(const PassedPacket&)>& visit) = 0;
    // Packets that found the socket's buffer full.
    virtual std::uint64_t lost() = 0;
};

}  // namespace pathproof::monitor
