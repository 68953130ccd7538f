// Conclusions of pmtu-blackhole, as data (model/README.md).
#include "harness/scenario/service_path/pmtu_blackhole.h"

namespace pathproof::scenario {
namespace {

// "fragments-dropped", "icmp-filtered"; empty: it is neither.
std::string blackhole(const PmtuCell& what, const PmtuValues& seen) {
    const bool stops_at_the_hop = seen.passes == what.fits() && seen.stops == what.fits() + 1;
    if (!seen.hangs() || !stops_at_the_hop) {
        return "";
    }
    if (seen.cut != 0 && seen.fragments_dropped != 0) {
        return "fragments-dropped";
    }
    return seen.too_big != 0 && seen.icmp_dropped != 0 ? "icmp-filtered" : "";
}

bool no_counter_tells(const PmtuCell& what, const PmtuValues& seen) {
    return !seen.large && blackhole(what, seen).empty() && seen.path.outages.empty() &&
           seen.by_other_rules() == 0;
}

PmtuConclusions::Figures pmtu_figures() {
    const auto tunnel = [](auto member) {
        return [member](const PmtuCell& what, const PmtuValues&) { return what.tunnel.*member; };
    };
    using Tunnel = TunnelOptions;
    return {
        {"ping", "", "ping", &PmtuValues::ping},
        {"small", "", "transfer of 100 bytes", &PmtuValues::small},
        {"large", "", "transfer of 60000 bytes", &PmtuValues::large},
        {"acknowledged", "bytes", "of it acknowledged", &PmtuValues::acknowledged},
        {"passes", "bytes", "largest packet that passed", &PmtuValues::passes},
        {"stops", "bytes", "smallest that did not (0: none)", &PmtuValues::stops},
        {"cut", "", "datagrams that the router cut", &PmtuValues::cut},
        {"too_big", "", "datagrams that it refused as too large", &PmtuValues::too_big},
        {"icmp_sent", "", "its ICMP destination unreachable", &PmtuValues::icmp_sent},
        {"icmp_dropped", "", "of them filtered", &PmtuValues::icmp_dropped},
        {"icmp_seen", "", "seen by the client", &PmtuValues::icmp_seen},
        {"fragments_dropped", "", "fragments that the VTEPs discarded",
         &PmtuValues::fragments_dropped},
        {"rule_drops", "", "packets that other rules dropped", &PmtuValues::by_other_rules},
        {verdict::kUnexplained, "", "transfers that failed, and nothing tells why",
         [](const PmtuCell& what, const PmtuValues& seen) {
             return no_counter_tells(what, seen) ? 1U : 0U;
         }},
        {"hole", blackhole},
        {"hangs", &PmtuValues::hangs},
        {"fits", &PmtuCell::fits},
        {"mss_that_fits", [](const PmtuCell& what, const PmtuValues&) { return what.fits() - 40; }},
        {"df", tunnel(&Tunnel::df)},
        {"icmp", tunnel(&Tunnel::icmp)},
        {"fragments", tunnel(&Tunnel::fragments)},
        {"tunnel_mtu", tunnel(&Tunnel::mtu)},
        {"hop_mtu", tunnel(&Tunnel::hop_mtu)},
        {"mss", tunnel(&Tunnel::mss)},
        {"outages", [](const PmtuValues& seen) { return in_a_row(seen.path.outages); }},
    };
}

model::CureText pmtu_cure(const char* cure, const char* cell, const char* name) {
    return {.cure = cure,
            .with = std::string("id == '") + cell + "'",
            .outcome = "{cure.through}; {cure.sizes}",
            .text = std::string(name) + " ({outcome})"};
}

}  // namespace

const PmtuConclusions& pmtu_blackhole_conclusions() {
    using enum model::CellVerdict;
    constexpr auto kFirst = model::Phrase::Told::kFirst;
    const std::vector<model::Toggle> axes = {{"outer DF", "[df?set|unset]"},
                                             {"ICMP", "[icmp?passes|filtered]"},
                                             {"fragments", "[fragments?pass|dropped]"},
                                             {"tunnel MTU", "{tunnel_mtu}"},
                                             {"hop MTU", "{hop_mtu}"},
                                             {"MSS", "[mss != 0?{mss}|as it is]"}};
    std::vector<model::Toggle> columns = axes;
    columns.insert(columns.end(), {{"60000 bytes", "[large?ok|[hangs?HANGS|fails]]"},
                                   {"packets pass up to", "{passes}"},
                                   {"cut", "{cut}"},
                                   {"fragments discarded", "{fragments_dropped}"},
                                   {"too large", "{too_big}"},
                                   {"ICMP filtered", "{icmp_dropped}"},
                                   {"ICMP at the client", "{icmp_seen}"}});
    static const PmtuConclusions conclusions(
        pmtu_figures(),
        {
            .toggles = axes,
            .phrases = {{.name = "sizes",
                         .clauses = {{"sizes were not measured", "passes == 0"},
                                     {"packets of up to {passes} bytes pass", "stops == 0"},
                                     {"packets of {passes} bytes pass, those of {stops} do not",
                                      "stops != 0"}},
                         .told = kFirst},
                        {"hop",
                         {{"the router cut {cut} datagrams"},
                          {"the VTEPs discarded {fragments_dropped} fragments"},
                          {"the router refused {too_big} datagrams as too large to pass uncut"},
                          {"{icmp_dropped} of its ICMP messages were filtered"}}},
                        {.name = "through",
                         .clauses = {{"ping and a transfer of 100 bytes got through, one of 60000 "
                                      "[large?too|hung]",
                                      "ping and small"},
                                     {"ping [ping?got through|failed], a transfer of 100 bytes "
                                      "[small?got through|failed], one of 60000 [large?got "
                                      "through|failed]",
                                      "not (ping and small)"}},
                         .told = kFirst},
                        {.name = "elsewhere",
                         .clauses = {{"{outages} had no link for a time", "outages"},
                                     {"rules of netfilter dropped {rule_drops} packets on the DUT",
                                      "rule_drops != 0"},
                                     {"no counter of the router tells why", "rule_drops == 0"}},
                         .told = kFirst},
                        {.name = "not_the_hop",
                         .clauses = {{"{through}"},
                                     {"{sizes}", "passes != 0"},
                                     {"the hop would stop those above {fits}", "stops != 0"},
                                     {"{elsewhere}"}},
                         .between = "; "}},
            .rules =
                {
                    {.when = "ping and small and large", .is = kPass},
                    {.when = "hole",
                     .is = kFail,
                     .cause = "{hole}",
                     .text = "{through}; {sizes}; {hop}"},
                    {.when = "",
                     .is = kFail,
                     .cause = "[outages?link-down|[rule_drops != 0?rule-drop|lost]]",
                     .text = "{not_the_hop}"},
                },
            .own = "hole",
            .tables = {{.title = "What gets through, by the outer DF bit, ICMP and fragments",
                        .columns = columns,
                        .of = "measured and not again",
                        .conclusion = "Packets are those of ping inside of the tunnel; the "
                                      "counters are of the router, of the rules and of the "
                                      "client."}},
            .cells = {{"dropped", "harmed and cause == 'fragments-dropped'"},
                      {"filtered", "harmed and cause == 'icmp-filtered'"}},
            .listings = {{"found", "{label}"}},
            .summaries = {{.name = "holes",
                           .clauses = {{"{dropped.id}: {dropped.hop}"},
                                       {"{filtered.id}: {filtered.hop}"}},
                           .between = "; in "}},
            .findings =
                {{.headline = "Ping and small transfers get through, large ones hang: {found}",
                  .why = "The tunnel takes packets of {tunnel_mtu} bytes and adds 50, a hop of its "
                         "path passes {hop_mtu}: {sizes}. In {holes}.",
                  .cures = {pmtu_cure("tunnel-mtu", "cure.mtu",
                                      "an MTU of {fits} on the tunnel (the path's less 50)"),
                            pmtu_cure("outer-df", "cure.df-set.icmp-passes.fragments-dropped",
                                      "{cure_name}"),
                            pmtu_cure("mss-clamp", "cure.mss-clamp",
                                      "TCPMSS --set-mss {mss_that_fits} on the tunnel")}}},
            .otherwise = "Transfers got through the tunnel, whatever the router's ICMP and "
                         "fragments met.",
        });
    return conclusions;
}

}  // namespace pathproof::scenario
