// The language of conclusions, and how its data is checked and told.
#define BOOST_TEST_MODULE scenario_model
#include <boost/test/unit_test.hpp>
#include <map>

#include "harness/scenario/model/figure.h"
#include "tests/contains.h"

using namespace pathproof;
using namespace pathproof::scenario;
using namespace pathproof::scenario::model;
using pathproof::test::contains;

BOOST_AUTO_TEST_SUITE(language)

namespace {

using Problems = std::vector<std::string>;

// Names and values of one text.
class Known : public Names, public Values {
  public:
    explicit Known(std::map<std::string, Value> values) : values_(values.begin(), values.end()) {}

    std::optional<int> find(const std::string& name) const override {
        for (std::size_t i = 0; i < values_.size(); ++i) {
            if (values_[i].first == name) {
                return static_cast<int>(i);
            }
        }
        return std::nullopt;
    }
    std::string unit(int number) const override {
        return values_[static_cast<std::size_t>(number)].first.ends_with("_ms") ? "ms" : "";
    }
    bool may_lack(int number) const override {
        return values_[static_cast<std::size_t>(number)].first.starts_with("cure.");
    }
    Value value(int number) const override {
        return values_[static_cast<std::size_t>(number)].second;
    }

  private:
    std::vector<std::pair<std::string, Value>> values_;
};

const Known kKnown({{"slow", 7U},
                    {"none", 0U},
                    {"all", 15U},
                    {"worst_ms", 1016.0},
                    {"name", "glibc"},
                    {"empty", ""},
                    {"on", true},
                    {"off", false},
                    {"big", UINT64_MAX},
                    {"cure.slow", Value()}});

bool holds(const std::string& text) {
    Problems problems;
    const Condition condition = Condition::parse(text, kKnown, problems);
    BOOST_TEST(problems.empty(), text << ": " << (problems.empty() ? "" : problems[0]));
    return condition.holds(kKnown);
}

std::string said(const std::string& text) {
    Problems problems;
    const Sentence sentence = Sentence::parse(text, kKnown, problems);
    BOOST_TEST(problems.empty(), text << ": " << (problems.empty() ? "" : problems[0]));
    return sentence.text(kKnown);
}

std::string wrong_sentence(const std::string& text) {
    Problems problems;
    Sentence::parse(text, kKnown, problems);
    return problems.empty() ? "" : problems[0];
}

std::string wrong_condition(const std::string& text) {
    Problems problems;
    Condition::parse(text, kKnown, problems);
    return problems.empty() ? "" : problems[0];
}

}  // namespace

BOOST_AUTO_TEST_CASE(conditions_compare_values_and_words) {
    for (const char* text : {"",
                             "slow",
                             "name",
                             "on",
                             "not off",
                             "not none",
                             "not empty",
                             "slow == 7",
                             "slow != 0 and slow < all",
                             "none or slow",
                             "name == 'glibc'",
                             "name != 'musl'",
                             "slow + 8 == all",
                             "all - slow == 8",
                             "2 * slow < all",
                             "not (slow == 7 and off)",
                             "off or none or slow >= 7",
                             "slow <= 7 and slow > 6",
                             "off == none",
                             "big > 18446744073709551614",
                             "cure.slow == 0"}) {
        BOOST_TEST(holds(text), text);
    }
    for (const char* text : {"none", "off", "empty", "not slow", "slow == 8", "name == 'musl'",
                             "slow and none", "not slow or none", "big == 0"}) {
        BOOST_TEST(!holds(text), text);
    }
}

BOOST_AUTO_TEST_CASE(sentences_name_values) {
    const std::pair<const char*, const char*> kTexts[] = {
        {"", ""},
        {"plain", "plain"},
        {"{slow} of {name}", "7 of glibc"},
        {"{slow of all}, {none of all}", "7 of 15, none of 15"},
        {"{none or none}, {slow or none}", "none, 7"},
        {"{worst_ms:.1f} ms, {worst_ms:.2f s}", "1016.0 ms, 1.02 s"},
        {"a[, {slow} slow][, {none} lost][, {empty of all}]", "a, 7 slow"},
        {"[on?yes|no] [off?yes|no] [slow == 7?seven]", "yes no seven"},
        {"[on?[off?a|b]|c]", "b"},
        {"\\[UNREPLIED\\] \\{x\\}", "[UNREPLIED] {x}"},
        {"why? because", "why? because"},
        {"[{cure.slow of all} with it]", ""},
    };
    for (const auto& [text, expected] : kTexts) {
        BOOST_TEST(said(text) == expected);
    }
}

BOOST_AUTO_TEST_CASE(what_is_wrong_with_a_text_is_found_when_it_is_read) {
    const std::pair<const char*, const char*> kTexts[] = {
        {"{unknown}", "there is no 'unknown'"},
        {"{slow of unknown}", "there is no 'unknown'"},
        {"{slow", "a { has no }"},
        {"slow}", "a } closes nothing"},
        {"[{slow} x", "a [ has no ]"},
        {"x]", "a ] closes nothing"},
        {"[x]", "neither a condition nor a value"},
        {"[unknown?x]", "there is no 'unknown'"},
        {"{worst_ms:d}", "is no format"},
        {"{slow:.1f s}", "is not made of"},
        {"{cure.slow}", "stands in no [optional part]"},
    };
    for (const auto& [text, expected] : kTexts) {
        BOOST_TEST(contains(wrong_sentence(text), expected), text << ": " << wrong_sentence(text));
    }
    const std::pair<const char*, const char*> kConditions[] = {
        {"unknown", "there is no 'unknown'"},
        {"slow ==", "a name is missing"},
        {"(slow", "a ( has no )"},
        {"slow slow", "'slow' is left over"},
        {"name == 'glibc", "a ' has no end"},
        {"slow = 7", "is left over"},
        {"and slow", "there is no 'and'"},
    };
    for (const auto& [text, expected] : kConditions) {
        BOOST_TEST(contains(wrong_condition(text), expected),
                   text << ": " << wrong_condition(text));
    }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(conclusions)

namespace {

struct Set {
    std::string id;
    std::string label;
    verdict::Cell::Role role = verdict::Cell::Role::kMatrix;
    bool again = false;
    unsigned mode = 1;
};

struct Seen {
    std::vector<std::string> objections;
    std::string lacks;
    std::uint64_t sent = 0, lost = 0;
    std::uint64_t known = 0;  // of those lost
};

struct Measured {
    Set what;
    Seen seen;
    std::vector<verdict::EvidenceFile> evidence;
};

using Losses = Conclusions<Set, Seen>;

Losses::Figures figures() {
    return {{"sent", "packets", "sent", &Seen::sent},
            {"lost", "packets", "lost", &Seen::lost},
            {"lost_share", "%", "share lost", {}, {.hits = "lost", .trials = "sent"}},
            {verdict::kUnexplained, "packets", "lost, and nothing tells why",
             [](const Seen& seen) { return seen.lost - seen.known; }},
            {"mode", &Set::mode}};
}

ConclusionTexts texts() {
    return {.toggles = {{"mode", "{mode}"}},
            .phrases = {{"losses", {{"{lost of sent} packets were lost"}}}},
            .rules = {{.when = "sent == 0", .text = "nothing was sent"},
                      {.when = "unexplained != 0", .text = "{losses}, {unexplained} unexplained"},
                      {.when = "lost != 0",
                       .is = CellVerdict::kFail,
                       .cause = "loss",
                       .text = "{losses}"}},
            .own = "fails and cause == 'loss'",
            .chart = {.title = "Lost", .hits = "lost", .trials = "sent"},
            .totals = {{.name = "all_sent", .figure = "sent"}},
            .findings = {{.headline = "{id}: {losses}",
                          .why = "It is lost with mode {mode}.",
                          .cures = {{.cure = "reuse-mode-0",
                                     .outcome = "with it {cure.lost of cure.sent}, without it "
                                                "again {again.lost of again.sent}"}}}},
            .otherwise = "None of {all_sent} packets was lost."};
}

std::vector<Measured> measured() {
    using Role = verdict::Cell::Role;
    return {
        {{.id = "as-found", .label = "as found"}, {.sent = 9, .lost = 4, .known = 4}, {}},
        {{.id = "control", .label = "control", .role = Role::kControl}, {.sent = 9}, {}},
        {{.id = "cure", .label = "cure", .role = Role::kCure, .mode = 0}, {.sent = 9}, {}},
        {{.id = "again", .label = "again", .again = true}, {.sent = 9, .lost = 3, .known = 3}, {}}};
}

using Change = void (*)(std::vector<FigureText>&, ConclusionTexts&);

std::string wrong(Change change) {
    const auto typed = figures();
    std::vector<FigureText> all(typed.begin(), typed.end());
    ConclusionTexts changed = texts();
    change(all, changed);
    const auto problems = Program::problems_of(all, changed);
    return problems.empty() ? "" : problems[0];
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_failure_is_reproduced_named_and_cured) {
    const auto result = Losses(figures(), texts()).conclude(measured());
    BOOST_TEST((result.verdict == verdict::ScenarioVerdict::kReproduced), result.headline);
    BOOST_TEST(result.headline == "as-found: 4 of 9 packets were lost.");
    BOOST_TEST(result.cause == "It is lost with mode 1.");
    BOOST_TEST(result.cure ==
               "`sysctl -w net.ipv4.vs.conn_reuse_mode=0` (with it none of 9, without it again 3 "
               "of 9)");
    BOOST_TEST(result.cure_shown);
    BOOST_TEST(result.before_cell == "as-found");
    BOOST_TEST(result.after_cell == "cure");
    BOOST_TEST(result.cells.size() == 3U);
    BOOST_TEST(result.controls.size() == 1U);
    BOOST_TEST(result.charts.at(0).bars.size() == 3U);
    const verdict::Cell& cell = result.cells.at(0);
    BOOST_TEST((cell.verdict == CellVerdict::kFail));
    BOOST_TEST(cell.cause == "loss");
    BOOST_TEST(cell.measures.size() == 4U);  // not those without a label
    BOOST_TEST(cell.measures.at(2).unit == "%");
    BOOST_TEST(cell.toggles.at(0).second == "1");
}

BOOST_AUTO_TEST_CASE(what_hinders_a_conclusion_is_told) {
    const struct {
        std::size_t cell;
        Seen seen;
        const char* told;
    } kRows[] = {
        {0, {.objections = {"died"}}, "as-found could not be measured (no result: died)"},
        {1, {.sent = 9, .lost = 1, .known = 1}, "the control control: 1 of 9 packets were lost"},
        {0, {.sent = 9, .lost = 4, .known = 1}, "4 of 9 packets were lost, 3 unexplained"},
        {0, {}, "nothing was sent"},
    };
    for (const auto& row : kRows) {
        auto cells = measured();
        cells[row.cell].seen = row.seen;
        const auto result = Losses(figures(), texts()).conclude(cells);
        BOOST_TEST((result.verdict == verdict::ScenarioVerdict::kInconclusive));
        BOOST_TEST(contains(result.headline, row.told), result.headline);
        BOOST_TEST(result.cause.empty());
        BOOST_TEST(!result.cure_shown);
    }
}

BOOST_AUTO_TEST_CASE(a_cure_is_shown_by_a_cell_with_it_and_the_failure_without_it) {
    const Losses losses(figures(), texts());
    auto cells = measured();
    cells[2].seen = {.sent = 9, .lost = 1, .known = 1};
    BOOST_TEST(contains(losses.conclude(cells).cure, "(not shown: 1 of 9 packets were lost)"));
    cells = measured();
    cells[3].seen = {.sent = 9};
    const auto gone = losses.conclude(cells);
    BOOST_TEST(contains(gone.cure, "without it the failure was not seen again"), gone.cure);
    BOOST_TEST(!gone.cure_shown);
    BOOST_TEST(gone.after_cell.empty());
    cells = measured();
    cells.erase(cells.begin() + 2);
    BOOST_TEST(contains(losses.conclude(cells).cure, "(not tried in this run)"));
}

BOOST_AUTO_TEST_CASE(a_cure_of_several_cells_is_shown_where_none_of_them_fails) {
    ConclusionTexts all = texts();
    CureText& cure = all.findings[0].cures[0];
    cure.shown_by = CureText::ShownBy::kAll;
    cure.outcome = "with it {helped}, without it again {again.lost of again.sent}";
    all.listings = {{.name = "helped", .text = "{id} {lost of sent}", .of = "is_cure and passed"}};
    const Losses losses(figures(), all);
    auto cells = measured();
    cells.push_back(cells[2]);
    cells.back().what.id = "cure-2";
    BOOST_TEST(contains(losses.conclude(cells).cure,
                        "(with it cure none of 9; cure-2 none of 9, without it again 3 of 9)"));
    cells.back().seen = {.sent = 9, .lost = 1, .known = 1};
    const auto failed = losses.conclude(cells);
    BOOST_TEST(contains(failed.cure, "(not shown: cure-2: 1 of 9 packets were lost)"), failed.cure);
    BOOST_TEST(!failed.cure_shown);
}

BOOST_AUTO_TEST_CASE(what_harms_nobody_is_exposed_where_nothing_else_is_found) {
    ConclusionTexts both = texts();
    both.findings.push_back({.of = "is_matrix and sent > 9",
                             .headline = "{id} sent {sent}",
                             .why = "It sends too much.",
                             .alone = true,
                             .exposed = true});
    const Losses losses(figures(), both);
    auto cells = measured();
    cells[0].seen.sent = 20;
    BOOST_TEST((losses.conclude(cells).verdict == verdict::ScenarioVerdict::kReproduced));
    cells[0].seen = {.sent = 20};
    cells[3].seen = {.sent = 9};
    const auto exposed = losses.conclude(cells);
    BOOST_TEST((exposed.verdict == verdict::ScenarioVerdict::kExposed), exposed.headline);
    BOOST_TEST(exposed.headline == "as-found sent 20.");
    BOOST_TEST(!exposed.cure_shown);
}

BOOST_AUTO_TEST_CASE(sentences_about_one_cell_and_about_all_stand_in_a_finding) {
    ConclusionTexts more = texts();
    more.cells = {{"plain", "is_control and passed"}};
    more.listings = {{.name = "each", .text = "{id} {lost}"}};
    more.findings[0].why = "{each}[plain.id?; {plain.lost of plain.sent} in {plain.id}].";
    const auto result = Losses(figures(), more).conclude(measured());
    BOOST_TEST(result.cause == "as-found 4; none of 9 in control.");
    auto cells = measured();
    cells.erase(cells.begin() + 1);  // no control
    BOOST_TEST(Losses(figures(), more).conclude(cells).cause == "as-found 4.");
}

BOOST_AUTO_TEST_CASE(where_nothing_failed_it_says_so) {
    auto cells = measured();
    cells[0].seen = cells[3].seen = {.sent = 9};
    const auto result = Losses(figures(), texts()).conclude(cells);
    BOOST_TEST((result.verdict == verdict::ScenarioVerdict::kNotReproduced));
    BOOST_TEST(result.headline == "None of 18 packets was lost.");
}

BOOST_AUTO_TEST_CASE(data_that_is_wrong_is_found_before_it_is_used) {
    BOOST_TEST(wrong([](auto&, auto&) {}) == "");
    const std::pair<Change, const char*> kRows[] = {
        {[](auto&, auto& texts) { texts.rules[0].when = "send == 0"; }, "there is no 'send'"},
        {[](auto&, auto& texts) { texts.rules[0].text = "{cause}"; }, "there is no 'cause'"},
        {[](auto&, auto& texts) { texts.findings[0].why = "{cure.lost}"; },
         "there is no 'cure.lost'"},
        {[](auto&, auto& texts) { texts.findings[0].cures[0].text = "{cure.lost}"; },
         "stands in no [optional part]"},
        {[](auto&, auto& texts) { texts.findings[0].cures[0].cure = "none"; },
         "there is no cure 'none'"},
        {[](auto&, auto& texts) { texts.rules[0].when = ""; }, "can hold"},
        {[](auto&, auto& texts) { texts.rules[2].text = ""; }, "gives no reason"},
        {[](auto& figures, auto&) {
             figures.push_back({"rest", "", ""});
         },
         "nothing names 'rest'"},
        {[](auto&, auto& texts) { texts.otherwise = ""; }, "nothing names 'all_sent'"},
        {[](auto&, auto& texts) { texts.chart.hits = "gone"; }, "there is no figure 'gone'"},
        {[](auto& figures, auto&) { figures.push_back(figures[0]); }, "'sent' is defined twice"},
        {[](auto& figures, auto&) { figures[0].name = "label"; }, "there is no"},
        {[](auto&, auto& texts) { texts.phrases[0].clauses[0].text = "{losses}"; },
         "there is no 'losses'"},
    };
    for (const auto& [change, told] : kRows) {
        BOOST_TEST(contains(wrong(change), told), wrong(change));
    }
}

BOOST_AUTO_TEST_SUITE_END()
