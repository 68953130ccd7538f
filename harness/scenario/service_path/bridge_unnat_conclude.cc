// Conclusions of bridge-unnat, as data (model/README.md).
#include <algorithm>

#include "harness/scenario/service_path/bridge_unnat.h"

namespace pathproof::scenario {
namespace {

const char* backend_text(const BridgeCell& what, const BridgeValues&) {
    switch (what.asks) {
        case BridgeCell::Asks::kNeighbour: return "on the client's bridge";
        case BridgeCell::Asks::kOtherHost: return "on another host";
        case BridgeCell::Asks::kDirectly: return "on the client's bridge, asked by its own address";
    }
    return "";
}

// Lookups that failed beyond the backend's flows, or answers of others, where such answers came; and
// flows without an entry that tells.
std::uint64_t unexplained_lookups(const BridgeValues& seen) {
    const std::uint64_t known = seen.unreplied + seen.unnamed;
    const std::uint64_t left = seen.failed() > known ? seen.failed() - known : 0;
    const bool strange = seen.from_backend + seen.from_others != 0;
    return (strange ? std::max(left, seen.from_others) : 0) + seen.unnamed;
}

BridgeConclusions::Figures bridge_figures() {
    return {
        {"lookups", "lookups", "lookups (A and AAAA)", &BridgeValues::lookups},
        {"failed", "lookups", "of them without their answers", &BridgeValues::failed},
        {"from_asked", "answers", "answers on the client's wire from what it asked",
         &BridgeValues::from_asked},
        {"from_backend", "answers", "from the backend's own address", &BridgeValues::from_backend},
        {"from_others", "answers", "from another address", &BridgeValues::from_others},
        {"unreplied", "flows", "of the backend's flows [UNREPLIED] in conntrack",
         &BridgeValues::unreplied},
        {"unnamed", "flows", "of the backend's flows without such an entry",
         &BridgeValues::unnamed},
        {verdict::kUnexplained, "lookups", "failed, and no cause could be joined",
         unexplained_lookups},
        {"backend", backend_text},
        {"filters", &BridgeCell::filtered},
        {"hairpin", &BridgeCell::hairpin},
        {"filtered", &BridgeValues::filtered},
        {"entry", &BridgeValues::entry_text},
        {"around", &BridgeValues::around_bridge},
    };
}

model::CureText bridge_cure(const char* cure, const char* with, const char* more) {
    return {.cure = cure,
            .with = with,
            .outcome =
                "with it {cure.failed of cure.lookups} lookups failed, without again "
                "{again.failed of again.lookups}",
            .text = std::string("{command} on the DUT") + more + " ({outcome})"};
}

}  // namespace

const BridgeConclusions& bridge_unnat_conclusions() {
    using enum model::CellVerdict;
    static const BridgeConclusions conclusions(
        bridge_figures(),
        {
            .toggles = {{"backend", "{backend}"},
                        {"bridge-nf-call-iptables", "[filters?1|0]"},
                        {"MASQUERADE", "[hairpin?on|off]"}},
            .phrases =
                {{"sources",
                  {{"{from_asked} from the address that was asked"},
                   {"{from_backend} from the backend's own address"},
                   {"{from_others} from another address"}}},
                 {"failures",
                  {{"{failed of lookups} lookups failed; [sources?answers on the client's wire: "
                    "{sources}|no answer came to the client's wire]",
                    "lookups != 0"}}}},
            .rules =
                {
                    {.when = "lookups == 0", .text = "no lookup was made"},
                    {.when = "filters and filtered != '1' or not filters and filtered != '0'",
                     .text = "net.bridge.bridge-nf-call-iptables is '{filtered}'"},
                    {.when = "unexplained != 0",
                     .text = "{failures}, and no \\[UNREPLIED\\] entry of conntrack tells why"},
                    {.when = "unreplied != 0 and around != ''",
                     .is = kFail,
                     .cause = "past-the-bridge",
                     .text = "{failures}; of {unreplied} flows conntrack saw no answer: "
                             "\"{entry}\". Whether the bridge carried them is not known: its "
                             "ports have {around}"},
                    {.when = "unreplied != 0 and filters",
                     .is = kFail,
                     .cause = "past-netfilter",
                     .text = "{failures}; of {unreplied} flows conntrack saw no answer, though "
                             "the bridge asks netfilter: \"{entry}\""},
                    {.when = "unreplied != 0",
                     .is = kFail,
                     .cause = "untranslated-answer",
                     .text = "{failures}; of {unreplied} flows conntrack saw no answer: "
                             "\"{entry}\""},
                    {.when = "failed != 0",
                     .is = kFail,
                     .cause = "no-answer",
                     .text = "{failures}"},
                },
            .own = "fails and cause == 'untranslated-answer' and failed != 0",
            .chart = {.title = "Lookups that failed", .hits = "failed", .trials = "lookups"},
            .findings =
                {{.headline = "{id}: {failed of lookups} lookups of a service failed, "
                              "{from_backend} answers came from the backend's own address",
                  .why = "Client and backend are ports of one bridge, and "
                         "bridge-nf-call-iptables={filtered}: the bridge hands the answers over "
                         "without asking netfilter, and nothing translates their source back to "
                         "the service. {from_backend} answers came so, and conntrack saw none of "
                         "those of {unreplied} flows: \"{entry}\".",
                  .cures = {bridge_cure("bridge-nf", "is_cure and not hairpin", ""),
                            bridge_cure("hairpin-masquerade", "is_cure and hairpin",
                                        ", for pods of one bridge; backends then see the DUT's "
                                        "address")},
                  .tried_alone = true}},
            .otherwise = "Each answer came from the address that was asked.",
        });
    return conclusions;
}

}  // namespace pathproof::scenario
