#include "harness/screen/state.h"

#include <boost/test/unit_test.hpp>

using namespace pathproof::screen;

namespace {

using Kind = Key::Kind;

Then type(ViewState& state, const std::string& keys) {
    Then then = Then::kGoOn;
    for (const char key : keys) {
        then = press(state, {Kind::kCharacter, key});
    }
    return then;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(state)

BOOST_AUTO_TEST_CASE(q_quits_and_other_keys_do_not) {
    ViewState state;
    BOOST_TEST((type(state, "q") == Then::kQuit));
    BOOST_TEST((type(state, "psrhxZ") == Then::kGoOn));
}

BOOST_AUTO_TEST_CASE(p_and_space_pause_and_go_on) {
    ViewState state;
    type(state, "p");
    BOOST_TEST((state.refresh == ViewState::Refresh::kPaused));
    type(state, " ");
    BOOST_TEST((state.refresh == ViewState::Refresh::kLive));
}

BOOST_AUTO_TEST_CASE(s_goes_round_all_orders) {
    ViewState state;
    std::string seen;
    for (int i = 0; i < 6; ++i) {
        seen += std::string(name(state.sort)) + ",";
        type(state, "s");
    }
    BOOST_TEST(seen == "flows,in table,unanswered,state,address,flows,");
}

BOOST_AUTO_TEST_CASE(r_turns_the_order_round) {
    ViewState state;
    type(state, "r");
    BOOST_TEST((state.order == ViewState::Order::kReversed));
    type(state, "r");
    BOOST_TEST((state.order == ViewState::Order::kUsual));
}

BOOST_AUTO_TEST_CASE(a_filter_is_typed_corrected_and_taken) {
    ViewState state;
    state.first = 5;
    BOOST_TEST((type(state, "/203.q1") == Then::kGoOn));
    BOOST_TEST(*state.typing == "203.q1");
    BOOST_TEST(state.filter == "");
    press(state, {Kind::kBackspace});
    press(state, {Kind::kBackspace});
    type(state, "0");
    press(state, {Kind::kEnter});
    BOOST_TEST(state.filter == "203.0");
    BOOST_TEST(!state.typing.has_value());
    BOOST_TEST(state.first == 0U);
}

BOOST_AUTO_TEST_CASE(escape_leaves_the_typing_and_then_the_filter) {
    ViewState state;
    type(state, "/abc");
    press(state, {Kind::kEnter});
    type(state, "/d");
    BOOST_TEST(*state.typing == "abcd");
    press(state, {Kind::kEscape});
    BOOST_TEST(state.filter == "abc");
    press(state, {Kind::kEscape});
    BOOST_TEST(state.filter == "");
}

BOOST_AUTO_TEST_CASE(a_filter_has_an_end_and_takes_printable_characters_only) {
    ViewState state;
    type(state, "/" + std::string(500, 'x'));
    BOOST_TEST(state.typing->size() == 60U);
    press(state, {Kind::kBackspace});
    press(state, {Kind::kCharacter, '\x01'});
    BOOST_TEST(state.typing->size() == 59U);
}

BOOST_AUTO_TEST_CASE(any_key_leaves_the_help_and_q_all_of_it) {
    ViewState state;
    type(state, "h");
    BOOST_TEST((state.page == ViewState::Page::kHelp));
    BOOST_TEST((type(state, "p") == Then::kGoOn));
    BOOST_TEST((state.page == ViewState::Page::kMain));
    BOOST_TEST((state.refresh == ViewState::Refresh::kLive));
    BOOST_TEST((type(state, "?q") == Then::kQuit));
}

BOOST_AUTO_TEST_CASE(the_list_moves_and_stops_at_its_top) {
    ViewState state;
    press(state, {Kind::kPageDown});
    press(state, {Kind::kDown});
    type(state, "j");
    BOOST_TEST(state.first == 12U);
    press(state, {Kind::kUp});
    type(state, "k");
    BOOST_TEST(state.first == 10U);
    press(state, {Kind::kPageUp});
    press(state, {Kind::kPageUp});
    BOOST_TEST(state.first == 0U);
    press(state, {Kind::kDown});
    press(state, {Kind::kHome});
    BOOST_TEST(state.first == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
