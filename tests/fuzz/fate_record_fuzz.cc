// Any bytes as a record of the programs in the kernel: an end has a word, and each step one.
#include <cstddef>
#include <span>

#include "harness/fate/record_reader.h"
#include "harness/fate/tally.h"
#include "tests/fuzz/fuzz.h"

using namespace pathproof;
namespace fuzz = pathproof::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto record = fate::read_record(std::as_bytes(std::span(data, size)));
    if (!record) {
        return 0;
    }
    const fate::Names names{
        .function = [](std::uint64_t address) { return address % 2 == 0 ? "nf_hook_slow" : ""; },
        .reason = [](std::uint32_t reason) { return reason % 2 == 0 ? "NETFILTER_DROP" : ""; },
        .netns = [](std::uint32_t) { return "netns"; },
        .device = [](std::uint32_t, std::uint32_t) { return "device"; }};
    fate::EndTally tally(1);
    tally.add(*record, names, 0);
    const fate::Fates fates = tally.take();
    fuzz::require(fates.ends.size() == 1 && fates.packets == 1, "a packet without an end");
    const fate::End& end = fates.ends.front().end;
    fuzz::require(!end.text.empty(), "an end without a word");
    fuzz::require((end.ending == fate::Ending::kDropped) == !end.cause.empty(),
                  "a cause without a drop, or a drop without a cause");
    for (const std::string& step : fates.ends.front().way) {
        fuzz::require(!step.empty(), "a step without a word");
    }
    return 0;
}
