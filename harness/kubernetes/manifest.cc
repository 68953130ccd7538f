#include "harness/kubernetes/manifest.h"

#include <algorithm>
#include <sstream>

#include "harness/process/foreign.h"

namespace pathproof::kubernetes {
namespace {

constexpr std::string_view kLower = "abcdefghijklmnopqrstuvwxyz0123456789";

bool is_label(std::string_view text, std::size_t longest = 63) {
    const auto is_letter = [](char letter) {
        return kLower.find(letter) != std::string_view::npos;
    };
    return !text.empty() && text.size() <= longest && is_letter(text.front()) &&
           is_letter(text.back()) && std::ranges::all_of(text, [&](char letter) {
               return letter == '-' || is_letter(letter);
           });
}

// RFC 1123: labels with dots between.
bool is_subdomain(const std::string& text) {
    std::istringstream labels(text + ".");
    bool all = text.size() <= 253;
    for (std::string label; std::getline(labels, label, '.');) {
        all = all && is_label(label, 253);
    }
    return all;
}

// The letters that a reference may hold (distribution's reference.go); none of them ends a quoted text
// of YAML.
bool is_image(std::string_view text) {
    return !text.empty() && text.size() <= 512 && std::ranges::all_of(text, [](char letter) {
        return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
               (letter >= 'A' && letter <= 'Z') ||
               std::string_view("-._/:@").find(letter) != std::string_view::npos;
    });
}

// Takes the mark off: "args # --allow drops" becomes "args".
bool take_mark(std::string& line, std::string_view mark) {
    const std::string whole = fmt::format("  # {}", mark);
    if (!line.ends_with(whole)) {
        return false;
    }
    line.resize(line.size() - whole.size());
    return true;
}

void set_value(std::string& line, const std::pair<std::string, std::string>& option) {
    const auto begin = line.find('"');
    const auto end = line.find('"', begin + 1);
    if (line.ends_with("  # " + option.first) && end != std::string::npos) {
        line.replace(begin + 1, end - begin - 1, option.second);
    }
}

}  // namespace

std::string fill_in(const std::string& text, const ManifestOptions& options) {
    std::string filled;
    for (std::string line : process::lines_of(text)) {
        for (const auto& option : options.values) {
            set_value(line, option);
        }
        if (options.allow_drops) {
            if (take_mark(line, "without --allow drops")) {
                continue;
            }
            const auto comment = line.find("# ");
            if (take_mark(line, "--allow drops")) {
                line.erase(comment, 2);
            }
        }
        filled += line + "\n";
    }
    return filled;
}

Status check(const ManifestOptions& options) {
    for (const auto& [option, value] : options.values) {
        if (option == "--namespace" && !is_label(value)) {
            return fail(ErrorCode::kBadInput,
                        "{} '{}' is no name of a namespace: lower-case letters, digits and '-', 63 "
                        "at most",
                        option, value);
        }
        if (option.ends_with("-node") && !is_subdomain(value)) {
            return fail(ErrorCode::kBadInput,
                        "{} '{}' is no name of a node; `kubectl get nodes` lists them", option,
                        value);
        }
        if (option == "--image" && !is_image(value)) {
            return fail(ErrorCode::kBadInput,
                        "{} '{}' is no image, such as registry.example/pathproof:0.1.0", option,
                        value);
        }
    }
    return {};
}

}  // namespace pathproof::kubernetes
