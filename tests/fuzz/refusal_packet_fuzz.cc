// Any bytes as a packet of the refusal socket: what is read of it lies inside it and is of one
// family.
#include <netinet/in.h>

#include <cstddef>
#include <span>

#include "harness/monitor/refusal.h"
#include "tests/fuzz/fuzz.h"

using namespace pathproof;
namespace fuzz = pathproof::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto bytes = std::as_bytes(std::span(data, size));
    const auto refusal = monitor::parse_refusal(bytes);
    if (!refusal) {
        return 0;
    }
    const netfilter::Tuple& packet = refusal->packet;
    fuzz::require(packet.source.address.family == packet.destination.address.family &&
                      packet.source.address.family == refusal->by.family,
                  "a refusal of two families");
    fuzz::require(size >= (refusal->by.family == frame::Family::kIpv4 ? 34U : 54U),
                  "a refusal in fewer bytes than its headers have");
    fuzz::require(!refusal->what.empty() && !describe(*refusal).empty(),
                  "a refusal without a word");
    fuzz::require(refusal->what != "reset" || packet.protocol == IPPROTO_TCP,
                  "a reset of something else than TCP");
    return 0;
}
