#include "harness/screen/view.h"

#include <netinet/in.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "harness/screen/sections.h"
#include "tests/contains.h"

using namespace pathproof;
using namespace pathproof::screen;
using monitor::BackendVerdict;
using netfilter::Clash;

namespace {

constexpr std::int64_t kNoon = 43'200'000'000'000;

frame::Endpoint endpoint(const std::string& text) {
    return frame::parse_endpoint(text).value();
}

monitor::BackendHealth backend(const std::string& address, std::uint64_t flows,
                               std::uint64_t unanswered, BackendVerdict verdict) {
    return {.address = endpoint(address),
            .flows = flows,
            .in_table = static_cast<std::int64_t>(flows / 2),
            .judged = flows,
            .unanswered = unanswered,
            .unanswered_share = {0.1, 0.2},
            .median_answer_ns = 1'500'000,
            .last_refusal = {},
            .verdict = verdict};
}

monitor::ServiceHealth service(const std::string& address,
                               std::vector<monitor::BackendHealth> backends) {
    monitor::ServiceHealth health{
        .address = endpoint(address), .protocol = IPPROTO_UDP, .backends = std::move(backends)};
    for (const monitor::BackendHealth& one : health.backends) {
        health.flows += one.flows;
        health.in_table += one.in_table;
        health.judged += one.judged;
        health.unanswered += one.unanswered;
    }
    return health;
}

Clash clash(std::int64_t time_ns, Clash::Fate fate) {
    Clash found{.fate = fate, .found_ns = time_ns};
    found.hidden.original = {
        endpoint("198.18.1.1:1024"), endpoint("198.51.100.10:53"), IPPROTO_UDP, {}};
    found.hidden.reply = {endpoint("203.0.113.3:53"), endpoint("198.18.1.1:1024"), IPPROTO_UDP, {}};
    found.winner = found.hidden;
    found.winner->reply.source = endpoint("203.0.113.2:53");
    return found;
}

monitor::Snapshot snapshot() {
    monitor::Snapshot out{.netns = "pp-x",
                          .kernel = "6.18.44",
                          .time_ns = kNoon,
                          .seconds = 61,
                          .table = {.entries = 65'536, .maximum = 262'144}};
    out.events = {{.created = 1'234'567, .updated = 3, .destroyed = 1000}};
    out.rates = {.seconds = 1, .created = 12'345.6, .destroyed = 12, .clash_resolve = 7.5};
    out.cpus_since_start = {{.cpu = 0, .counters = {{"insert_failed", 3}, {"drop", 4}}},
                            {.cpu = 1, .counters = {{"insert_failed", 2}, {"drop", 1}}}};
    out.backends.services = {
        service("198.51.100.10:53", {backend("203.0.113.2:53", 300, 3, BackendVerdict::kHealthy),
                                     backend("203.0.113.3:53", 100, 98, BackendVerdict::kDead)}),
        service("198.51.100.20:80", {backend("203.0.113.9:80", 10, 1, BackendVerdict::kTooFew)}),
        service("198.51.100.30:443",
                {backend("203.0.113.77:443", 5000, 600, BackendVerdict::kLossy)})};
    out.clashes = {.hidden = 12, .answered = 9, .unanswered = 2, .open = 1, .late_answers = 1};
    out.last_clashes = {clash(kNoon - 1'000'000'000, Clash::Fate::kUnanswered),
                        clash(kNoon - 3'000'000'000, Clash::Fate::kAnswered)};
    netfilter::LateAnswer late;
    late.event.time_ns = kNoon - 2'000'000'000;
    late.event.entry.original = {
        endpoint("203.0.113.3:53"), endpoint("198.18.1.1:1024"), IPPROTO_UDP, {}};
    late.clash = 1;
    out.last_late_answers = {late};
    out.drops = drops::DropSummary{
        .scope = drops::Scope::kNamespace,
        .scope_reason = {},
        .drops = 42,
        .counts = {{.reason = "NETFILTER_DROP",
                    .location = "nf_hook_slow+0xa7",
                    .protocol = "ip/udp",
                    .packets = 40},
                   {.reason = "TCP_CSUM", .location = "x", .protocol = "ip/tcp", .packets = 2}},
        .last = {{kNoon, "NETFILTER_DROP", "nf_hook_slow+0xa7", "ip/udp"}}};
    return out;
}

std::vector<std::string> text_of(const monitor::Snapshot& what, Size size, ViewState state = {}) {
    std::vector<std::string> lines;
    for (const Line& line : view(what, state, size)) {
        lines.push_back(plain(line));
    }
    return lines;
}

std::string joined(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) {
        text += line + "\n";
    }
    return text;
}

std::string shown(const monitor::Snapshot& what, Size size = {80, 24},
                  const ViewState& state = {}) {
    return joined(text_of(what, size, state));
}

using pathproof::test::contains;

std::size_t place(const std::string& text, const std::string& part) {
    const std::size_t at = text.find(part);
    BOOST_REQUIRE_MESSAGE(at != std::string::npos, "no '" << part << "' in\n" << text);
    return at;
}

Style style_at(const monitor::Snapshot& what, const std::string& text) {
    ViewState state;
    for (const Line& line : view(what, state, {80, 24})) {
        for (const Piece& piece : line) {
            if (contains(piece.text, text)) {
                return piece.style;
            }
        }
    }
    BOOST_FAIL("no piece '" << text << "'");
    return Style::kPlain;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(screen_view)

BOOST_AUTO_TEST_CASE(every_size_is_filled_exactly_and_never_overflows) {
    for (const Size size :
         {Size{80, 24}, Size{200, 50}, Size{81, 25}, Size{40, 10}, Size{20, 3}, Size{19, 3},
          Size{80, 2}, Size{80, 4}, Size{1, 1}, Size{0, 0}, Size{500, 200}}) {
        for (const auto page : {ViewState::Page::kMain, ViewState::Page::kHelp}) {
            ViewState state{.page = page};
            const Lines lines = view(snapshot(), state, size);
            BOOST_TEST(lines.size() == size.rows);
            for (const Line& line : lines) {
                BOOST_TEST(width(line) <= size.columns);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(at_80x24_all_that_matters_is_there_uncut) {
    const std::vector<std::string> lines = text_of(snapshot(), {80, 24});
    const std::string text = joined(lines);
    for (const char* part : {"netns pp-x",
                             "6.18.44",
                             "up 00:01:01  12:00:00Z",
                             "65536 of 262144  25.0 %",
                             "new 12.35k",
                             "clash_resolve 7.5",
                             "insert_failed 5  ",
                             "drop 5",
                             "new 1.23M",
                             "none lost",
                             "SERVICES by flows",
                             "udp 198.51.100.30:443",
                             "203.0.113.77:443",
                             "12.0 %",
                             "lossy",
                             "dead",
                             "healthy",
                             "too few",
                             "CLASHES  12 hidden: 9 answered, 2 not, 1 open",
                             "1 late answers",
                             "203.0.113.2|203.0.113.3",
                             "DROPS  42 in this namespace",
                             "NETFILTER_DROP 40",
                             "nf_hook_slow+0xa7",
                             "q quit"}) {
        BOOST_TEST(contains(text, part), part);
    }
    BOOST_TEST(std::none_of(lines.begin(), lines.end(),
                            [](const std::string& line) { return line.ends_with(">"); }));
}

BOOST_AUTO_TEST_CASE(a_larger_screen_shows_more) {
    BOOST_TEST(!contains(shown(snapshot(), {80, 24}), "[10.0, 20.0] %"));
    BOOST_TEST(contains(shown(snapshot(), {200, 50}), "winner 203.0.113.2  loser 203.0.113.3"));
    BOOST_TEST(contains(shown(snapshot(), {200, 50}), "[10.0, 20.0] %"));
}

BOOST_AUTO_TEST_CASE(a_small_screen_shows_the_table_first) {
    const std::vector<std::string> lines = text_of(snapshot(), {60, 4});
    BOOST_TEST(contains(lines[1], "65536 of 262144"));
    BOOST_TEST(contains(lines[3], "q quit"));
}

BOOST_AUTO_TEST_CASE(services_are_sorted_as_chosen) {
    const std::string flows = shown(snapshot());
    BOOST_TEST(place(flows, "198.51.100.30") < place(flows, "udp 198.51.100.10"));
    const std::string worst = shown(snapshot(), {80, 24}, {.sort = Sort::kVerdict});
    BOOST_TEST(place(worst, "udp 198.51.100.10") < place(worst, "198.51.100.30"));
    BOOST_TEST(place(worst, "203.0.113.3:53 ") < place(worst, "203.0.113.2:53 "));
    const std::string address = shown(snapshot(), {80, 24}, {.sort = Sort::kAddress});
    BOOST_TEST(place(address, "198.51.100.10") < place(address, "198.51.100.20"));
    const std::string unanswered = shown(snapshot(), {80, 24}, {.sort = Sort::kUnanswered});
    BOOST_TEST(place(unanswered, "udp 198.51.100.10") < place(unanswered, "198.51.100.30"));
}

BOOST_AUTO_TEST_CASE(the_order_can_be_reversed) {
    const std::string text = shown(snapshot(), {80, 24}, {.order = ViewState::Order::kReversed});
    BOOST_TEST(place(text, "198.51.100.20") < place(text, "198.51.100.30"));
    BOOST_TEST(contains(text, "SERVICES by flows, reversed"));
}

BOOST_AUTO_TEST_CASE(a_filter_keeps_lines_that_hold_it_and_backends_of_services_that_do) {
    const std::string one = shown(snapshot(), {80, 24}, {.filter = "203.0.113.3:53"});
    BOOST_TEST(contains(one, "only lines with '203.0.113.3:53'"));
    BOOST_TEST(contains(one, "udp 198.51.100.10:53"));
    BOOST_TEST(!contains(one, "203.0.113.2:53"));
    BOOST_TEST(!contains(one, "198.51.100.30"));
    BOOST_TEST(contains(one, "late"));
    BOOST_TEST(!contains(one, "NETFILTER_DROP ip/udp"));
    const std::string both = shown(snapshot(), {80, 24}, {.filter = "198.51.100.10:53"});
    BOOST_TEST(contains(both, "  203.0.113.2:53"));
    BOOST_TEST(contains(both, "  203.0.113.3:53"));
    const std::string state = shown(snapshot(), {80, 24}, {.filter = "dead"});
    BOOST_TEST(contains(state, "203.0.113.3:53"));
    BOOST_TEST(!contains(state, "203.0.113.77"));
    BOOST_TEST(contains(shown(snapshot(), {80, 24}, {.filter = "nonesuch"}),
                        "no service or backend holds 'nonesuch'"));
}

BOOST_AUTO_TEST_CASE(clashes_and_late_answers_come_newest_first) {
    const std::string text = shown(snapshot(), {100, 40});
    BOOST_TEST(place(text, "11:59:59 unanswered") < place(text, "11:59:58 late"));
    BOOST_TEST(place(text, "11:59:58 late") < place(text, "11:59:57 answered"));
    BOOST_TEST(
        contains(text, "203.0.113.3:53 > 198.18.1.1:1024  arrives un-translated  after a clash"));
}

BOOST_AUTO_TEST_CASE(scrolling_stops_at_the_last_line) {
    monitor::Snapshot many = snapshot();
    for (int i = 0; i < 100; ++i) {
        many.backends.services.push_back(
            service(fmt::format("198.51.100.99:{}", 1000 + i),
                    {backend("203.0.113.5:80", 1, 0, BackendVerdict::kTooFew)}));
    }
    ViewState state{.first = 100'000};
    const std::string text = [&] {
        std::string all;
        for (const Line& line : view(many, state, {80, 24})) {
            all += plain(line) + "\n";
        }
        return all;
    }();
    BOOST_TEST(contains(text, "198.51.100.99:1099"));
    BOOST_TEST(contains(text, "SERVICES"));
    BOOST_TEST(state.first < 300U);
    BOOST_TEST(state.first > 150U);
    BOOST_TEST(contains(text, "CLASHES"));
    BOOST_TEST(contains(text, "DROPS"));
}

BOOST_AUTO_TEST_CASE(what_was_lost_is_said_in_place_of_none_lost) {
    monitor::Snapshot lossy = snapshot();
    lossy.events.overruns = 2;
    lossy.events.missed = 77;
    lossy.gaps = {{.stage = netfilter::Gap::Stage::kReconciled, .from_ns = kNoon}};
    const std::string text = shown(lossy);
    BOOST_TEST(!contains(text, "none lost"));
    BOOST_TEST(contains(text, "2 overruns, 77 missed found again"));
    BOOST_TEST(contains(text, "last gap 12:00:00, reconciled"));
    BOOST_TEST(contains(text, "at least 12 hidden"));
    BOOST_TEST((style_at(lossy, "2 overruns") == Style::kBad));
}

BOOST_AUTO_TEST_CASE(flows_that_are_not_heard_of_are_spoken_of) {
    monitor::Snapshot deaf = snapshot();
    BOOST_TEST(!contains(shown(deaf), "none lost;"));
    deaf.unheard = "12 flows are there already";
    BOOST_TEST(contains(shown(deaf), "none lost; 12 flows are there already"));
    BOOST_TEST((style_at(deaf, "12 flows are there") == Style::kWarning));
}

BOOST_AUTO_TEST_CASE(a_source_that_failed_is_named) {
    monitor::Snapshot failed = snapshot();
    failed.failure = "the event socket failed: no buffer";
    BOOST_TEST(contains(shown(failed), "the event socket failed: no buffer"));
    BOOST_TEST((style_at(failed, "the event socket failed") == Style::kBad));
}

BOOST_AUTO_TEST_CASE(what_is_not_known_is_not_shown_as_zero) {
    monitor::Snapshot early;
    early.drops_missing = "the kernel has no tracepoint skb:kfree_skb";
    const std::string text = shown(early);
    BOOST_TEST(contains(text, "new -"));
    BOOST_TEST(contains(text, "the kernel has no tracepoint skb:kfree_skb"));
    BOOST_TEST(contains(text, "0 entries"));
    BOOST_TEST(contains(text, "no flow to a translated address"));
    early.drops_missing.clear();
    BOOST_TEST(contains(shown(early), "not followed"));
}

BOOST_AUTO_TEST_CASE(drops_of_one_kind_in_a_row_share_a_line) {
    monitor::Snapshot busy = snapshot();
    const drops::Drop one = busy.drops->last.front();
    drops::Drop other = one;
    other.protocol = "ip/tcp";
    drops::Drop elsewhere = one;
    elsewhere.location = "ip_rcv+0x1";
    busy.drops->last = {one, one, one, elsewhere, other, one};
    const std::string text = shown(busy, {100, 40});
    BOOST_TEST(contains(text, "NETFILTER_DROP ip/udp at nf_hook_slow+0xa7  3 times\n"));
    BOOST_TEST(contains(text, "NETFILTER_DROP ip/udp at ip_rcv+0x1\n"));
    BOOST_TEST(contains(text, "NETFILTER_DROP ip/tcp at nf_hook_slow+0xa7\n"));
    BOOST_TEST(contains(text, "NETFILTER_DROP ip/udp at nf_hook_slow+0xa7\n"));
}

BOOST_AUTO_TEST_CASE(the_help_fits_80x24) {
    const Size size{80, 24};
    BOOST_TEST(help().size() <= size.rows - 2);
    for (const Line& line : help()) {
        BOOST_TEST(width(line) <= size.columns);
    }
}

BOOST_AUTO_TEST_CASE(drops_of_the_whole_machine_are_called_so) {
    monitor::Snapshot machine = snapshot();
    machine.drops->scope = drops::Scope::kMachine;
    machine.drops->lost = 1;
    BOOST_TEST(contains(shown(machine), "at least 42 in all namespaces of this machine"));
}

BOOST_AUTO_TEST_CASE(colours_say_how_full_the_table_is) {
    BOOST_TEST((style_of_use(0.5) == Style::kGood));
    BOOST_TEST((style_of_use(0.75) == Style::kWarning));
    BOOST_TEST((style_of_use(0.95) == Style::kBad));
    monitor::Snapshot full = snapshot();
    full.table.entries = full.table.maximum;
    BOOST_TEST((style_at(full, "100.0 %") == Style::kBad));
    BOOST_TEST((style_at(snapshot(), "dead") == Style::kBad));
    BOOST_TEST((style_at(snapshot(), "healthy") == Style::kGood));
}

BOOST_AUTO_TEST_CASE(counters_that_should_be_zero_stand_out_when_they_are_not) {
    monitor::Snapshot calm = snapshot();
    calm.rates.drop = 5;
    ViewState state;
    const Lines lines = view(calm, state, {80, 24});
    const auto is = [](const std::string& text, Style style) {
        return [=](const Piece& piece) { return piece.text == text && piece.style == style; };
    };
    BOOST_TEST(std::any_of(lines[3].begin(), lines[3].end(), is("5.0", Style::kBad)));
    BOOST_TEST(std::any_of(lines[3].begin(), lines[3].end(), is("0.0", Style::kPlain)));
}

BOOST_AUTO_TEST_CASE(pause_typing_and_help_show_on_the_screen) {
    BOOST_TEST(
        contains(shown(snapshot(), {80, 24}, {.refresh = ViewState::Refresh::kPaused}), "PAUSED"));
    BOOST_TEST(contains(shown(snapshot(), {80, 24}, {.typing = "abc"}), "show lines with: abc_"));
    const std::string help = shown(snapshot(), {80, 24}, {.page = ViewState::Page::kHelp});
    BOOST_TEST(contains(help, "reverse the order"));
    BOOST_TEST(contains(help, "Any key goes back."));
    BOOST_TEST(!contains(help, "SERVICES"));
}

BOOST_AUTO_TEST_CASE(refusals_of_first_packets_are_shown_with_the_services) {
    monitor::Snapshot refused = snapshot();
    refused.backends.stray_refusals = {{.destination = endpoint("198.51.100.66:53"),
                                        .protocol = IPPROTO_UDP,
                                        .refusal = "port unreachable",
                                        .packets = 9}};
    BOOST_TEST(contains(shown(refused, {100, 40}),
                        "udp 198.51.100.66:53: 9 first packets refused: port unreachable"));
}

BOOST_AUTO_TEST_SUITE_END()
