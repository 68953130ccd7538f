// Any bytes as a tracepoint's format file: whatever is read of it lies inside a record, and a drop
// event found in it can be read from records of any length.
#include <algorithm>
#include <string_view>
#include <vector>

#include "harness/drops/event_format.h"
#include "harness/drops/packet_program.h"
#include "tests/fuzz/fuzz.h"

using namespace pathproof::drops;
namespace fuzz = pathproof::fuzz;

namespace {

constexpr std::size_t kLargestRecord = 8192;

void check(const EventFormat& format) {
    fuzz::require(!format.name.empty() && !format.fields.empty(), "an event without its parts");
    for (const EventField& field : format.fields) {
        fuzz::require(!field.name.empty(), "a field without a name");
        fuzz::require(field.offset <= kLargestRecord && field.size <= kLargestRecord - field.offset,
                      "a field outside of any record");
        const EventField* found = format.find(field.name);
        fuzz::require(found != nullptr && found->name == field.name, "a field that is not found");
    }
    for (const auto& [value, name] : value_names(format, "reason")) {
        fuzz::require(!name.empty(), "a value with an empty name");
    }
}

void check(const DropEvent& event) {
    fuzz::require(event.reason_name(event.not_specified) == "NOT_SPECIFIED", "no NOT_SPECIFIED");
    std::vector<std::byte> record(event.end, std::byte{0x5a});
    const auto facts = read_tracepoint(record, event);
    fuzz::require(facts && facts->reason == 0x5a5a5a5a && facts->ethertype == 0x5a5a,
                  "a whole record is not read");
    record.pop_back();
    record.shrink_to_fit();
    fuzz::require(!read_tracepoint(record, event), "a record that is cut short is read");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto format = parse_event_format({reinterpret_cast<const char*>(data), size});
    if (!format) {
        fuzz::require(!format.error().message.empty(), "an error without a sentence");
        return 0;
    }
    check(*format);
    if (const auto event = drop_event(*format)) {
        check(*event);
    }
    return 0;
}
