#include "harness/lab/journal_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/lab/undo.h"
#include "harness/process/json_text.h"

namespace pathproof::lab {
namespace {

using nlohmann::json;

// The texts of an action, by their keys.
constexpr std::pair<const char*, std::string UndoAction::*> kTexts[] = {
    {"name", &UndoAction::name},   {"value", &UndoAction::value}, {"set", &UndoAction::set},
    {"place", &UndoAction::place}, {"netns", &UndoAction::netns}, {"device", &UndoAction::device}};

std::string to_line(const json& object) {
    return process::to_text(object) + "\n";
}

int number_of(const json& line, const char* key) {
    return line.contains(key) && line[key].is_number_integer() ? line[key].get<int>() : 0;
}

std::optional<UndoAction> action_in(const json& line, const char* word) {
    const auto kind =
        std::ranges::find(undo_kinds(), process::text_in(line, word), &UndoKind::name);
    if (kind == undo_kinds().end()) {
        return std::nullopt;
    }
    UndoAction action{.kind = kind->kind};
    for (const auto& [key, text] : kTexts) {
        action.*text = process::text_in(line, key);
    }
    return action;
}

// False: it is no line of a journal.
bool take_line(std::string_view text, JournalContent& content) {
    const json line = process::json_or_null(text);
    if (const auto action = action_in(line, "undo")) {
        content.actions.push_back(*action);
    } else if (const auto done = action_in(line, "done")) {
        std::erase_if(content.actions,
                      [&](const UndoAction& noted) { return noted.same_thing(*done); });
    } else if (line.contains("run")) {
        content.header = {.run_id = process::text_in(line, "run"),
                          .format = number_of(line, "format"),
                          .pid = number_of(line, "pid"),
                          .boot_id = process::text_in(line, "boot"),
                          .command = process::text_in(line, "command")};
    } else if (line.contains("kept")) {
        content.kept = process::text_in(line, "kept");
    } else if (line.contains("told")) {
        content.told = true;
    } else {
        return false;
    }
    return true;
}

}  // namespace

std::string header_line(const JournalHeader& header) {
    return to_line({{"run", header.run_id},
                    {"format", header.format},
                    {"pid", header.pid},
                    {"boot", header.boot_id},
                    {"command", header.command}});
}

std::string action_line(const UndoAction& action) {
    json line{{"undo", undo_kind(action.kind).name}};
    for (const auto& [key, text] : kTexts) {
        if (!(action.*text).empty()) {
            line[key] = action.*text;
        }
    }
    return to_line(line);
}

std::string done_line(const UndoAction& action) {
    return to_line(
        {{"done", undo_kind(action.kind).name}, {"name", action.name}, {"place", action.place}});
}

std::string kept_line(const std::string& what) {
    return to_line({{"kept", what}});
}

std::string told_line() {
    return to_line({{"told", true}});
}

void read_lines(std::string_view text, JournalContent& content) {
    for (std::size_t begin = 0;;) {
        const std::size_t end = text.find('\n', begin);
        if (end == std::string_view::npos) {
            return;
        }
        const std::string_view line = text.substr(begin, end - begin);
        if (!take_line(line, content)) {
            content.unreadable.emplace_back(line);
        }
        begin = end + 1;
    }
}

JournalContent parse_journal(std::string_view text) {
    JournalContent content;
    read_lines(text, content);
    return content;
}

}  // namespace pathproof::lab
