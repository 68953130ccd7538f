// The conclusion about a kernel device's truth table: path, defects and doubts, from measured
// values alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/truth/path_fault.h"
#include "harness/truth/stall.h"
#include "harness/verdict/result.h"

namespace pathproof::truth {

// Plain frames that leave nothing to a device, one way along the path.
struct PathCount {
    std::uint64_t sent = 0;
    std::uint64_t right = 0;    // arrived byte for byte
    std::uint64_t merged = 0;   // of the others: went into a longer frame than any that was sent
    std::uint64_t changed = 0;  // arrived with other bytes
    // Frames that the tester's port or the agent's socket had no room for.
    std::uint64_t own_loss = 0;

    bool proven() const { return sent != 0 && right == sent; }
    bool silent() const { return right + merged + changed == 0; }
    std::uint64_t missing() const { return sent - right - merged - changed; }
};

// One end of the cable, as far as it is known.
struct PathEnd {
    std::string name;
    std::string netns;                 // empty: ours
    std::string host = "";             // another machine; empty: this one
    std::uint32_t mtu = 0;             // 0: not known
    std::vector<std::string> merging;  // its features that join received frames and are on
    std::string xdp;                   // an XDP program on it: "prog 12 (xdp_drop)"

    // A command of a program that configures devices, as one types it there.
    std::string command(const std::string& words) const;
};

// Packets that the kernel dropped while the path was tried.
struct PathDrop {
    std::string reason;    // "NETFILTER_DROP"
    std::string location;  // "nf_hook_slow+0xa7"
    PathEnd at;            // of whose namespace
    std::uint64_t packets = 0;
};

// Outcome of the same plain frames by another device on the same path.
struct PathProof {
    std::string name;         // of the device; empty: there is none, or it was not needed
    std::uint64_t sent = 0;   // either way, all looks
    std::uint64_t right = 0;  // byte for byte
    std::vector<PathFault> faults;

    // It says something of the path.
    bool carries() const { return !name.empty() && 2 * right > sent; }
    bool shows_faults(Way way) const;
};

struct PathFacts {
    PathCount to_tester;
    PathCount to_device;
    PathEnd device;
    PathEnd far;
    std::uint32_t mtu = 0;  // the longest packet that was seen to pass both ways
    std::vector<PathDrop> drops;
    std::uint64_t backlog = 0;  // packets that CPUs dropped from full backlogs (softnet_stat)
    std::uint64_t late = 0;     // frames that came once they were waited for longer
    std::uint64_t paced = 0;    // frames that came once fewer were sent at a time
    std::uint64_t changed_at_first = 0;  // frames to the tester that came right only a second time
    // Plain frames that came changed, or never, each time that they were sent, or changed now and then.
    std::vector<PathFault> faults;
    // Other things that may do that, each with the command that shows it or takes it away.
    std::vector<std::string> between;
    PathProof proof;

    // Faults that only the device, its cable or the far end can have: one is a defect. With a proof: those that
    // the other device's frames do not show.
    std::vector<PathFault> own_faults() const;
    bool proven() const { return to_tester.proven() && to_device.proven(); }
};

// Names who dropped packets and what mends it. The drop's count is not 0.
std::string drop_sentence(const PathDrop& drop);
// Says what an unproven path does, and who does it where that was seen; nothing of a proven one.
std::vector<std::string> path_sentences(const PathFacts& path);
// Says which frames did not cross a proven path, and at which pace the others did: "" or sentences,
// each with a blank before it.
std::string path_remark(const PathFacts& path);

// The clause that defines a layer's value: "RFC 768" for "plain.udp"; empty for none.
std::string clause_of(const std::string& place);

enum class TruthPart { kSent, kReceived, kCounters, kSegments, kTunnels };

// A wrong value, over all frames of one setting that show it.
struct WrongValue {
    TruthPart part = TruthPart::kSent;
    std::string setting;  // "as found"
    std::string title;    // "PSEUDO"
    std::string place;    // the layer that the frames have: "inner.tcp"; empty: the frame
    std::string where;    // which frames
    std::uint64_t wrong = 0;
    std::uint64_t frames = 0;        // of so many
    std::uint64_t observations = 0;  // separate ones that showed it
    std::string meaning;             // of the title, in words
    std::string in_time;             // how such frames lie in time; empty: they are of one kind
    std::string cure;                // shown in this run; empty: none was
    std::string before;              // cells of the cure
    std::string after;

    bool confirmed() const { return wrong != 0 && observations > 1; }
};

// Checksums of received frames that the device could have vouched for, and vouched for none: the
// kernel checks them by itself.
struct Unvouched {
    std::string setting;
    std::string place;  // "plain.udp"
    std::uint64_t frames = 0;
};

struct TruthValues {
    std::string device;
    PathFacts path;
    std::uint64_t settings = 0;
    std::uint64_t sent = 0;        // frames judged at the tester's port
    std::uint64_t unfinished = 0;  // of them: by design
    std::uint64_t received = 0;    // frames judged at the device
    std::vector<WrongValue> wrong;
    std::vector<Unvouched> unvouched;
    std::vector<std::string> hidden;  // what could not be judged, each with who hid it
    std::vector<Stall> stalls;
    std::string stall_cure;  // shown in this run; empty: none was
    // Pattern of the missing frames in time, if chance would not choose it; empty: it may have been
    // chance.
    std::string losses_in_time;

    // A single stall that ended proves nothing: anything else that stood still may have caused it.
    bool stalls_confirmed() const {
        return stalls.size() > 1 || (stalls.size() == 1 && !stalls.front().ended);
    }
};

// Verdict, headline, cause and cure. DEFECT FOUND needs a proven path and a wrong value that a
// second observation showed again, two stalls, or a path that only the device and the far end can
// have changed; what was seen once, or hidden, makes it INCONCLUSIVE, and so do missing frames where
// others are lost by chance.
void conclude_truth(const TruthValues& values, verdict::ScenarioResult& result);

}  // namespace pathproof::truth
