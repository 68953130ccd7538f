// Any bytes as an entry of the errata catalogue: either it is refused with a place in the file, or
// all words in it are the catalogue's.
#include <string>

#include "dataplane/softnic/faults.h"
#include "harness/profile/errata.h"
#include "tests/fuzz/fuzz.h"

using namespace pathproof::profile;
namespace fuzz = pathproof::fuzz;

namespace {

void check(const Erratum& erratum) {
    fuzz::require(!erratum.id.empty() && erratum.file == "erratum.toml", "an entry without a name");
    fuzz::require(
        !erratum.signatures.empty() && !erratum.affected.empty() && !erratum.sources.empty(),
        "an entry without its parts");
    for (const Signature& signature : erratum.signatures) {
        const auto again = parse_signature(to_text(signature));
        fuzz::require(again && *again == signature, "a signature does not survive its text");
    }
    for (const std::string& condition : erratum.conditions) {
        fuzz::require(check_condition(condition).has_value(), "a condition that nobody knows");
    }
    for (const std::string& fault : erratum.faults) {
        fuzz::require(pathproof::softnic::parse_fault(fault).has_value(),
                      "a fault that cannot be planted");
    }
    // An erratum's own signature on its own driver is a sighting of it.
    const Sighting sighting{.signature = erratum.signatures.front(), .driver = "veth"};
    for (const ErratumMatch& match : match_errata({erratum}, sighting)) {
        fuzz::require(match.id == erratum.id && !match.why.empty(), "a match without a reason");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    const auto erratum = parse_erratum(text, "erratum.toml");
    if (erratum) {
        check(*erratum);
    } else {
        fuzz::require(erratum.error().message.starts_with("erratum.toml:"),
                      "an error without its place");
    }
    return 0;
}
