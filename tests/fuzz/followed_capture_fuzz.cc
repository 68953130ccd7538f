// Any bytes as a capture file of verify: reading ends, frames lie in their file, and following them
// to themselves ends with counts that balance.
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "dataplane/follow/capture_reader.h"
#include "dataplane/follow/follower.h"
#include "tests/fuzz/fuzz.h"

using namespace pathproof;
using namespace pathproof::follow;

namespace {

// The first half of the frames goes in, all of them come out.
void follow_frames(const std::vector<CapturedFrame>& frames, Transformations allowed) {
    Follower follower({.allowed = allowed});
    std::uint64_t added = 0;
    for (std::size_t i = 0; i < frames.size(); ++i) {
        if (i < frames.size() / 2 + 1) {
            follower.add(Side::kIn, frames[i]);
            ++added;
        }
        follower.add(Side::kOut, frames[i]);
        ++added;
    }
    const Outcome outcome = follower.finish();
    std::uint64_t counted = 0;
    for (const Totals& totals : outcome.totals) {
        fuzz::require(totals.balance(), "counts that do not balance");
        counted += totals.sent + totals.received;
    }
    fuzz::require(counted == added, "a frame that is counted twice or never");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const int file = memfd_create("capture", MFD_CLOEXEC);
    fuzz::require(file >= 0 && write(file, data, size) == static_cast<ssize_t>(size),
                  "no memory file");
    std::vector<CapturedFrame> frames;
    if (auto reader = CaptureReader::open("/proc/self/fd/" + std::to_string(file)); reader) {
        for (;;) {
            CapturedFrame frame;
            const auto got = reader->next(frame);
            fuzz::require(got || !got.error().message.empty(), "a refusal without a reason");
            if (!got || !*got) {
                break;
            }
            fuzz::require(frame.bytes.size() <= frame.length, "more was captured than there is");
            fuzz::require(frame.bytes.size() <= size, "a frame outside the file");
            fuzz::require(frame.interface < reader->interfaces().size(), "an unknown interface");
            fuzz::require(frames.size() > 1 || reader->since_ns() >= 0, "a capture before 1970");
            frames.push_back(frame);
        }
    }
    close(file);
    follow_frames(frames, {});
    follow_frames(frames, Transformations().set());
    return 0;
}
