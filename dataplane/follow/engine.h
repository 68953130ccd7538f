// The inside of Follower: frames in the window, and the steps by which they are joined.
#pragma once

#include <deque>
#include <list>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "dataplane/follow/compare.h"
#include "dataplane/follow/findings.h"
#include "dataplane/follow/follower.h"
#include "dataplane/follow/key_table.h"

namespace pathproof::follow {

struct Interval {  // of sequence numbers or bytes: [begin, end)
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
};

enum class State : std::uint8_t {
    kPending,  // its counterpart was not found yet
    kPaired,
    kCopy,  // its counterpart is another frame's, too
};

struct Note {  // of a fault, until its frame is counted
    std::string key;
    std::string text;
    Packet out;
    Piece out_piece;
    bool has_out = false;
};

// A frame in the window.
struct Record {
    static constexpr std::uint32_t kNoNode = 0xffffffff;

    Packet packet;
    Piece piece;
    Record* partner = nullptr;     // of a frame that came out: the (first) one that it carries
    Record* datagram = nullptr;    // that this fragment is of
    std::vector<Record*> members;  // of a datagram: its fragments
    std::unique_ptr<Note> note;
    std::vector<Interval> open;               // parts of a stream that were not found yet
    std::optional<Comparison> stream_change;  // of a segment whose header no frame explained
    std::uint64_t order = 0;                  // on its side, from 1
    std::uint32_t first_node = kNoNode;       // in pending_ or seen_ by its strict key
    std::uint32_t second_node = kNoNode;      // ... loose key
    std::uint32_t third_node = kNoNode;
    std::uint32_t header_nodes[3] = {kNoNode, kNoNode, kNoNode};
    std::uint32_t pins = 0;  // frames that have it as their partner
    std::uint32_t links = 0;
    Side side = Side::kIn;
    Heading heading = Heading::kUnknown;
    State state = State::kPending;
    Direction direction = Direction::kForward;  // unless it is pending
    Class found = Class::kAsSent;               // of a frame that was sent
    bool virtual_datagram = false;  // put together from fragments: it stands for its members
    bool header_explained = false;
    bool stream_damaged = false;      // bytes of it are not those that were sent
    bool streamed = false;            // in the list of its flow's stream
    bool concluded = false;           // its place among its flow's frames was looked at
    std::uint32_t variant = kNoNode;  // of its flow's egress
    std::uint32_t epoch = 0;
};

class Follower::Engine {
  public:
    explicit Engine(const FollowOptions& options) : options_(options) {}

    void add(Side side, const CapturedFrame& frame);
    void begin(Side side, std::int64_t since_ns);
    void coming(Side side, std::int64_t time_ns);
    void end(Side side, std::int64_t until_ns);
    Outcome finish();

  private:
    using Table = KeyTable<Record>;
    static constexpr unsigned kSteps = 5;
    struct Variant {
        Egress egress;
        std::uint64_t count = 0;
        std::uint64_t clean = 0;  // those of them that are wrong in nothing else
        // The first one.
        Packet in, out;
        Piece in_piece, out_piece;
    };
    struct Flow {
        std::uint64_t other = 0;  // the same flow on the other side; 0: not known
        std::uint64_t highest = 0;
        std::int64_t last_ns = 0;
        int votes = 0;  // for forward
        std::uint32_t epoch = 0;
        std::vector<Variant> variants;
    };
    struct Host {
        bool carried = false;   // the path carries its frames
        bool asked = false;     // it is sent frames that do not come out
        bool answered = false;  // it sends frames that did not go in
    };
    struct Fragments {
        std::vector<Record*> pieces;
        std::int64_t last_ns = 0;
        Record* datagram = nullptr;
    };
    struct Stream {
        std::deque<Record*> pending;
    };
    struct OneSide {
        std::deque<Record> records;
        std::list<Record> datagrams;
        std::uint64_t base = 0;                       // orders of records: base + 1 ...
        std::array<std::uint64_t, kSteps> stepped{};  // records that have gone through each step
        Table pending, seen;                          // by strict keys
        Table pending_loose, seen_loose;
        Table content;
        Table headers;
        std::deque<Record*> leftovers;
        std::deque<Record*> swollen;  // came out with more than was sent
        std::unordered_map<std::uint64_t, Flow> flows;
        std::unordered_map<std::uint64_t, int> macs;  // votes for forward, by source
        std::unordered_map<std::uint64_t, Host> hosts;
        std::unordered_map<std::uint64_t, Fragments> fragments;
        std::unordered_map<std::uint64_t, Stream> streams;  // by the out side's flows
        std::unordered_map<std::uint64_t, std::string> refusals;
        std::int64_t first_ns = 0;
        std::int64_t last_ns = 0;
        bool any = false;
        bool ended = false;
        bool begin_known = false;  // its capture said since when it ran
        bool end_known = false;    // and how long
    };

    OneSide& of(Side side) { return sides_[static_cast<std::size_t>(side)]; }
    static Side other(Side side) { return side == Side::kIn ? Side::kOut : Side::kIn; }
    std::int64_t time_of(const Record& record) const {
        return record.packet.time_ns - (record.side == Side::kOut ? options_.clock_offset_ns : 0);
    }
    bool was_sent(const Record& record, Direction direction) const {
        return (record.side == Side::kIn) == (direction == Direction::kForward);
    }

    // engine.cc
    void step_in_order();
    void advance(std::int64_t frontier_ns, bool all);
    void step(unsigned which, Record& record);

    // engine_pair.cc
    enum class Surety : std::uint8_t { kStrict, kLoose, kContent };
    bool pair_by(const Table& table, std::uint64_t key, Record& record, Surety surety);
    int likeness_of_flows(const Record& one, const Record& other_one);
    bool join_loosely(Record& record);
    bool join_by_content(Record& record);
    Direction direction_of(const Record& in_side, const Record& out_side);
    Direction guess_direction(const Record& record);
    void pair(Record& one, Record& other_one);
    void settle(Record& record, Direction direction);
    void move_to_seen(Record& record);
    void set_partner(Record& out, Record& in);
    void make_copy(Record& copy, Record& original);
    bool find_copy(Record& record);

    // engine_judge.cc
    void judge(Record& in, Record& out, Extent extent);
    void note(Record& in, Record& out, const Comparison& comparison);
    // Notes how long the frame was on its way, and marks it late beyond the limit.
    void note_delay(Record& in, Record& out);
    void mark(Record& in, const Record* out, Class fault, const std::string& key,
              const std::string& text);
    void count_egress(Record& in, Record& out, const Comparison& comparison);
    void conclude_flow(Flow& flow, Direction direction);
    void conclude(Record& record);

    // engine_retire.cc
    void retire(std::int64_t frontier_ns, bool all);
    void remove(Record& record);
    void retire_sent(Record& record, Direction direction);
    void retire_received(Record& record, Direction direction);
    enum class Coverage : std::uint8_t { kCovered, kBefore, kBehind };
    // Returns whether the other capture ran when this frame should have been seen there.
    Coverage coverage_of(const Record& record) const;
    void leave_outside(Record& record, Coverage coverage);

    // engine_own.cc
    bool stays_on_links() const;
    bool is_local(const Record& record, bool sent);
    // Returns whether the device answered the frame with an ICMP error that is due.
    bool is_refused(const Record& record) const;
    void learn_own(Record& record);

    // engine_join.cc
    std::uint64_t shared_flow(const Record& record);
    void join_stream(Record& record, bool same_bytes_only);
    void put_fitting_first(const Record& record, std::vector<Record*>& candidates);
    bool join_parts(Record& record, Record& other_one, bool same_bytes_only);
    void join_datagrams(Record& record);
    void link(Record& in, Record& out, Direction direction, std::uint32_t place);
    void leave_stream(Record& record);
    void gather_fragment(Record& record);
    bool make_datagram(Side side, Fragments& group);

    // engine_likeness.cc
    void join_by_header(Record& record);
    void join_by_likeness(Record& record);
    bool join_glued(Record& record);

    FollowOptions options_;
    std::array<OneSide, 2> sides_;
    Outcome outcome_;
    Findings findings_;
    std::int64_t frontier_ns_ = 0;
    std::int64_t advanced_ns_ = 0;
    std::uint64_t held_bytes_ = 0;
    unsigned hurry_ = 0;
};

// Bytes that a record and its nodes take besides its frame's.
inline constexpr std::uint64_t kRecordBytes = sizeof(Record) + 200;

std::uint64_t digest_of_address(frame::Bytes address);
// Returns whether a frame belongs to its link: discovery, spanning tree, ARP, neighbour discovery,
// groups of the link. A router does not forward it.
bool is_of_the_link(const Packet& packet);

}  // namespace pathproof::follow
