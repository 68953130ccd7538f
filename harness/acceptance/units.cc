#include "harness/acceptance/units.h"

#include <array>

namespace pathproof::acceptance {
namespace {

struct Unit {
    const char* name;
    char measures;
    double size;
};
constexpr std::array kUnits = {
    Unit{"ns", 't', 1e-9},       Unit{"us", 't', 1e-6},
    Unit{"ms", 't', 1e-3},       Unit{"s", 't', 1},
    Unit{"min", 't', 60},        Unit{"h", 't', 3600},
    Unit{"frames/s", 'f', 1},    Unit{"kframes/s", 'f', 1e3},
    Unit{"Mframes/s", 'f', 1e6}, Unit{"kbit/s", 'b', 1e3},
    Unit{"Mbit/s", 'b', 1e6},    Unit{"Gbit/s", 'b', 1e9},
    Unit{"%", 's', 1e-2},        Unit{"ppm", 's', 1e-6},
    Unit{"KiB", 'm', 1024},      Unit{"MiB", 'm', 1024 * 1024.0},
    Unit{"bytes", 'm', 1},       Unit{"KiB/h", 'g', 1},
    Unit{"MiB/h", 'g', 1024},
};

const Unit* find(const std::string& name) {
    for (const Unit& unit : kUnits) {
        if (name == unit.name) {
            return &unit;
        }
    }
    return nullptr;
}

}  // namespace

std::optional<double> factor(const std::string& from, const std::string& to) {
    if (from == to) {
        return 1;
    }
    const Unit* const one = find(from);
    const Unit* const other = find(to);
    if (one == nullptr || other == nullptr || one->measures != other->measures) {
        return std::nullopt;
    }
    return one->size / other->size;
}

}  // namespace pathproof::acceptance
