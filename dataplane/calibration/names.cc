#include "dataplane/calibration/names.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "dataplane/base/contains.h"
#include "dataplane/softnic/mechanisms.h"

namespace pathproof::calibration {
namespace {

using softnic::Fault;
using softnic::FaultDirection;
using softnic::FaultLayer;

struct Called {
    std::string_view mechanism;
    std::string_view title;
    std::string_view where = "";  // how the place ends, if it matters
};

// Mechanisms whose title is their own name are not listed.
constexpr Called kTransmit[] = {
    {"CLEARED", "DISABLED"},
    {"OUTER_BEFORE_INNER_ZERO", "OUTER_BEFORE_INNER"},
    {"OUTER_BEFORE_INNER_PSEUDO", "OUTER_BEFORE_INNER"},
    {"OUTER_BEFORE_INNER_OLD", "OUTER_BEFORE_INNER"},
    {"ODD_LANE", "ODD_LAST_LANE"},
    {"ODD_BUFFER", "ODD_BOUNDARY"},
    {"VLAN_START_LATE", "VLAN_START"},
    {"QINQ_START", "VLAN_START"},
    {"TCP_OFFSET", "OTHER_PROTOCOL"},
    {"TUNNEL_START", "NO_OUTER_LENGTHS"},
    {"AS_TUNNEL", "PORT_SPECIAL"},
    {"ZERO_AS_FFFF", "CARRY"},
    {"TOT_LEN_PAD", "WRONG_FIELD", "ip.total_length"},
    {"SEG_TOT_LEN", "SEG_HDR", "length"},
    {"SEG_UDP_LEN", "SEG_HDR", "udp.length"},
    {"SEG_ID_STUCK", "SEG_HDR", "ip.id"},
    {"SEG_PSH", "SEG_HDR", "tcp.flags"},
    {"SEG_FIN", "SEG_HDR", "tcp.flags"},
    {"SEG_CWR", "SEG_HDR", "tcp.flags"},
    {"SEG_SEQ", "SEG_HDR", "tcp.sequence"},
};
constexpr Called kWire[] = {{"HEALED", "HEALED"}, {"HEALED", "PAYLOAD"}};
constexpr Called kReceive[] = {
    {"GOOD_ON_BAD", "RX_GOOD_ON_BAD"},
    {"BAD_ON_GOOD", "RX_BAD_ON_GOOD"},
    {"LAYER_SWAP", "RX_LAYER_SWAP"},
    {"L4_LOST", "RX_GOOD_ON_BAD"},
    {"DEFAULT_GOOD", "RX_GOOD_ON_BAD"},
    {"DEFAULT_GOOD", "RX_GOOD_UNCHECKED"},
    {"HEALED", "RX_HEALED"},
    {"DROP", "DROP"},
    {"DROP_BAD", "RX_DROP_BAD"},
    {"COUNT_HEALTHY", "COUNTER_LIES"},
    {"STUCK_ZERO", "COUNTER_LIES"},
    {"UNKNOWN_ALWAYS", "RX_UNKNOWN_ALWAYS"},
};
// Outside the algebra of sums: a pseudo-header with another segment's length.
constexpr std::string_view kNameless[] = {"SEG_MSS_LEN"};

std::span<const Called> called(FaultDirection direction) {
    switch (direction) {
        case FaultDirection::kTx: return kTransmit;
        case FaultDirection::kWire: return kWire;
        case FaultDirection::kRx: break;
    }
    return kReceive;
}

bool is_open_world(std::string_view mechanism) {
    return contains(softnic::open_world_mechanisms(), mechanism, &softnic::Mechanism::name);
}

std::string_view place_end(const Fault& fault) {
    const std::span<const Called> all = called(fault.direction);
    const auto found = std::ranges::find(all, softnic::mechanism_name(fault), &Called::mechanism);
    return found != all.end() ? found->where : "";
}

// Receivers' layers are "ip", "l4", "outer.ip", "outer.l4".
bool place_fits(const Fault& fault, const std::string& place) {
    if (fault.direction == FaultDirection::kRx) {
        return true;
    }
    const bool outer = place.starts_with("outer.");
    const bool inner = place.starts_with("inner.");
    const bool there = place.ends_with(place_end(fault));
    switch (fault.layer) {
        case FaultLayer::kOuter: return outer && there;
        case FaultLayer::kInner: return !outer && there;
        case FaultLayer::kPlain: return !outer && !inner && there;
        case FaultLayer::kInnermost: return !outer && there;
        case FaultLayer::kOutermost:
        case FaultLayer::kAny: break;
    }
    return there;
}

// A misplaced checksum lands in whatever headers lie before: the place says nothing of the layer.
bool lands_anywhere(const std::string& title) {
    constexpr std::array<std::string_view, 4> kTitles = {"NO_OUTER_LENGTHS", "VLAN_START",
                                                         "EXTHDR_START", "IPOPT_START"};
    return contains(kTitles, title);
}

std::vector<std::string> alternatives(const Verdict& verdict) {
    constexpr std::string_view kOr = " or ";
    std::vector<std::string> titles = verdict.candidates;
    std::string_view rest = verdict.title;
    for (std::size_t at = rest.find(kOr); at != std::string_view::npos; at = rest.find(kOr)) {
        titles.emplace_back(rest.substr(0, at));
        rest.remove_prefix(at + kOr.size());
    }
    titles.emplace_back(rest);
    return titles;
}

bool is_open(const Verdict& verdict) {
    return verdict.title == "UNKNOWN" || verdict.title.find(" or ") != std::string::npos;
}

// Returns whether the fault makes frames that are copies of one another: nobody can tell a copy
// from a frame that came twice while another was lost.
bool makes_copies(const Fault& fault, const SendRow& row) {
    softnic::SoftNic nic(row.nic, {fault});
    softnic::TxResult sent;
    for (const SentProbe& probe : row.probes) {
        for (const softnic::TxFrame& frame : probe.frames) {
            nic.transmit(frame, sent);
            std::ranges::sort(sent.frames);
            if (std::ranges::adjacent_find(sent.frames) != sent.frames.end()) {
                return true;
            }
        }
    }
    return false;
}

bool is_alias(const Fault& fault, const Verdict& verdict, const SendRow* row) {
    if (row == nullptr) {
        return false;
    }
    if (verdict.title == "DUPLICATE" || verdict.title == "MISSING") {
        return makes_copies(fault, *row);
    }
    return std::ranges::any_of(alternatives(verdict), [&](const std::string& title) {
        const auto other = fault_called(title, fault);
        return other && same_on_wire(fault, *other, *row);
    });
}

Naming naming_of(const Fault& fault, const Verdict& verdict, const SendRow* row) {
    const std::vector<std::string> right = right_titles(fault);
    const bool fits = lands_anywhere(verdict.title) || place_fits(fault, verdict.place);
    if (contains(right, verdict.title) && fits) {
        return Naming::kExact;
    }
    const bool among = std::ranges::any_of(
        alternatives(verdict), [&](const std::string& title) { return contains(right, title); });
    if (is_open(verdict) && among) {
        return Naming::kOpen;
    }
    if (!right.empty() && is_alias(fault, verdict, row)) {
        return Naming::kAlias;
    }
    return verdict.title == "UNKNOWN" ? Naming::kUnnamed : Naming::kWrong;
}

}  // namespace

std::vector<std::string> right_titles(const Fault& fault) {
    const std::string_view mechanism = softnic::mechanism_name(fault);
    if (is_open_world(mechanism) || contains(kNameless, mechanism)) {
        return {};
    }
    std::vector<std::string> titles;
    for (const Called& each : called(fault.direction)) {
        if (each.mechanism == mechanism) {
            titles.emplace_back(each.title);
        }
    }
    return titles.empty() ? std::vector<std::string>{std::string(mechanism)} : titles;
}

std::optional<Fault> fault_called(const std::string& title, const Fault& fault) {
    std::string_view mechanism = title;
    for (const Called& each : called(fault.direction)) {
        mechanism = each.title == title ? each.mechanism : mechanism;
    }
    Fault other = fault;
    other.mechanism = softnic::mechanism_named(mechanism, fault.direction);
    const bool acts = other.mechanism != nullptr &&
                      (other.mechanism->fields & softnic::field_bit(fault.field)) != 0;
    return acts && other.mechanism != fault.mechanism ? std::optional(other) : std::nullopt;
}

Naming naming_of(const Fault& fault, const std::vector<Verdict>& verdicts, const SendRow* row) {
    Naming worst = Naming::kExact;
    for (const Verdict& verdict : verdicts) {
        worst = std::max(worst, naming_of(fault, verdict, row));
    }
    return worst;
}

std::string titles_of(const std::vector<Verdict>& verdicts) {
    std::set<std::string> titles;
    for (const Verdict& verdict : verdicts) {
        titles.insert(verdict.title);
    }
    return fmt::format("{}", fmt::join(titles, ", "));
}

}  // namespace pathproof::calibration
