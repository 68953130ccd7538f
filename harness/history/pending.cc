#include "harness/history/pending.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "dataplane/base/file.h"
#include "dataplane/base/new_file.h"
#include "harness/history/digest.h"
#include "harness/report/json.h"

namespace pathproof::history {
namespace {

namespace fs = std::filesystem;

// "ID.CODE.json", or "ID.json" where the exit code is not known.
std::optional<int> code_in_name(const std::string& file) {
    const std::string stem = fs::path(file).stem().string();
    const std::size_t dot = stem.rfind('.');
    int code = 0;
    if (dot == std::string::npos ||
        std::from_chars(stem.data() + dot + 1, stem.data() + stem.size(), code).ec != std::errc()) {
        return std::nullopt;
    }
    return code;
}

std::vector<std::string> pending_files(const std::string& folder) {
    std::vector<std::string> files;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder, none)) {
        // Unfinished files have other names.
        if (entry.path().extension() == ".json" &&
            !entry.path().filename().string().starts_with(".")) {
            files.push_back(entry.path().string());
        }
    }
    std::sort(files.begin(), files.end());
    return files;
}

Result<bool> add_file(Store& store, const std::string& file) {
    const auto text = read_file(file);
    if (!text && text.error().code == ErrorCode::kNotFound) {
        return false;  // another program has added it
    }
    if (!text) {
        return pass_on(text.error());
    }
    const auto run = TRY(report::from_json(*text));
    return store.add(run, code_in_name(file));
}

verdict::RunResult with_id(const verdict::RunResult& run) {
    verdict::RunResult named = run;
    if (named.id.empty()) {
        named.id = uuid_of(report::json_text(run));
    }
    return named;
}

}  // namespace

Result<std::string> keep_pending(const Target& target, const verdict::RunResult& run,
                                 std::optional<int> exit_code) {
    TRY(doing(make_folders(target.pending, ErrorCode::kFailed), "make the folder {}",
              target.pending));
    const std::string file =
        fmt::format("{}/{}{}.json", target.pending, run.id,
                    exit_code ? fmt::format(".{}", *exit_code) : std::string());
    TRY(replace_file(file, report::json_text(run)));
    return file;
}

AddedRuns add_pending(Store& store, const Target& target) {
    AddedRuns result;
    for (const std::string& file : pending_files(target.pending)) {
        const auto added = add_file(store, file);
        if (!added) {
            result.problems.push_back(
                fmt::format("{} is not in the history yet: {}", file, added.error().message));
            if (added.error().code == ErrorCode::kBadInput) {
                continue;  // this file only
            }
            break;
        }
        result.added += *added ? 1 : 0;
        std::error_code gone;
        fs::remove(file, gone);
    }
    std::error_code not_empty;
    fs::remove(target.pending, not_empty);
    return result;
}

Status remember(const Target& target, const verdict::RunResult& run, std::optional<int> exit_code,
                std::chrono::milliseconds patience) {
    const verdict::RunResult named = with_id(run);
    const auto kept = keep_pending(target, named, exit_code);
    const auto write = [&]() -> Status {
        auto store = TRY(Store::open(target, Access::kCreate, patience));
        if (!kept) {
            TRY(store.add(named, exit_code));
            return {};
        }
        const AddedRuns pending = add_pending(store, target);
        return pending.problems.empty() ? Status()
                                        : fail(ErrorCode::kFailed, "{}", pending.problems.front());
    };
    const Status written = write();
    if (written) {
        return {};
    }
    return kept ? fail(written.error().code,
                       "{}; the run is kept in {}, from which the next one adds it",
                       written.error().message, *kept)
                : fail(written.error().code,
                       "{}; nor can it be kept for later ({}): 'pathproof history import' adds it "
                       "from its report",
                       written.error().message, kept.error().message);
}

}  // namespace pathproof::history
