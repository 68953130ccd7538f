// Any bytes as a journal: what is read can be written, and is then read as the same.
#include <algorithm>
#include <string>

#include "harness/lab/undo.h"
#include "tests/fuzz/fuzz.h"

using namespace pathproof::lab;
namespace fuzz = pathproof::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    const JournalContent content = parse_journal(text);
    const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    fuzz::require(content.actions.size() + content.unreadable.size() <= lines,
                  "more than there is");

    std::string again = header_line(content.header);
    for (const UndoAction& action : content.actions) {
        fuzz::require(!undo_kind(action.kind).describe(action).empty(), "an action without words");
        again += action_line(action);
    }
    if (content.kept) {
        again += kept_line(*content.kept);
    }
    const JournalContent same = parse_journal(again);
    fuzz::require(same.header == content.header && same.actions == content.actions &&
                      same.kept == content.kept && same.unreadable.empty(),
                  "a journal does not survive being written");
    return 0;
}
