// Figures, rules and findings of large-answer.
#include "harness/scenario/resolvers/large_answer.h"

namespace pathproof::scenario {
namespace {

std::string large_other_text(const LargeAnswerValues& seen) {
    const std::string fate = fate_text(seen.other);
    return fate.empty() ? seen.other : fate;
}

LargeAnswerConclusions::Figures large_answer_figures() {
    using What = LargeAnswerCell;
    using Seen = LargeAnswerValues;
    return {
        {"lookups", "lookups", "lookups", &Seen::lookups},
        {"whole", "lookups", "with all addresses within 1 s", &Seen::whole},
        {"harmed_lookups", "lookups", "failed, slow or with too few addresses", &Seen::harmed},
        {"by_fragments", "lookups", "an answer's fragments came to the DUT and not to the client",
         &Seen::by_fragments},
        {"by_filter", "lookups", "the answer was cut, and TCP to the server did not leave the DUT",
         &Seen::by_filter},
        {"by_refusal", "lookups", "the answer was cut, and the server refused TCP",
         &Seen::by_refusal},
        {"by_resolver", "lookups", "the answer was cut, and the resolver did not try TCP",
         &Seen::by_resolver},
        {"by_other", "lookups", "harmed by something else", &Seen::by_other},
        {verdict::kUnexplained, "lookups", "harmed, and nothing tells why", &Seen::unexplained},
        {"addresses", "addresses", "addresses of the name", &Seen::addresses},
        {"fewest", "addresses", "addresses that a lookup came to, at least",
         &Seen::fewest_addresses},
        {"longest", "ms", "the longest lookup", &Seen::longest_ms},
        {"largest_udp", "bytes", "the largest answer over UDP", &Seen::largest_udp},
        {"query_takes", "bytes", "an answer over UDP that the query takes", &Seen::query_takes},
        {"oversized", "answers", "over UDP, larger than their query takes", &Seen::oversized},
        {"cut", "answers", "over UDP, cut (TC)", &Seen::cut},
        {"fragments_in", "packets", "fragments from the server, into the DUT", &Seen::fragments_in},
        {"fragments_out", "packets", "fragments from the server, at the client",
         &Seen::fragments_out},
        {"reassembled", "", "datagrams that the DUT joined of fragments", &Seen::reassembled},
        {"syns_in", "packets", "SYNs to port 53, into the DUT", &Seen::syns_in},
        {"syns_out", "packets", "SYNs to port 53, at the server", &Seen::syns_out},
        {"refusals", "packets", "RSTs from port 53, at the client", &Seen::refusals},
        {"resolver", [](const What& what, const Seen&) { return resolver::name(what.who); }},
        {"bytes", &What::bytes},
        {"server_largest",
         [](const What& what, const Seen&) { return unsigned{what.largest_udp}; }},
        {"options", &What::options},
        {"ignores", &What::ignores_query_size},
        {"drops_fragments", &What::drops_fragments},
        {"filters_tcp", &What::filters_tcp},
        {"allows_tcp", &What::allows_tcp},
        {"serves_tcp", &What::serves_tcp},
        {"error", &Seen::outcome},
        {"other", &Seen::other},
        {"other_text", large_other_text},
    };
}

}  // namespace

const LargeAnswerConclusions& large_answer_conclusions() {
    using enum model::CellVerdict;
    static const std::string kByPath = "(by_fragments != 0 or by_filter != 0)";
    static const LargeAnswerConclusions conclusions(
        large_answer_figures(),
        {
            .toggles = {{"resolver", "{resolver}"},
                        {"answer", "at most {bytes} bytes"},
                        {"options", "[options?{options}|none]"},
                        {"server",
                         "at most {server_largest} bytes by UDP[ignores?, whatever the query "
                         "takes][not serves_tcp?, no TCP]"},
                        {"path",
                         "[drops_fragments?fragments dropped|fragments pass], [filters_tcp and "
                         "not allows_tcp?TCP dropped|TCP passes]"}},
            .phrases =
                {{"parts",
                  {{"of {by_fragments} an answer's fragments came to the DUT and not to the client "
                    "({fragments_in} and {fragments_out} packets, {reassembled} joined there)"},
                   {"of {by_filter} the answer was cut (TC), and TCP to the server came to the DUT "
                    "and did not leave it ({syns_in} and {syns_out} SYNs)"},
                   {"of {by_refusal} the answer was cut (TC), and the server refused TCP "
                    "({refusals} "
                    "RSTs)"},
                   {"of {by_resolver} the answer was cut (TC), and the resolver did not try TCP"},
                   {"{by_other} since {other_text}"},
                   {"{unexplained} for nothing that was seen"}}},
                 {"harm",
                  {{"{harmed_lookups of lookups} lookups[fewest != addresses? came to {fewest} of "
                    "{addresses} addresses| were slow][error and error != 'ok'? ({error})]",
                    "lookups != 0"}}}},
            .rules =
                {
                    {.when = "lookups == 0", .text = "no name was looked up"},
                    {.when = "harmed_lookups == 0", .is = kPass},
                    {.when = "unexplained != 0", .text = "{harm}: {parts}"},
                    {.when = "",
                     .is = kFail,
                     .cause =
                         "[by_fragments != 0?[oversized != "
                         "0?size-not-lowered|fragments-dropped]|[by_filter != "
                         "0?tcp-filtered|[by_refusal != 0?no-tcp|[by_resolver != "
                         "0?resolver-without-tcp]]]][by_other != 0?[by_fragments + by_filter + "
                         "by_refusal + by_resolver != 0?+]{other}]",
                     .text = "{harm}: {parts}"},
                },
            .own = "fails and by_other == 0",
            .without_skipped = true,
            .chart = {.title = "Lookups that failed, were slow or incomplete",
                      .hits = "harmed_lookups",
                      .trials = "lookups"},
            .listings = {{"found", "{id}: {harmed_lookups of lookups}", "meant and not again"}},
            .findings =
                {{.of = "harmed and by_fragments != 0",
                  .headline = "An answer in fragments does not arrive: {found}",
                  .why =
                      "{id}: the server sent an answer of {largest_udp} bytes[oversized != 0? to "
                      "a query that takes {query_takes}], in {fragments_in} fragments that came "
                      "to the DUT; {fragments_out} came to the client, and no datagram was "
                      "whole.",
                  .cures = {{.cure = "edns-1232",
                             .with = "id == 'cure.edns-1232'",
                             .again = "again and harmed and by_fragments != 0",
                             .outcome = "then {cure.whole of cure.lookups} lookups were whole, "
                                        "asked again over TCP; without it again "
                                        "{again.harmed_lookups of again.lookups} were not",
                             .text =
                                 "{command} of the DNS server (CoreDNS: `bufsize 1232`; dnsmasq: "
                                 "`--edns-packet-max=1232`) ({outcome})"},
                            {.cure = "use-vc",
                             .with = "id == 'cure.use-vc'",
                             .again = "again and harmed and by_fragments != 0",
                             .outcome = "then {cure.whole of cure.lookups} lookups were whole",
                             .text = "or {command} in resolv.conf ({outcome})"}}},
                 {.of = "harmed and by_filter != 0",
                  .headline = "A cut answer, and TCP to the server is dropped: {found}",
                  .why = "{id}: the answer over UDP was cut at what the query takes, {query_takes} "
                         "bytes (TC); the resolver began TCP, and of {syns_in} SYNs that came to "
                         "the DUT {syns_out} left it.",
                  .cures = {{.cure = "allow-dns-tcp",
                             .with = "id == 'cure.allow-dns-tcp'",
                             .again = "again and harmed and by_filter != 0",
                             .outcome = "then {cure.whole of cure.lookups} lookups were whole; "
                                        "without it again {again.harmed_lookups of again.lookups} "
                                        "were not",
                             .text = "{command} on the DUT ({outcome})"}}},
                 {.of = "harmed and not " + kByPath,
                  .headline = "A cut answer, and nobody does DNS over TCP: {found}",
                  .why = "{id}: the answer over UDP was cut at {query_takes} bytes (TC), "
                         "[by_refusal != 0?and the server refused TCP ({refusals} RSTs)|and the "
                         "resolver did not try TCP, and took what there was].",
                  .cures = {},
                  .alone = true}},
            .otherwise = "Every lookup came to all addresses of its name, whatever the path does "
                         "with fragments and TCP.",
        },
        {.lacks = &LargeAnswerValues::lacking});
    return conclusions;
}

}  // namespace pathproof::scenario
