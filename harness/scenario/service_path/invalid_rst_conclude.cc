// Conclusions of invalid-rst, as data (model/README.md).
#include "harness/scenario/service_path/invalid_rst.h"
#include "harness/setting/cures.h"

namespace pathproof::scenario {
namespace {

const char* sends_text(const SegmentCell& what, const SegmentValues&) {
    switch (what.sends) {
        case SegmentCell::Sends::kNothing: return "-";
        case SegmentCell::Sends::kAhead: return "ahead of the window";
        case SegmentCell::Sends::kInWindow: return "in the window";
        case SegmentCell::Sends::kLateCopy: return "late copy of acknowledged data";
    }
    return "";
}

SegmentConclusions::Figures segment_figures() {
    return {
        {"connects", "connections", "connections", &SegmentValues::connects},
        {"broken", "connections", "of them that broke", &SegmentValues::broken},
        {"reset", "connections", "of them reset by peer", &SegmentValues::reset},
        {"segments", "packets", "segments put on the endpoint's wire", &SegmentValues::segments},
        {"invalid", "packets", "to the client, INVALID by the rule's count",
         &SegmentValues::invalid},
        {"untranslated", "packets", "from the endpoint's own address, on the client's wire",
         &SegmentValues::untranslated},
        {"answered", "packets", "RSTs of the client to that address", &SegmentValues::answered},
        {"by_segment", "connections", "broken after such a segment, INVALID, and such a RST",
         &SegmentValues::proven},
        {"by_lost_entry", "connections", "broken after such a segment of a flow without an entry",
         &SegmentValues::by_lost_entry},
        {"by_server", "connections", "broken by a RST of the server's side",
         &SegmentValues::by_server},
        {"by_dut", "connections", "broken by a RST that the DUT made itself",
         [](const SegmentValues& seen) -> std::optional<std::uint64_t> {
             return seen.not_followed.empty() ? std::optional(seen.by_dut) : std::nullopt;
         }},
        {verdict::kUnexplained, "connections", "broken, and no cause could be joined",
         [](const SegmentCell& what, const SegmentValues& seen) {
             return what.role == CellRole::kDemonstration ? 0 : seen.unexplained();
         }},
        {"segment", sends_text},
        {"liberal", &SegmentCell::is_liberal},
        {"drops", &SegmentCell::drops},
        {"one_way", &SegmentCell::one_way},
        {"liberal_read", &SegmentValues::liberal},
        {"not_followed", &SegmentValues::not_followed},
    };
}

// A cure, and what it does to connections of which the DUT sees one direction: `one_way` is such a cell
// with it.
model::CureText segment_cure(const char* cure, const char* with, const char* more,
                             const std::string& one_way) {
    return {.cure = cure,
            .with = with,
            .outcome =
                "with it {cure.broken of cure.connects}, without again {again.broken of "
                "again.connects}",
            .text = std::string("{command} on the DUT") + more + " ({outcome}; [" + one_way +
                    ".id and plain.id?of connections whose answers pass by the DUT {" + one_way +
                    ".broken of " + one_way +
                    ".connects} broke with it, without {plain.broken of plain.connects}|what it "
                    "does to connections of which the DUT sees one direction was not measured in "
                    "this run])"};
}

}  // namespace

const SegmentConclusions& invalid_rst_conclusions() {
    using enum model::CellVerdict;
    static const std::string kSysctl = setting::bare_sysctl(setting::kBeLiberal);
    static const SegmentConclusions conclusions(
        segment_figures(),
        {
            .toggles = {{"segment", "{segment}"},
                        {kSysctl, "[liberal?1|0]"},
                        {"INVALID", "[drops?dropped|forwarded]"},
                        {"answers", "[one_way?pass by|by the DUT]"}},
            .phrases =
                {{"breaks",
                  {{"{broken of connects} connections broke[ ({reset} reset by peer)]",
                    "connects != 0"}}},
                 {"joined",
                  {{"{by_segment} after an INVALID segment that came untranslated and that the "
                    "client answered with a RST"},
                   {"{by_lost_entry} after a segment that came untranslated for want of its "
                    "flow's entry"},
                   {"{by_server} as the server's side sent a RST[not_followed? (or a rule of the "
                    "DUT: "
                    "by capture, not by packet)]"},
                   {"{by_dut} as the DUT itself sent a RST, for a rule of its own"},
                   {"{unexplained} unexplained"}}},
                 {.name = "causes",
                  .clauses = {{"invalid-rst", "by_segment != 0"},
                              {"lost-entry", "by_lost_entry != 0"},
                              {"server-reset", "by_server != 0"},
                              {"dut-reset", "by_dut != 0"}},
                  .between = "+"}},
            .rules =
                {
                    {.when = "connects == 0", .text = "no connection was made"},
                    {.when = "liberal and liberal_read != '1' or "
                             "not liberal and liberal_read != '0'",
                     .text = kSysctl + " is '{liberal_read}'"},
                    {.when = "segment != '-' and segments < connects",
                     .text = "a segment was put on the wire in {segments of connects} "
                             "connections"},
                    // A demonstration of what a cure breaks is a figure, not a fault.
                    {.when = "is_demonstration or broken == 0", .is = kPass},
                    {.when = "unexplained != 0", .text = "{breaks}: {joined}"},
                    {.when = "", .is = kFail, .cause = "{causes}", .text = "{breaks}: {joined}"},
                },
            .own = "fails and cause == 'invalid-rst'",
            .chart = {.title = "Connections that broke", .hits = "broken", .trials = "connects"},
            .cells = {{"liberal_one_way", "one_way and passed and liberal and not drops"},
                      {"dropping_one_way", "one_way and passed and drops and not liberal"},
                      {"plain", "one_way and is_control and passed"}},
            .listings = {{.name = "found",
                          .text = "{id}: {breaks}",
                          .of = "is_matrix and (not again or first)"}},
            .findings =
                {{.headline = "{found}",
                  .why = "In {id} the endpoint sends a segment from outside of the window in each "
                         "connection. conntrack calls them INVALID ({invalid} counted) and "
                         "translates nothing of them: {untranslated} came to the client from the "
                         "endpoint's own address, with which it has no connection, and it sent "
                         "{answered} RSTs there. A RST that has the number which the endpoint "
                         "expects ends the connection there, and what the client asks next is "
                         "answered with a RST: {joined}.",
                  .cures =
                      {segment_cure("be-liberal", "is_cure and not drops", "", "liberal_one_way"),
                       segment_cure("drop-invalid", "is_cure and drops",
                                    ", as kube-proxy's KUBE-FORWARD has it", "dropping_one_way")},
                  .tried_alone = true}},
            .otherwise = "No connection broke, whatever segment came.",
        });
    return conclusions;
}

}  // namespace pathproof::scenario
