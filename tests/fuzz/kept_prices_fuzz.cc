// Any bytes as a file of kept prices: what is read can be written, is then read as the same, and can be
// told of a cure.
#include <string>

#include "harness/prices/kept.h"
#include "tests/fuzz/fuzz.h"

using namespace pathproof;
namespace fuzz = pathproof::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto tables = prices::read_kept(std::string(reinterpret_cast<const char*>(data), size));
    if (!tables) {
        fuzz::require(!tables.error().message.empty(), "refused without a sentence");
        return 0;
    }
    const std::string text = prices::kept_text(*tables);
    const auto again = prices::read_kept(text);
    fuzz::require(again && prices::kept_text(*again) == text,
                  "tables do not survive being written");
    for (const verdict::PriceTable& table : *tables) {
        for (const verdict::PriceRow& cure : table.cures) {
            for (const std::string& clause : verdict::side_effects(table, cure.id)) {
                fuzz::require(!clause.empty(), "a side effect without words");
            }
        }
    }
    return 0;
}
