#include "harness/lab/snat.h"

#include <fmt/format.h>

#include "harness/setting/cures.h"

namespace pathproof::lab {

std::string target_of(Snat snat) {
    switch (snat) {
        case Snat::kNone: return "-j ACCEPT";
        case Snat::kMasquerade: return setting::kMasquerade;
        case Snat::kMasqueradeRandomFully: return setting::cure("random-fully").command;
    }
    return "";
}

std::string to_string(Snat snat) {
    switch (snat) {
        case Snat::kNone: return "none";
        case Snat::kMasquerade: return "MASQUERADE";
        case Snat::kMasqueradeRandomFully:
            return fmt::format("MASQUERADE {}", setting::cure("random-fully").brief);
    }
    return "";
}

std::string outer_snat_text(bool translated) {
    return translated ? fmt::format("masquerade {}", setting::cure("random-fully").brief) : "none";
}

}  // namespace pathproof::lab
