// Any bytes as what may carry a stamp: nothing is read beyond them, and what is read is a stamp.
#include "dataplane/frame/stamp.h"
#include "tests/fuzz/fuzz.h"

using namespace pathproof::frame;
namespace fuzz = pathproof::fuzz;

namespace {

void check(const std::optional<Stamp>& stamp) {
    fuzz::require(!stamp || stamp->stream < kMostStreams, "a stream that is never sent");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::span<const std::uint8_t> bytes(data, size);
    const std::optional<Stamp> name = read_dns_stamp(bytes);
    check(name);
    fuzz::require(!name || name->sent_ns <= kStampTimeMask, "a time of more than 12 digits");
    check(read_binary_stamp(bytes));
    check(read_syn_stamp(bytes));
    const std::optional<SynAnswer> answer = read_syn_answer(bytes);
    fuzz::require(!answer || answer->sequence >> kTcpSequenceBits == 0,
                  "a sequence that runs into the stream");
    return 0;
}
