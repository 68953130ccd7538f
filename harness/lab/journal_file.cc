#include "harness/lab/journal_file.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/lab/json_text.h"

namespace pathproof::lab {
namespace {

using nlohmann::json;
using Kind = UndoAction::Kind;

constexpr std::array<std::pair<Kind, const char*>, 7> kKindNames{{
    {Kind::kNetns, "netns"},
    {Kind::kSysctl, "sysctl"},
    {Kind::kHugepages, "hugepages"},
    {Kind::kFeature, "feature"},
    {Kind::kIp, "ip"},
    {Kind::kPromiscuity, "promiscuity"},
    {Kind::kXdp, "xdp"},
}};

const char* kind_name(Kind kind) {
    for (const auto& [known, name] : kKindNames) {
        if (known == kind) {
            return name;
        }
    }
    return "";
}

std::optional<Kind> kind_from_name(const std::string& name) {
    for (const auto& [kind, known] : kKindNames) {
        if (name == known) {
            return kind;
        }
    }
    return std::nullopt;
}

std::string to_line(const json& object) {
    return object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

bool take_header(const json& line, JournalContent& content) {
    if (!line.contains("run")) {
        return false;
    }
    content.header.run_id = text_of(line, "run");
    content.header.pid =
        line.contains("pid") && line["pid"].is_number_integer() ? line["pid"].get<pid_t>() : 0;
    content.header.boot_id = text_of(line, "boot");
    content.header.command = text_of(line, "command");
    return true;
}

bool take_action(const json& line, JournalContent& content) {
    const auto kind = kind_from_name(text_of(line, "undo"));
    if (!kind) {
        return false;
    }
    content.actions.push_back({.kind = *kind,
                               .name = text_of(line, "name"),
                               .value = text_of(line, "value"),
                               .netns = text_of(line, "netns"),
                               .device = text_of(line, "device")});
    return true;
}

bool take_done(const json& line, JournalContent& content) {
    const auto kind = kind_from_name(text_of(line, "done"));
    if (!kind) {
        return false;
    }
    const std::string name = text_of(line, "name");
    std::erase_if(content.actions, [&](const UndoAction& action) {
        return action.kind == *kind && action.name == name;
    });
    return true;
}

bool take_kept(const json& line, JournalContent& content) {
    if (!line.contains("kept")) {
        return false;
    }
    content.kept = text_of(line, "kept");
    return true;
}

bool take_line(std::string_view text, JournalContent& content) {
    const json line = json::parse(text, nullptr, false);
    return line.is_object() && (take_action(line, content) || take_done(line, content) ||
                                take_header(line, content) || take_kept(line, content));
}

}  // namespace

std::string header_line(const JournalHeader& header) {
    return to_line({{"run", header.run_id},
                    {"pid", header.pid},
                    {"boot", header.boot_id},
                    {"command", header.command}});
}

std::string action_line(const UndoAction& action) {
    json line{{"undo", kind_name(action.kind)}, {"name", action.name}};
    for (const auto& [key, value] :
         {std::pair{"value", &action.value}, std::pair{"netns", &action.netns},
          std::pair{"device", &action.device}}) {
        if (!value->empty()) {
            line[key] = *value;
        }
    }
    return to_line(line);
}

std::string done_line(UndoAction::Kind kind, const std::string& name) {
    return to_line({{"done", kind_name(kind)}, {"name", name}});
}

std::string kept_line(const std::string& what) {
    return to_line({{"kept", what}});
}

JournalContent parse_journal(std::string_view text) {
    JournalContent content;
    for (std::size_t begin = 0;;) {
        const std::size_t end = text.find('\n', begin);
        if (end == std::string_view::npos) {
            return content;
        }
        const std::string_view line = text.substr(begin, end - begin);
        if (!take_line(line, content)) {
            content.unreadable.emplace_back(line);
        }
        begin = end + 1;
    }
}

std::string describe(const UndoAction& action) {
    switch (action.kind) {
        case Kind::kNetns:
            return fmt::format("network namespace {}", action.name);
        case Kind::kSysctl:
            return fmt::format("sysctl {} = {}", action.name, action.value);
        case Kind::kHugepages:
            return fmt::format("hugepages = {}", action.value);
        case Kind::kFeature:
            return fmt::format("{}{}: {} {}", action.netns.empty() ? "" : action.netns + " ",
                               action.device, action.name, action.value);
        case Kind::kIp:
            return fmt::format("{}ip {}", action.netns.empty() ? "" : action.netns + " ",
                               action.name);
        case Kind::kPromiscuity:
            return fmt::format("{}{}: promiscuous mode {}",
                               action.netns.empty() ? "" : action.netns + " ", action.device,
                               action.value);
        case Kind::kXdp:
            return fmt::format("{}{}: no XDP program",
                               action.netns.empty() ? "" : action.netns + " ", action.device);
    }
    return {};
}

}  // namespace pathproof::lab
