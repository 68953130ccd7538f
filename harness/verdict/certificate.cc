#include "harness/verdict/certificate.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace pathproof::verdict {

void end_readings(std::vector<Reading>& begin, const std::vector<Reading>& now) {
    for (Reading& reading : begin) {
        const auto same = std::ranges::find(now, reading.name, &Reading::name);
        reading.end = same == now.end() ? std::nullopt : same->begin;
    }
}

std::span<const PartyField> party_fields() {
    static constexpr std::array kFields{
        PartyField{"laboratory", "laboratory", &Parties::laboratory,
                   "laboratory that tests, for the report"},
        PartyField{"place", "place", &Parties::place, "where it is tested"},
        PartyField{"customer", "customer", &Parties::customer, "who has it tested"},
        PartyField{"operator", "operator", &Parties::operator_name, "who operates it"},
        PartyField{"plan-id", "plan_id", &Parties::plan_id, "test plan that this run follows"},
        PartyField{"plan-revision", "plan_revision", &Parties::plan_revision, "its revision"},
        PartyField{"received", "received", &Parties::received,
                   "day on which the item came, as 2026-11-23"},
        PartyField{"condition", "condition", &Parties::condition,
                   "condition of the item: new, used, reworked"}};
    return kFields;
}

Parties merged(Parties said, const Parties& otherwise) {
    for (const PartyField& field : party_fields()) {
        std::string& value = said.*field.value;
        value = value.empty() ? otherwise.*field.value : value;
    }
    return said;
}

bool is_day(const std::string& text) {
    constexpr std::string_view kForm = "dddd-dd-dd";
    if (text.size() != kForm.size()) {
        return false;
    }
    for (std::size_t at = 0; at < kForm.size(); ++at) {
        const bool digit = text[at] >= '0' && text[at] <= '9';
        if (kForm[at] == 'd' ? !digit : text[at] != '-') {
            return false;
        }
    }
    return true;
}

const char* name(KernelMessage::Kind kind) {
    switch (kind) {
        case KernelMessage::Kind::kWarning: return "warning";
        case KernelMessage::Kind::kOops: return "oops";
        case KernelMessage::Kind::kLockup: return "lockup";
        case KernelMessage::Kind::kTxTimeout: return "tx-timeout";
        case KernelMessage::Kind::kLinkDown: return "link-down";
        case KernelMessage::Kind::kLinkUp: return "link-up";
        case KernelMessage::Kind::kPcieError: return "pcie-error";
        case KernelMessage::Kind::kMemory: return "memory";
    }
    return "warning";
}

std::string taint_letters(std::uint64_t taint) {
    // taint_flags[] of kernel/panic.c. Bit 0 unset is 'G', which says nothing.
    constexpr std::string_view kLetters = "PFSRMBUDAWCIOELKXTNJ";
    std::string letters;
    for (std::size_t bit = 0; bit < kLetters.size(); ++bit) {
        if ((taint >> bit & 1) != 0) {
            letters += kLetters[bit];
        }
    }
    return letters;
}

}  // namespace pathproof::verdict
