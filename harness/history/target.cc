#include "harness/history/target.h"

#include <array>
#include <filesystem>

#include "harness/process/sha256.h"
#include "harness/process/state_folder.h"

namespace pathproof::history {
namespace {

// "postgresql://user:secret@host/db?password=secret" without what is secret.
std::string without_password(const std::string& uri) {
    std::string shown = uri;
    const std::size_t authority = shown.find("://") + 3;
    const std::size_t at = shown.find('@', authority);
    if (const std::size_t colon = shown.find(':', authority);
        at != std::string::npos && colon < at) {
        shown.erase(colon, at - colon);
    }
    constexpr std::string_view kPassword = "password=";
    for (std::size_t from = shown.find(kPassword); from != std::string::npos;
         from = shown.find(kPassword, from + kPassword.size())) {
        const std::size_t value = from + kPassword.size();
        shown.replace(value, std::min(shown.find('&', value), shown.size()) - value, "...");
    }
    return shown;
}

}  // namespace

Result<Target> parse_target(const std::string& text) {
    if (text.starts_with("postgresql://") || text.starts_with("postgres://")) {
        return Target{.is_postgres = true,
                      .text = text,
                      .shown = without_password(text),
                      .pending = process::state_folder() + "/history-" +
                                 process::sha256_of(text).substr(0, 16) + ".pending"};
    }
    if (const std::size_t scheme = text.find("://"); scheme != std::string::npos) {
        return fail(ErrorCode::kBadInput,
                    "--history takes a file or a postgresql:// URI, not one of {}",
                    text.substr(0, scheme));
    }
    const std::string file = text.empty() ? process::state_folder() + "/history.db" : text;
    std::error_code none;
    if (std::filesystem::is_directory(file, none)) {
        return fail(ErrorCode::kBadInput, "--history {}: this is a folder; name a file in it",
                    file);
    }
    return Target{.text = file, .shown = file, .pending = file + ".pending"};
}

}  // namespace pathproof::history
