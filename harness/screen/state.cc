#include "harness/screen/state.h"

#include <algorithm>

namespace pathproof::screen {
namespace {

using Kind = Key::Kind;
using Page = ViewState::Page;
using Refresh = ViewState::Refresh;
using Order = ViewState::Order;

constexpr std::size_t kPage = 10;
constexpr std::size_t kLongestFilter = 60;

Sort after(Sort sort) {
    return sort == Sort::kAddress ? Sort::kFlows : static_cast<Sort>(static_cast<int>(sort) + 1);
}

void up(ViewState& state, std::size_t lines) {
    state.first -= std::min(state.first, lines);
}

void type(ViewState& state, const Key& key) {
    std::string& text = *state.typing;
    switch (key.kind) {
        case Kind::kEnter:
            state.filter = text;
            state.typing.reset();
            state.first = 0;
            return;
        case Kind::kEscape: state.typing.reset(); return;
        case Kind::kBackspace:
            if (!text.empty()) {
                text.pop_back();
            }
            return;
        case Kind::kCharacter:
            if (text.size() < kLongestFilter && key.character >= 0x20 && key.character < 0x7f) {
                text += key.character;
            }
            return;
        default: return;
    }
}

Then press_character(ViewState& state, char character) {
    switch (character) {
        case 'q':
        case 'Q': return Then::kQuit;
        case 'p':
        case ' ':
            state.refresh = state.refresh == Refresh::kLive ? Refresh::kPaused : Refresh::kLive;
            break;
        case 's':
            state.sort = after(state.sort);
            state.first = 0;
            break;
        case 'r':
            state.order = state.order == Order::kUsual ? Order::kReversed : Order::kUsual;
            state.first = 0;
            break;
        case '/': state.typing = state.filter; break;
        case 'h':
        case '?': state.page = Page::kHelp; break;
        case 'k': up(state, 1); break;
        case 'j': ++state.first; break;
        default: break;
    }
    return Then::kGoOn;
}

}  // namespace

const char* name(Sort sort) {
    switch (sort) {
        case Sort::kFlows: return "flows";
        case Sort::kInTable: return "in table";
        case Sort::kUnanswered: return "unanswered";
        case Sort::kVerdict: return "state";
        case Sort::kAddress: return "address";
    }
    return "";
}

Then press(ViewState& state, const Key& key) {
    if (state.typing) {
        type(state, key);
        return Then::kGoOn;
    }
    if (state.page == Page::kHelp) {
        state.page = Page::kMain;  // any key leaves it; q leaves all
        return key.kind == Kind::kCharacter && key.character == 'q' ? Then::kQuit : Then::kGoOn;
    }
    switch (key.kind) {
        case Kind::kCharacter: return press_character(state, key.character);
        case Kind::kEscape:
            state.filter.clear();
            state.first = 0;
            break;
        case Kind::kUp: up(state, 1); break;
        case Kind::kDown: ++state.first; break;
        case Kind::kPageUp: up(state, kPage); break;
        case Kind::kPageDown: state.first += kPage; break;
        case Kind::kHome: state.first = 0; break;
        case Kind::kEnter:
        case Kind::kBackspace: break;
    }
    return Then::kGoOn;
}

}  // namespace pathproof::screen
