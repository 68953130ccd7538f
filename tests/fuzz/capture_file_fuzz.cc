// Any bytes as a capture file: reading ends, and what is read can be replayed.
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "dataplane/load/recording.h"
#include "tests/fuzz/fuzz.h"

using namespace pathproof;
using namespace pathproof::load;

namespace {

const RecordingLimits kLimits = {.longest_frame = 9'234, .most_bytes = 1 << 20};

void check(const Result<Recording>& recording) {
    if (!recording) {
        fuzz::require(!recording.error().message.empty(), "a refusal without a reason");
        return;
    }
    fuzz::require(recording->frames() > 0, "a recording without frames");
    std::uint64_t before = 0;
    for (std::size_t i = 0; i < recording->frames(); ++i) {
        const std::size_t size = recording->bytes(i).size();
        fuzz::require(size >= 14 && size <= kLimits.longest_frame, "a frame outside the limits");
        fuzz::require(recording->at_ns(i) >= before, "time runs backwards");
        before = recording->at_ns(i);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const int file = memfd_create("capture", MFD_CLOEXEC);
    fuzz::require(file >= 0 && write(file, data, size) == static_cast<ssize_t>(size),
                  "no memory file");
    const std::string path = "/proc/self/fd/" + std::to_string(file);
    const Result<Recording> whole = Recording::read(path, CutShort::kRefused, kLimits);
    const Result<Recording> part = Recording::read(path, CutShort::kUsedUpToTheCut, kLimits);
    close(file);
    check(whole);
    check(part);
    fuzz::require(!whole || (part && part->frames() == whole->frames() && whole->cut().empty()),
                  "a whole file is read in part");
    return 0;
}
