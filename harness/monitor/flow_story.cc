#include "harness/monitor/flow_story.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "dataplane/base/plural.h"
#include "harness/netfilter/names.h"
#include "harness/netfilter/text.h"

namespace pathproof::monitor {
namespace {

using netfilter::Entry;
using netfilter::Event;
using netfilter::EventKind;
using netfilter::Tuple;

// A time-out is told in whole seconds, and looks are some tenths of a second apart.
constexpr double kExpiryTolerance_s = 1.5;
// Packets and events come by two sockets.
constexpr std::int64_t kTogether_ns = 500'000'000;
// Between two deletions of one request.
constexpr std::int64_t kPause_ns = 1'000'000'000;
// nf_conntrack's collector removes flows that it may lose above this share of the maximum
// (gc_worker(), nf_conntrack_max95).
constexpr double kCollectorShare = 0.95;

double seconds(std::int64_t ns) {
    return static_cast<double>(ns) / 1e9;
}

std::string line_of(const Entry& entry) {
    std::string text;
    append_text(text, entry);
    return text;
}

bool same_way(const Tuple& one, const Tuple& other) {
    return one.protocol == other.protocol && one.source == other.source &&
           one.destination == other.destination &&
           (!one.icmp || !other.icmp || one.icmp->id == other.icmp->id);
}

// Describes the news in an entry's state; empty: nothing to report.
std::string news(const Entry& before, const Entry& now) {
    const std::uint32_t set = now.status & ~before.status;
    std::vector<std::string> words;
    if (set & netfilter::status::kSeenReply) {
        words.push_back("answered");
    }
    if (set & netfilter::status::kAssured) {
        words.push_back("ASSURED");
    }
    if (!now.protocol_state.empty() && now.protocol_state != before.protocol_state) {
        words.push_back(now.protocol_state);
    }
    return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

const char* name(FlowAnswer answer) {
    switch (answer) {
        case FlowAnswer::kNothingSeen: return "nothing seen";
        case FlowAnswer::kStillThere: return "still there";
        case FlowAnswer::kExpired: return "expired";
        case FlowAnswer::kDeleted: return "deleted";
        case FlowAnswer::kEvicted: return "evicted";
        case FlowAnswer::kReset: return "reset";
        case FlowAnswer::kReopened: return "reopened";
        case FlowAnswer::kEndNotTold: return "gone, the kernel does not say why";
        case FlowAnswer::kInvalid: return "never made: invalid";
        case FlowAnswer::kTableFull: return "never made: table full";
        case FlowAnswer::kNotInserted: return "never made: not inserted";
        case FlowAnswer::kDroppedByRule: return "never made: dropped by netfilter";
        case FlowAnswer::kUntracked: return "never made: not tracked";
    }
    return "nothing seen";
}

FlowStory::FlowStory(Tuple asked, netfilter::EventsOf events,
                     std::function<void(const FlowStep&)> steps)
    : asked_(std::move(asked)), events_(events), steps_(std::move(steps)) {}

bool FlowStory::is_ours(const Entry& entry) const {
    return std::ranges::any_of(
        std::array{entry.original, entry.reply, turned(entry.original), turned(entry.reply)},
        [&](const Tuple& tuple) { return same_way(tuple, asked_); });
}

void FlowStory::tell(std::int64_t time_ns, std::string text, std::optional<Entry> entry) {
    steps_({time_ns, std::move(text), std::move(entry)});
}

void FlowStory::note_entry(std::int64_t time_ns, const Entry& entry) {
    entry_ = entry;
    entry_time_ns_ = time_ns;
    exists_ = true;
}

void FlowStory::take(const FlowPacket& packet) {
    Seen& seen = (packet.translated ? translated_ : plain_)[packet.device];
    std::uint64_t& back = packet.leaving ? seen.back_out : seen.back_in;
    std::uint64_t& forth = packet.leaving ? seen.forth_out : seen.forth_in;
    ++(packet.back ? back : forth);
    if (packet.back) {
        silence_ = 0;
    } else if (!packet.translated) {
        const std::pair at{packet.device, packet.leaving};
        silence_at_ = silence_at_ ? silence_at_ : std::optional(at);
        silence_ += *silence_at_ == at ? 1 : 0;
        longest_silence_ = std::max(longest_silence_, silence_);
    }
    const bool has_first = first_device_ != 0;
    if (!has_first && !packet.back && !packet.leaving) {
        first_device_ = packet.device;
    }
    const bool is_seen_above = stack_.contains(packet.device);
    if (!packet.flags.empty() && !packet.translated && !is_seen_above) {
        tell(packet.time_ns,
             fmt::format("{} {}{}", packet.flags, packet.leaving ? "sent" : "received",
                         packet.back ? " in reply" : ""));
    }
    if (packet.flags == "RST" && packet.back) {
        reset_ns_ = packet.time_ns;
    }
    last_packet_ = packet;
}

void FlowStory::note_end(std::int64_t time_ns, const Event* event) {
    End end{.time_ns = time_ns, .entry = event ? event->entry : *entry_};
    end.heard = event != nullptr;
    end.cause_port = event ? event->cause_port : 0;
    if (entry_ && entry_->timeout_s) {
        end.left_s = *entry_->timeout_s - seconds(time_ns - entry_time_ns_);
    }
    if (event && entry_) {
        end.entry.protocol_state = entry_->protocol_state;
        end.entry.status |= entry_->status;
    }
    exists_ = false;
    look_before_end_ = look_with_entry_ ? look_with_entry_ : last_look_;
    tell(time_ns,
         end.cause_port != 0
             ? fmt::format("entry removed by a request of netlink port {}", end.cause_port)
             : "entry gone",
         end.entry);
    end_ = std::move(end);
}

void FlowStory::note_deletion(const Event& event) {
    if (event.cause_port != deletions_.port || event.time_ns - deletions_.last_ns > kPause_ns) {
        if (end_) {
            return;  // not the request that took this flow
        }
        deletions_ = {.port = event.cause_port};
    }
    deletions_.last_ns = event.time_ns;
    deletions_.flows += is_ours(event.entry) ? 0 : 1;
}

void FlowStory::take(const Event& event) {
    const Entry& entry = event.entry;
    const bool ours = is_ours(entry);
    if (!ours) {
        if (event.kind == EventKind::kNew && !looked_since_end_) {
            began_.push_back(entry);
        } else if (event.kind == EventKind::kDestroy && event.cause_port != 0) {
            note_deletion(event);
        }
        return;
    }
    if (is_hidden(entry)) {
        if (hidden_.insert(entry.reply).second) {
            tell(event.time_ns,
                 "clashed: a second packet's entry is hidden behind this one and "
                 "lives for one second",
                 entry);
        }
        return;
    }
    switch (event.kind) {
        case EventKind::kNew:
            if (end_) {
                reopened_ = true;
                looked_since_end_ = true;
                tell(event.time_ns, "a new entry of the same flow", entry);
                return;
            }
            heard_begin_ = true;
            note_entry(event.time_ns, entry);
            tell(event.time_ns, "entry made", entry);
            return;
        case EventKind::kUpdate: {
            const std::string what = entry_ ? news(*entry_, entry) : std::string();
            Entry now = entry;
            now.status |= entry_ ? entry_->status : 0;
            note_entry(event.time_ns, now);
            if (!what.empty()) {
                tell(event.time_ns, what, now);
            }
            return;
        }
        case EventKind::kDestroy:
            if (!end_) {
                began_.clear();  // who takes its room begins after it
                note_deletion(event);
                note_end(event.time_ns, &event);
            }
    }
}

void FlowStory::take(const FlowLook& look) {
    const bool first = !first_look_;
    if (first) {
        first_look_ = look;
        tell(look.time_ns, look.entry ? "entry is in the table" : "no entry in the table",
             look.entry);
    }
    if (end_) {
        looked_since_end_ = true;
    } else if (look.entry) {
        if (!first && !exists_) {
            tell(look.time_ns, "entry found, its beginning was not heard", look.entry);
        }
        note_entry(look.time_ns, *look.entry);
        look_with_entry_ = look;
        began_.clear();
    } else if (exists_ && last_look_ && !last_look_->entry) {
        // The event of its end, if one is sent, came before this second look without it.
        note_end(last_look_->time_ns, nullptr);
        looked_since_end_ = true;
    }
    if (!exists_ && !end_) {
        began_.clear();  // they took nobody's room
    }
    last_look_ = look;
}

std::uint64_t FlowStory::rose(const char* counter) const {
    return last_look_->counters.value(counter) - first_look_->counters.value(counter);
}

std::uint64_t FlowStory::rose_at_end(const char* counter) const {
    return look_before_end_
               ? last_look_->counters.value(counter) - look_before_end_->counters.value(counter)
               : 0;
}

FlowPackets FlowStory::packets() const {
    FlowPackets total;
    const auto add = [&](const std::map<std::uint32_t, Seen>& devices, std::uint64_t Seen::*figure,
                         std::uint64_t& sum) {
        for (const auto& [device, seen] : devices) {
            const auto above = stack_.find(device);
            const bool again =
                above != stack_.end() && std::ranges::any_of(above->second, [&](auto other) {
                    const auto found = devices.find(other);
                    return found != devices.end() && found->second.*figure != 0;
                });
            sum += again ? 0 : seen.*figure;
        }
    };
    for (const auto* devices : {&plain_, &translated_}) {
        add(*devices, &Seen::forth_in, total.forth_in);
        add(*devices, &Seen::forth_out, total.forth_out);
        add(*devices, &Seen::back_in, total.back_in);
        add(*devices, &Seen::back_out, total.back_out);
    }
    return total;
}

std::string FlowStory::packets_text() const {
    const FlowPackets seen = packets();
    std::string text =
        fmt::format("{} of its packets came in, {} went out", seen.forth_in, seen.forth_out);
    if (seen.back_in + seen.back_out > 0) {
        text += fmt::format("; of the answers {} and {}", seen.back_in, seen.back_out);
    }
    return text;
}

FlowConclusion FlowStory::conclude_end() const {
    const End& end = *end_;
    const bool assured = (end.entry.status & netfilter::status::kAssured) != 0;
    const std::string left =
        end.left_s ? fmt::format("{:.0f} s before its time-out", std::max(0.0, *end.left_s))
                   : "its time-out is not known";
    if (end.cause_port != 0) {
        std::string text =
            fmt::format("A netlink request of port {} removed the entry, {}", end.cause_port, left);
        text += deletions_.flows == 0
                    ? "; no other flow was heard to go with it."
                    : fmt::format("; {} went by the same port: a flush or a wide filter.",
                                  plural(deletions_.flows, "other flow"));
        return {FlowAnswer::kDeleted, text, {}};
    }
    if (end.left_s && *end.left_s <= kExpiryTolerance_s) {
        return {FlowAnswer::kExpired,
                last_packet_
                    ? fmt::format("The entry's time ran out: the last packet of the flow passed "
                                  "{:.1f} s before.",
                                  seconds(end.time_ns - last_packet_->time_ns))
                    : "The entry's time ran out: no packet of the flow was seen.",
                {}};
    }
    if (reopened_) {
        return {FlowAnswer::kReopened,
                fmt::format("The next connection of the same addresses and ports took its place{}.",
                            end.entry.protocol_state.empty()
                                ? ""
                                : " (its state was " + end.entry.protocol_state + ")"),
                {}};
    }
    const std::uint64_t evicted = rose_at_end("early_drop");
    if (evicted > 0 && !assured) {
        std::string text = fmt::format(
            "early_drop removed the entry to make room for another flow, {}: the table has {} of "
            "{} entries, early_drop rose by {}, and this entry was not ASSURED.",
            left, last_look_->table.entries, last_look_->table.maximum, evicted);
        if (began_.size() == 1) {
            text += fmt::format(" The flow that began then: {}.", line_of(began_.front()));
        } else if (!began_.empty()) {
            text += fmt::format(" {} began then.", plural(began_.size(), "flow"));
        }
        return {FlowAnswer::kEvicted, text, began_};
    }
    if (reset_ns_ && !assured && std::abs(*reset_ns_ - end.time_ns) < kTogether_ns) {
        return {
            FlowAnswer::kReset,
            fmt::format("A reset was the answer: conntrack removes the entry with it, {}.", left),
            {}};
    }
    std::string text = fmt::format(
        "The entry went {}, and the kernel does not say why: {}", left,
        evicted == 0 ? "early_drop did not rise"
                     : fmt::format("early_drop rose by {}, and takes no flow that is ASSURED, as "
                                   "this one was",
                                   evicted));
    if (!end.heard) {
        text += "; no event of its end came";
        text += events_ == netfilter::EventsOf::kNewFlows && !heard_begin_
                    ? ", since the flow began before anybody listened "
                      "(net.netfilter.nf_conntrack_events=2): a netlink request is possible"
                    : "";
    }
    const netfilter::TableSize& table = last_look_->table;
    if (table.maximum != 0 && !assured &&
        static_cast<double>(table.entries) > kCollectorShare * static_cast<double>(table.maximum)) {
        text += fmt::format(
            ". The table has {} of {} entries: above 95 % the collector removes flows like this",
            table.entries, table.maximum);
    }
    text += end.entry.status & netfilter::status::kSrcNat
                ? ". A flow behind masquerade ends so when its device or address goes."
                : ".";
    return {FlowAnswer::kEndNotTold, text, {}};
}

// Counters are of all flows: one that rose by less than this flow's packets does not explain it.
FlowConclusion FlowStory::conclude_never_made(const std::vector<drops::DropCount>* drops,
                                              const std::function<bool()>& as_known) const {
    const FlowPackets all = this->packets();
    const std::uint64_t packets =
        std::max({all.forth_in, all.forth_out, all.back_in, all.back_out});
    const std::string seen = packets_text();
    const std::uint64_t not_inserted = rose("insert_failed");
    const std::uint64_t invalid = rose("invalid");
    // nf_conntrack_confirm() counts a packet that it refuses as dropped, too.
    const std::uint64_t no_room = rose("drop") - std::min(rose("drop"), not_inserted);
    const netfilter::TableSize& table = last_look_->table;
    const auto never = [&](FlowAnswer answer, const std::string& why) {
        return FlowConclusion{answer, fmt::format("No entry was made: {}; {}.", why, seen), {}};
    };
    const bool rose_enough = std::max({rose("drop"), not_inserted, invalid}) >= packets;
    const bool told = rose_enough && as_known();
    if (told && no_room >= packets && table.maximum != 0 && table.entries >= table.maximum) {
        return never(FlowAnswer::kTableFull,
                     fmt::format("the table is full ({} of {} entries), and {} dropped for it "
                                 "meanwhile",
                                 table.entries, table.maximum, plural(no_room, "packet")));
    }
    if (told && not_inserted >= packets) {
        return never(FlowAnswer::kNotInserted,
                     fmt::format("{} refused at confirmation meanwhile (insert_failed): a clash "
                                 "that could not be resolved, or no free port for NAT",
                                 plural(not_inserted, "packet")));
    }
    if (told && invalid >= packets) {
        return never(FlowAnswer::kInvalid,
                     fmt::format("{} taken for invalid meanwhile", plural(invalid, "packet")));
    }
    std::uint64_t dropped = 0;
    std::string where;
    const std::string protocol = fmt::format("/{}", netfilter::protocol_name(asked_.protocol));
    for (const drops::DropCount& count : drops ? *drops : std::vector<drops::DropCount>()) {
        if (count.reason == "NETFILTER_DROP" && count.flow != drops::FlowState::kKnown &&
            count.flow != drops::FlowState::kUntold && count.protocol.ends_with(protocol)) {
            dropped += count.packets;
            where = where.empty() ? count.location : where;
        }
    }
    const bool left = all.forth_out + all.back_out != 0;
    if (dropped >= packets && !left) {
        return never(FlowAnswer::kDroppedByRule,
                     fmt::format("netfilter dropped {} of this protocol before an entry was "
                                 "confirmed (NETFILTER_DROP at {})",
                                 plural(dropped, "packet"), where));
    }
    std::string text =
        !rose_enough || told
            ? "No entry was made, and nothing that is counted explains it"
            : "No entry was made, and what the counters count on this kernel is not known (inspect "
              "stats)";
    for (const auto& [name, value] : {std::pair{"invalid", invalid},
                                      {"insert_failed", not_inserted},
                                      {"drop", no_room},
                                      {"packets dropped by netfilter", dropped}}) {
        text += value == 0 ? "" : fmt::format(", {} +{}", name, value);
    }
    text += fmt::format("; {}.{}", seen,
                        left ? " They pass untracked: a NOTRACK rule, or nothing here tracks flows."
                             : " They did not leave again: dropped before conntrack or on the way, "
                               "or taken in here untracked.");
    if (drops == nullptr) {
        text += " What the kernel drops could not be read.";
    }
    return {FlowAnswer::kUntracked, text, {}};
}

FlowConclusion FlowStory::conclude(const std::vector<drops::DropCount>* drops,
                                   const std::function<bool()>& as_known) const {
    FlowConclusion conclusion;
    if (end_) {
        conclusion = conclude_end();
    } else if (exists_) {
        conclusion = {FlowAnswer::kStillThere,
                      fmt::format("The entry is there{}: {}.",
                                  heard_begin_ ? ", made while we watched" : "", line_of(*entry_)),
                      {}};
    } else if (plain_.empty() && translated_.empty()) {
        conclusion = {FlowAnswer::kNothingSeen,
                      "No packet of this flow was seen, and no entry; conntrack keeps nothing of "
                      "flows that are gone.",
                      {}};
    } else {
        conclusion = conclude_never_made(drops, as_known);
    }
    if (!hidden_.empty()) {
        conclusion.text += fmt::format(
            " {} of the flow's packets clashed: each has a hidden entry for one second, and what "
            "answers it later is not translated.",
            hidden_.size());
    }
    if (lost_events_) {
        conclusion.text += " Events were lost: what happened then is not told.";
    }
    return conclusion;
}

}  // namespace pathproof::monitor
