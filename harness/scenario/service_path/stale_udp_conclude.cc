// Conclusions of stale-udp, as data (model/README.md).
#include "harness/scenario/service_path/stale_udp.h"

namespace pathproof::scenario {
namespace {

const char* then_text(const StaleUdpCell& what, const StaleUdpValues&) {
    switch (what.then) {
        case AfterChange::kGoesOn: return "the flow goes on";
        case AfterChange::kNewFlow: return "a new flow";
        case AfterChange::kSilent: return "silence, then the flow goes on";
        case AfterChange::kForgets: return "entries deleted, the flow goes on";
    }
    return "";
}

StaleUdpConclusions::Figures stale_udp_figures() {
    return {
        {"sent_before", "datagrams", "sent before the change", &StaleUdpValues::sent_before},
        {"reached_before", "datagrams", "of them at the endpoint", &StaleUdpValues::reached_before},
        {"sent", "datagrams", "sent after the change", &StaleUdpValues::sent},
        {"to_gone", "datagrams", "of them at the endpoint that is gone", &StaleUdpValues::to_gone},
        {"to_new", "datagrams", "of them at the endpoint that serves", &StaleUdpValues::to_new},
        {"rejected", "datagrams", "of them counted by REJECT", &StaleUdpValues::rejected},
        {"lost", "datagrams", "of them nowhere", &StaleUdpValues::lost},
        {"rule_hits", "", "packets that the service's rule counted", &StaleUdpValues::rule_hits},
        {"entry_packets", "", "packets that the old entry counted after the change",
         &StaleUdpValues::entry_packets},
        {"entry_timeout", "s", "seconds that the old entry has left",
         &StaleUdpValues::entry_timeout_s},
        {"deleted", "", "entries deleted by the cure", &StaleUdpValues::deleted},
        {"ipvs_to_gone", "", "connections of IPVS to the endpoint that is gone",
         [](const StaleUdpValues& seen) { return seen.ipvs_to_gone ? 1U : 0U; }},
        {verdict::kUnexplained, "datagrams", "to the endpoint that is gone, and no entry tells why",
         // An entry explains them that goes from the service to that endpoint and has counted them.
         [](const StaleUdpValues& seen) {
             return seen.entry && seen.entry_packets >= seen.to_gone ? 0 : seen.to_gone;
         }},
        {"sender", then_text},
        {"forgets", [](const StaleUdpCell& what,
                       const StaleUdpValues&) { return what.then == AfterChange::kForgets; }},
        {"has_endpoint", &StaleUdpCell::has_endpoint},
        {"by_ipvs", &StaleUdpCell::by_ipvs},
        {"expires_nodest", &StaleUdpCell::expires_nodest},
        {"ipv4", [](const StaleUdpCell& what,
                    const StaleUdpValues&) { return what.family == frame::Family::kIpv4; }},
        {"followed", [](const StaleUdpValues& seen) { return seen.to_new + seen.rejected; }},
        {"astray",
         [](const StaleUdpCell& what, const StaleUdpValues& seen) {
             return what.by_ipvs() ? seen.lost() : seen.to_gone;
         }},
        {"entry_is_new", &StaleUdpValues::entry_is_new},
        {"entry", &StaleUdpValues::entry_text},
        {"connection", &StaleUdpValues::ipvs_connection},
        {"bystander", &StaleUdpValues::bystander},
        {"cure_command", &StaleUdpValues::cure_command},
    };
}

model::Finding dnat_finding() {
    return {.of = "harmed and not by_ipvs",
            .headline = "{found}",
            .why =
                "DNAT rules are asked for the first packet of a flow alone. The flow's entry of "
                "conntrack goes to an endpoint that the service's rules do not name any more, "
                "and each datagram renews it: {all_gone} of them, {all_packets} packets counted "
                "by the entries after the change. {id}: \"{entry}\".",
            .cures = {{.cure = "delete-stale-entries",
                       .with = "is_cure and not by_ipvs",
                       .again = "again and harmed and not by_ipvs",
                       .outcome = "{cure.deleted} deleted, the entry of another flow stayed; then "
                                  "{cure.to_new of cure.sent} datagrams reached the endpoint that "
                                  "serves; without it again {again.to_gone of again.sent} the one "
                                  "that is gone",
                       .text = "[cure.cure_command?`{cure.cure_command}`|{cure_name}][is_shown? on "
                               "the DUT, for each endpoint that is gone] ({outcome})"}}};
}

model::Finding ipvs_finding() {
    return {.of = "harmed and by_ipvs",
            .headline = "{found}",
            .why =
                "IPVS keeps the connection of a flow to an endpoint that was deleted, and with "
                "expire_nodest_conn=0 it drops what comes for it: {all_lost} datagrams came out "
                "nowhere. {id}: \"{connection}\".",
            .cures = {{.cure = "expire-nodest",
                       .with = "is_cure and by_ipvs",
                       .again = "again and harmed and by_ipvs",
                       .outcome = "then {cure.to_new of cure.sent} datagrams reached the endpoint "
                                  "that serves[cure.lost != 0?, and the one that ended the old "
                                  "connection was lost]; without it again {again.lost of "
                                  "again.sent} came out nowhere",
                       .text = "{command}[is_shown? on the DUT] ({outcome})"}}};
}

}  // namespace

const StaleUdpConclusions& stale_udp_conclusions() {
    using enum model::CellVerdict;
    static const std::string kTold = "meant and (not again or first)";
    static const StaleUdpConclusions conclusions(
        stale_udp_figures(),
        {
            .toggles = {{"service then", "[has_endpoint?another endpoint|no endpoint: REJECT]"},
                        {"sender", "{sender}"},
                        {"IP", "[ipv4?4|6]"},
                        {"service by", "[by_ipvs?IPVS|DNAT rules]"}},
            .phrases =
                {{"lacking",
                  {{"no datagram was sent before the change", "sent_before == 0"},
                   {"before the change {reached_before of sent_before} datagrams reached the "
                    "endpoint",
                    "reached_before != sent_before"},
                   {"no datagram was sent after the change", "sent == 0"}}},
                 {.name = "gone",
                  .clauses = {{"{lost of sent} datagrams after the change came out nowhere",
                               "by_ipvs and to_gone == 0"},
                              {"{to_gone of sent} datagrams after the change went to the endpoint "
                               "that is gone, [has_endpoint?{followed or none} to the one that "
                               "serves|REJECT counted {followed or none}]",
                               "sent != 0"}},
                  .told = model::Phrase::Told::kFirst}},
            .rules =
                {
                    {.when = "lacking", .text = "{lacking}"},
                    {.when = "unexplained != 0",
                     .text = "{gone}, and no entry of conntrack tells why"},
                    {.when = "to_gone != 0 and by_ipvs",
                     .is = kFail,
                     .cause = "still-served",
                     .text = "{gone}"},
                    // A new entry means that the rules sent the flow there.
                    {.when = "to_gone != 0 and entry_is_new",
                     .is = kFail,
                     .cause = "stale-rules",
                     .text = "{gone}; its entry is younger than the change: \"{entry}\""},
                    {.when = "to_gone != 0",
                     .is = kFail,
                     .cause = "stale-entry",
                     .text = "{gone}; the entry from before it was renewed by each: \"{entry}\""},
                    {.when = "lost != 0 and by_ipvs and ipvs_to_gone and to_new == 0",
                     .is = kFail,
                     .cause = "ipvs-nodest",
                     .text = "{gone}; IPVS keeps the flow's connection to the endpoint that is "
                             "gone: \"{connection}\""},
                    // The datagram that ended IPVS's old connection does not count.
                    {.when = "lost != 0 and not (expires_nodest and lost == 1 and not "
                             "ipvs_to_gone)",
                     .is = kFail,
                     .cause = "lost",
                     .text = "{lost} of {sent} datagrams after the change came out nowhere"},
                    // Somebody else was quicker: the cure was not tried, and nothing failed.
                    {.when = "forgets and deleted == 0",
                     .is = kSkip,
                     .text = "there was no entry to delete"},
                    {.when = "forgets and not bystander",
                     .is = kFail,
                     .text = "the entry of another flow was deleted too"},
                },
            .own = "fails and (cause == 'stale-entry' or cause == 'ipvs-nodest')",
            .chart = {.title = "Datagrams that went to an endpoint that is gone",
                      .hits = "astray",
                      .trials = "sent"},
            .totals = {{"all_gone", "to_gone", kTold},
                       {"all_packets", "entry_packets", kTold},
                       {"all_lost", "lost", kTold}},
            .listings = {{"found", "{id}: {gone}"}},
            .findings = {dnat_finding(), ipvs_finding()},
            .cures = {.between = "; for IPVS "},
            .otherwise = "After each change of the service's rules its flows followed them.",
        },
        {.lacks = &StaleUdpValues::lacks});
    return conclusions;
}

}  // namespace pathproof::scenario
