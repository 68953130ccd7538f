#include "harness/report/html.h"

#include <fmt/format.h>

#include "harness/report/embedded.h"
#include "harness/report/json.h"
#include "harness/report/text.h"

namespace pathproof::report {
namespace {

using namespace verdict;

struct Slot {
    std::string_view name;
    std::string_view filling;
};

// Fills the slots of a piece of the bundle, each `<!--name-->` once, in the order in which they stand in it.
std::string filled(std::string_view frame, std::initializer_list<Slot> slots) {
    std::string text;
    for (const Slot& slot : slots) {
        const std::string mark = fmt::format("<!--{}-->", slot.name);
        const std::size_t at = frame.find(mark);
        text.append(frame.substr(0, at)).append(slot.filling);
        frame.remove_prefix(at + mark.size());
    }
    return text.append(frame);
}

// The page's title: the verdict, and what was tested.
std::string title_of(const RunResult& run) {
    std::string device;
    for (const FactGroup& group : run.environment) {
        if (device.empty() && group.title.starts_with("DUT device")) {
            device = " of " + group.title;
        }
    }
    return fmt::format("{}{}, lab {}", headline_of(run).word, device, run.lab);
}

}  // namespace

std::string framed_page(const std::string& title, const std::string& plain,
                        const std::string& json) {
    const std::string data =
        json.empty() ? "" : filled(kPageData, {{"json", json_in_markup(json)}});
    return filled(
        kPageFrame,
        {{"title", escape_markup(title + " · pathproof")}, {"data", data}, {"plain", plain}});
}

std::string html_page(const RunResult& run) {
    return framed_page(title_of(run), plain_html(run), json_line(run));
}

std::string badge_html(const Badge& badge) {
    return fmt::format(R"(<span class="badge {}"><span aria-hidden="true">{}</span> {}</span>)",
                       badge.tone, badge.symbol, badge.word);
}

std::string table_html(const std::string& label, const std::vector<std::string>& heads,
                       const std::string& rows) {
    const auto head_of = [](const std::string& head) {
        return fmt::format(R"(<th scope="col">{}</th>)", head);
    };
    return fmt::format(
        R"(<div class="scroll" tabindex="0" role="region" aria-label="{}">)"
        R"(<table class="data"><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>)",
        escape_markup(label), each_html(heads, head_of), rows);
}

}  // namespace pathproof::report
