// Tells how the entry of one flow came and went: values in, sentences out. Each sentence reports
// what was seen; where the kernel does not tell who did something, the sentence says so.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/drops/summary.h"
#include "harness/netfilter/entry.h"
#include "harness/netfilter/stats.h"
#include "harness/netfilter/unheard_flows.h"

namespace pathproof::monitor {

// A packet of the flow as it passed a device of the namespace, before any translation that comes
// after the device.
struct FlowPacket {
    std::int64_t time_ns = 0;  // CLOCK_REALTIME
    bool back = false;         // from the tuple's destination to its source
    bool leaving = false;      // sent by this namespace; else received
    std::string flags;         // of TCP: "SYN", "RST"; empty: neither
    std::uint32_t device = 0;  // its index
    bool translated = false;   // as NAT has made it
};

// Devices that a packet passes one after the other, by their indices: a bridge's port and the bridge,
// a device and its VLAN. Each has those that see the same packet above it.
using DeviceStack = std::map<std::uint32_t, std::vector<std::uint32_t>>;

// Packets of the flow, each once in each direction, whatever devices it has passed.
struct FlowPackets {
    std::uint64_t forth_in = 0, forth_out = 0, back_in = 0, back_out = 0;
};

// State that the kernel reports at one moment.
struct FlowLook {
    std::int64_t time_ns = 0;
    std::optional<netfilter::Entry> entry;  // that the tuple leads to
    netfilter::CpuStats counters;           // of all CPUs together
    netfilter::TableSize table;
};

struct FlowStep {
    std::int64_t time_ns = 0;
    std::string text;
    std::optional<netfilter::Entry> entry;  // as the kernel told of it then
};

enum class FlowAnswer {
    kNothingSeen,    // no packet and no entry
    kStillThere,     // the entry exists
    kExpired,        // nothing renewed it in time
    kDeleted,        // a netlink request removed it
    kEvicted,        // early_drop made room for another flow
    kReset,          // a TCP reset as the only reply
    kReopened,       // the next connection of the same tuple took its place
    kEndNotTold,     // it went before its time, and the kernel does not say why
    kInvalid,        // never made: its packets were no valid part of a flow
    kTableFull,      // never made: no room
    kNotInserted,    // never made: refused at its confirmation
    kDroppedByRule,  // never made: netfilter dropped its first packet
    kUntracked,      // never made, and nothing was refused
};
const char* name(FlowAnswer answer);  // "expired", "evicted", "never made: table full"

struct FlowConclusion {
    FlowAnswer answer = FlowAnswer::kNothingSeen;
    std::string text;                         // one or more sentences
    std::vector<netfilter::Entry> by_one_of;  // of kEvicted: flows that began at that moment
};

class FlowStory {
  public:
    // `asked` is a tuple of the flow as a packet has it, before or after translation, in either
    // direction. `steps` is given each step as it becomes known.
    FlowStory(netfilter::Tuple asked, netfilter::EventsOf events,
              std::function<void(const FlowStep&)> steps);

    // All events of the namespace, in their order.
    void take(const netfilter::Event& event);
    void take(const FlowPacket& packet);
    // Before the packets.
    void set_devices(DeviceStack stack) { stack_ = std::move(stack); }
    // In the order of time, the first before anything else.
    void take(const FlowLook& look);
    // Events were lost: what began or ended then is not told.
    void lost_events() { lost_events_ = true; }

    // The entry is gone, and a look has been taken since.
    bool over() const { return end_ && looked_since_end_; }
    FlowPackets packets() const;
    // Most packets from source to destination in a row without an answer between them, as the device
    // saw them that saw the first; 0: none were seen.
    std::uint64_t longest_silence() const { return longest_silence_; }
    // As last known; the flow's translations are its own.
    const std::optional<netfilter::Entry>& entry() const { return entry_; }
    // It was made while we watched: a packet has passed, whether it was seen or not.
    bool began() const { return heard_begin_; }
    // By which the first packet of the flow came in; 0: none came in.
    std::uint32_t first_device() const { return first_device_; }
    // `drops`: what the kernel dropped in the namespace meanwhile; nothing where it cannot be read.
    // `as_known`: whether insert_failed, drop and invalid count on this kernel what they did so far;
    // asked where they would decide.
    FlowConclusion conclude(
        const std::vector<drops::DropCount>* drops,
        const std::function<bool()>& as_known = [] { return true; }) const;

  private:
    struct End {
        std::int64_t time_ns = 0;
        netfilter::Entry entry;        // as last known
        std::uint32_t cause_port = 0;  // netlink's
        bool heard = false;            // by an event
        std::optional<double> left_s;  // of its time-out
    };
    // Packets that one device saw.
    struct Seen {
        std::uint64_t forth_in = 0, forth_out = 0, back_in = 0, back_out = 0;
    };

    bool is_ours(const netfilter::Entry& entry) const;
    void tell(std::int64_t time_ns, std::string text,
              std::optional<netfilter::Entry> entry = std::nullopt);
    void note_entry(std::int64_t time_ns, const netfilter::Entry& entry);
    void note_end(std::int64_t time_ns, const netfilter::Event* event);
    std::uint64_t rose(const char* counter) const;
    std::uint64_t rose_at_end(const char* counter) const;
    FlowConclusion conclude_end() const;
    FlowConclusion conclude_never_made(const std::vector<drops::DropCount>* drops,
                                       const std::function<bool()>& as_known) const;
    std::string packets_text() const;
    void note_deletion(const netfilter::Event& event);

    const netfilter::Tuple asked_;
    const netfilter::EventsOf events_;
    const std::function<void(const FlowStep&)> steps_;

    std::optional<FlowLook> first_look_;
    std::optional<FlowLook> last_look_;
    std::optional<FlowLook> look_with_entry_;
    std::optional<FlowLook> look_before_end_;
    std::optional<netfilter::Entry> entry_;  // as last known; the flow's translations are its own
    std::int64_t entry_time_ns_ = 0;         // when that was
    bool exists_ = false;
    bool heard_begin_ = false;
    std::optional<End> end_;
    bool looked_since_end_ = false;
    bool reopened_ = false;
    // Other flows that began at the end, or since the last look.
    std::vector<netfilter::Entry> began_;
    // Other flows that one netlink port removed, the last one now; without a second's pause.
    struct Deletions {
        std::uint32_t port = 0;
        std::int64_t last_ns = 0;
        std::uint64_t flows = 0;
    };
    Deletions deletions_;
    std::set<netfilter::Tuple> hidden_;  // replies of hidden entries of clashes
    DeviceStack stack_;
    std::map<std::uint32_t, Seen> plain_, translated_;  // by device
    std::uint32_t first_device_ = 0;
    // The device that the first packet was seen at, and packets there since the last answer.
    std::optional<std::pair<std::uint32_t, bool>> silence_at_;
    std::uint64_t silence_ = 0, longest_silence_ = 0;
    std::optional<FlowPacket> last_packet_;
    std::optional<std::int64_t> reset_ns_;  // a reset as an answer
    bool lost_events_ = false;
};

}  // namespace pathproof::monitor
