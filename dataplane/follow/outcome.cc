#include "dataplane/follow/outcome.h"

#include <numeric>

namespace pathproof::follow {

const char* name(Class one) {
    constexpr const char* kNames[kClasses] = {
        "as sent", "changed", "damaged",          "doubled",          "reordered",     "late",
        "missing", "refused", "of the link only", "outside the time", "cannot be told"};
    return kNames[static_cast<std::size_t>(one)];
}

const char* word(Class one) {
    constexpr const char* kWords[kClasses] = {"as_sent",   "changed", "damaged", "doubled",
                                              "reordered", "late",    "missing", "refused",
                                              "local",     "outside", "untold"};
    return kWords[static_cast<std::size_t>(one)];
}

bool is_fault(Class one) {
    switch (one) {
        case Class::kChanged:
        case Class::kDamaged:
        case Class::kDoubled:
        case Class::kReordered:
        case Class::kLate:
        case Class::kMissing: return true;
        case Class::kAsSent:
        case Class::kRefused:
        case Class::kLocal:
        case Class::kOutside:
        case Class::kUntold: return false;
    }
    return true;
}

bool Totals::balance() const {
    return sent == std::accumulate(classes.begin(), classes.end(), std::uint64_t{0}) &&
           received == arrived + copies + unknown + local + outside + untold;
}

}  // namespace pathproof::follow
