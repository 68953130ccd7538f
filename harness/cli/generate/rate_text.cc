#include "harness/cli/generate/rate_text.h"

#include <array>
#include <cmath>
#include <string_view>

#include "dataplane/base/number.h"

namespace pathproof::cli {
namespace {

struct Unit {
    std::string_view name;
    Rate::Kind kind;
    double factor;
};
constexpr std::array kUnits = {
    Unit{"", Rate::Kind::kPerSecond, 1},     Unit{"k", Rate::Kind::kPerSecond, 1e3},
    Unit{"M", Rate::Kind::kPerSecond, 1e6},  Unit{"G", Rate::Kind::kPerSecond, 1e9},
    Unit{"%", Rate::Kind::kLineShare, 0.01}, Unit{"bit", Rate::Kind::kBits, 1},
    Unit{"kbit", Rate::Kind::kBits, 1e3},    Unit{"Mbit", Rate::Kind::kBits, 1e6},
    Unit{"Gbit", Rate::Kind::kBits, 1e9},
};

}  // namespace

Result<Rate> parse_rate(const std::string& text) {
    if (text == "max") {
        return Rate{Rate::Kind::kMost, 0};
    }
    std::string_view unit = text;
    const auto number = take_number<double>(unit);
    for (const Unit& known : kUnits) {
        if (!number || unit != known.name) {
            continue;
        }
        if (!(*number > 0) || !std::isfinite(*number)) {
            return fail(ErrorCode::kBadInput, "a rate of '{}' is not a number above 0", text);
        }
        if (known.kind == Rate::Kind::kLineShare && *number > 100) {
            return fail(ErrorCode::kBadInput, "a rate of '{}' is above line rate", text);
        }
        return Rate{known.kind, *number * known.factor};
    }
    return fail(ErrorCode::kBadInput,
                "a rate of '{}' is none of: max, a number a second (1000, 20k, 1.5M), a share of "
                "the line (10%), bits a second on the wire (1Gbit, 500Mbit)",
                text);
}

double bits_on_wire(double frame_bytes) {
    constexpr double kFcsPreambleAndGap = 4 + 8 + 12;  // IEEE 802.3, clause 4.4.2
    return 8 * (frame_bytes + kFcsPreambleAndGap);
}

Result<double> frames_per_second(const Rate& rate, unsigned per_unit, double frame_bytes,
                                 std::uint32_t link_mbps, const std::string& port) {
    switch (rate.kind) {
        case Rate::Kind::kMost: return 0.0;
        case Rate::Kind::kPerSecond: return rate.value * per_unit;
        case Rate::Kind::kBits: return rate.value / bits_on_wire(frame_bytes);
        case Rate::Kind::kLineShare: break;
    }
    if (link_mbps == 0) {
        return fail(ErrorCode::kBadInput,
                    "a rate of {:g} % of the line: port {} has no speed that is known; give frames "
                    "or bits per second",
                    rate.value * 100, port);
    }
    return rate.value * link_mbps * 1e6 / bits_on_wire(frame_bytes);
}

}  // namespace pathproof::cli
