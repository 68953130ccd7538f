#include "harness/fate/record_reader.h"

#include <algorithm>
#include <cstring>

namespace pathproof::fate {

std::optional<fate_record> read_record(std::span<const std::byte> bytes) {
    constexpr std::size_t kHead = offsetof(fate_record, way);
    if (bytes.size() < kHead || bytes.size() > sizeof(fate_record)) {
        return std::nullopt;
    }
    fate_record record{};
    std::memcpy(&record, bytes.data(), bytes.size());
    const std::size_t steps = std::min<std::size_t>(record.steps, FATE_MOST_STEPS);
    if (bytes.size() < kHead + steps * sizeof(fate_step) || record.end >= FATE_ENDS) {
        return std::nullopt;
    }
    for (std::size_t i = 0; i < steps; ++i) {
        if (record.way[i].place == 0 || record.way[i].place >= FATE_PLACES) {
            return std::nullopt;
        }
    }
    record.device[FATE_DEVICE_BYTES - 1] = 0;
    return record;
}

}  // namespace pathproof::fate
