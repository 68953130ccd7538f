// The user's choice of view, and the effect of keys on it.
#pragma once

#include <optional>
#include <string>

namespace pathproof::screen {

enum class Sort { kFlows, kInTable, kUnanswered, kVerdict, kAddress };
const char* name(Sort sort);  // "flows", "in table", "unanswered", "state", "address"

struct ViewState {
    enum class Page { kMain, kHelp } page = Page::kMain;
    enum class Refresh { kLive, kPaused } refresh = Refresh::kLive;
    enum class Order { kUsual, kReversed } order = Order::kUsual;  // usual: what matters most first
    Sort sort = Sort::kFlows;
    std::string filter;                 // lines of the lists that do not hold it are left out
    std::optional<std::string> typing;  // a filter that is being typed
    std::size_t first = 0;              // line of the services shown first
};

// A key as the terminal layer reads it: a character, or one of these.
struct Key {
    enum class Kind {
        kCharacter,
        kEnter,
        kEscape,
        kBackspace,
        kUp,
        kDown,
        kPageUp,
        kPageDown,
        kHome
    } kind = Kind::kCharacter;
    char character = 0;
};

enum class Then { kGoOn, kQuit };

// Keys without a meaning change nothing.
Then press(ViewState& state, const Key& key);

}  // namespace pathproof::screen
