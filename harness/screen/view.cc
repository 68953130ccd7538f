#include "harness/screen/view.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/screen/sections.h"

namespace pathproof::screen {
namespace {

using monitor::Snapshot;

constexpr std::size_t kFewestColumns = 20;
constexpr std::size_t kFewestRows = 3;

Line title(const Snapshot& snapshot, const ViewState& state, std::size_t columns) {
    const std::string where = snapshot.netns.empty() ? "this namespace" : "netns " + snapshot.netns;
    const bool paused = state.refresh == ViewState::Refresh::kPaused;
    return spread(
        {{fmt::format("pathproof top  {}  Linux {}", where, snapshot.kernel), Style::kBar}},
        {{fmt::format("{} up {}  {}Z", paused ? "  PAUSED" : "", uptime_text(snapshot.seconds),
                      clock_text(snapshot.time_ns)),
          Style::kBar}},
        columns);
}

Line keys(const ViewState& state, std::size_t columns) {
    if (state.typing) {
        return filled(
            {{fmt::format("show lines with: {}_   (Enter: take, Esc: leave)", *state.typing),
              Style::kBar}},
            columns);
    }
    if (!state.filter.empty()) {
        return filled(
            {{fmt::format("only lines with '{}' (Esc: all)  q quit  h help", state.filter),
              Style::kBar}},
            columns);
    }
    const bool paused = state.refresh == ViewState::Refresh::kPaused;
    return filled({{fmt::format("q quit  p {}  s sort  r reverse  / filter  arrows scroll  h help",
                                paused ? "go on" : "pause"),
                    Style::kBar}},
                  columns);
}

std::size_t wanted(const Section& section) {
    return 1 + std::max<std::size_t>(section.rows.size(), 1);
}

// Half of the room for the services and an equal share of the other half for each of the others; what one
// does not need goes to the next, services first.
std::vector<std::size_t> share_room(const std::vector<Section>& sections, std::size_t room) {
    std::vector<std::size_t> heights;
    std::size_t left = room;
    for (std::size_t i = 0; i < sections.size(); ++i) {
        const std::size_t others = sections.size() - 1, each = room / 2 / others;
        const std::size_t fair = i == 0 ? room - each * others : each;
        heights.push_back(std::min({wanted(sections[i]), fair, left}));
        left -= heights.back();
    }
    for (std::size_t i = 0; i < sections.size(); ++i) {
        const std::size_t more = std::min(left, wanted(sections[i]) - heights[i]);
        heights[i] += more;
        left -= more;
    }
    return heights;
}

void add_section(Lines& lines, const Section& section, std::size_t height, std::size_t first) {
    if (height == 0) {
        return;
    }
    lines.push_back(section.heading);
    const std::size_t room = height - 1;
    if (section.rows.empty() && room > 0) {
        lines.push_back({{"  " + section.nothing, Style::kFaint}});
        return;
    }
    const std::size_t end = std::min(section.rows.size(), first + room);
    for (std::size_t i = first; i < end; ++i) {
        lines.push_back(section.rows[i]);
    }
}

Lines body(const Snapshot& snapshot, ViewState& state, Size size) {
    std::vector<Section> sections{service_section(snapshot, state, size.columns)};
    if (snapshot.findings) {
        sections.push_back(finding_section(snapshot, state));
    }
    sections.push_back(clash_section(snapshot, state, size.columns));
    sections.push_back(drop_section(snapshot, state));
    const std::vector<std::size_t> heights = share_room(sections, size.rows);
    const std::size_t shown = std::max<std::size_t>(heights[0], 1) - 1;
    const std::size_t rows = sections[0].rows.size();
    state.first = std::min(state.first, rows > shown ? rows - shown : 0);
    Lines lines;
    for (std::size_t i = 0; i < sections.size(); ++i) {
        add_section(lines, sections[i], heights[i], i == 0 ? state.first : 0);
    }
    return lines;
}

}  // namespace

Lines view(const Snapshot& snapshot, ViewState& state, Size size) {
    Lines lines;
    if (size.columns < kFewestColumns || size.rows < kFewestRows) {
        lines.assign(1, {{"too small", Style::kPlain}});
    } else {
        lines.push_back(title(snapshot, state, size.columns));
        const std::size_t room = size.rows - 2;
        Lines inside = state.page == ViewState::Page::kHelp ? help() : head(snapshot, size.columns);
        inside.resize(std::min(inside.size(), room));
        if (state.page == ViewState::Page::kMain) {
            const Lines rest = body(snapshot, state, {size.columns, room - inside.size()});
            inside.insert(inside.end(), rest.begin(), rest.end());
        }
        inside.resize(room);
        lines.insert(lines.end(), inside.begin(), inside.end());
        lines.push_back(keys(state, size.columns));
    }
    lines.resize(size.rows);
    for (Line& line : lines) {
        line = fitted(line, size.columns);
    }
    return lines;
}

}  // namespace pathproof::screen
