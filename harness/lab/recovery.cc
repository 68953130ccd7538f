#include "harness/lab/recovery.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <utility>

#include "harness/lab/feature_undo.h"
#include "harness/lab/netns_names.h"
#include "harness/lab/privilege.h"
#include "harness/lab/run_lock.h"

namespace pathproof::lab {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSuffix = ".journal";

std::vector<std::string> journals_in(const std::string& directory) {
    std::vector<std::string> paths;
    std::error_code wrong;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory, wrong)) {
        if (entry.path().extension() == kSuffix) {
            paths.push_back(entry.path().string());
        }
    }
    std::sort(paths.begin(), paths.end());
    return paths;
}

// A journal whose lock we hold while we work on it.
class LockedJournal {
  public:
    explicit LockedJournal(const std::string& path) : file_(open_locked(path, O_RDWR)) {}
    LockedJournal(const LockedJournal&) = delete;
    LockedJournal& operator=(const LockedJournal&) = delete;
    ~LockedJournal() {
        if (file_ >= 0) {
            close(file_);
        }
    }
    bool ours() const { return file_ >= 0; }

  private:
    int file_;
};

template <typename Each>
void append(std::vector<Each>& to, std::vector<Each> from) {
    std::move(from.begin(), from.end(), std::back_inserter(to));
}

// Undoes one journal whose lock we hold, and removes it or leaves in it what is left.
UndoReport undo_file(const std::string& path, const JournalContent& content,
                     const KernelFiles& files) {
    UndoReport report = undo_content(content, files);
    if (const Status finished = finish_journal(path, content, report); !finished) {
        report.problems.push_back(finished.error().message);
    }
    return report;
}

std::string of_run(const JournalHeader& header) {
    return header.run_id.empty() ? std::string("a run cut off at its first line")
                                 : fmt::format("run {} ('{}')", header.run_id, header.command);
}

// Whether a process holds the journal's lock; works without write permission.
bool is_live(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return false;
    }
    const bool live = flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(file);
    return live;
}

bool is_running(pid_t pid) {
    return pid > 0 && (kill(pid, 0) == 0 || errno != ESRCH);
}

// Journals ("1a2b.PID") of runs that were killed before these had their names: nothing is in them.
void remove_unnamed(const std::string& directory) {
    std::error_code wrong;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory, wrong)) {
        const std::string ending = entry.path().extension().string();
        const bool is_pid =
            ending.size() > 1 && ending.find_first_not_of("0123456789", 1) == std::string::npos;
        if (is_pid && !is_running(std::atoi(ending.c_str() + 1))) {
            unlink(entry.path().c_str());
        }
    }
}

std::vector<std::string> namespaces_of(const JournalContent& content) {
    std::vector<std::string> names;
    for (const UndoAction& action : content.actions) {
        if (action.kind == UndoAction::Kind::kNetns) {
            names.push_back(action.name);
        }
    }
    return names;
}

// Undoes all `features` of the device that `action` is of, and takes them out of the list.
void undo_device_of(const UndoAction& action, std::vector<UndoAction>& features,
                    UndoReport& report) {
    const auto same_device = [&](const UndoAction& other) {
        return other.netns == action.netns && other.device == action.device;
    };
    std::vector<UndoAction> of_device;
    std::ranges::copy_if(features, std::back_inserter(of_device), same_device);
    std::erase_if(features, same_device);
    FeatureUndo undone = undo_features(of_device);
    append(report.done, std::move(undone.done));
    append(report.problems, std::move(undone.problems));
    report.left.insert(report.left.begin(), undone.left.begin(), undone.left.end());
}

// What was mounted for all runs together.
std::vector<PutBack> undo_mount(const std::string& directory) {
    auto unmounted = undo_netns_mount(directory);
    if (!unmounted) {
        return {};
    }
    return {{.kind = UndoAction::Kind::kNetns,
             .netns = "",
             .device = "",
             .what = std::move(*unmounted)}};
}

// All that is to be said when not everything could be put back.
Failure failure_of(std::vector<std::string> problems, std::vector<std::string> done) {
    append(problems, std::move(done));
    return fail(ErrorCode::kFailed, "{}", fmt::join(problems, "\n"));
}

}  // namespace

std::string journal_directory(const JournalOptions& options) {
    if (!options.directory.empty()) {
        return options.directory;
    }
    const char* named = std::getenv("PATHPROOF_RUN_DIR");
    return named != nullptr && *named != '\0' ? named : "/run/pathproof";
}

std::string journal_path(const std::string& directory, const std::string& run_id) {
    return directory + "/" + run_id + kSuffix;
}

std::string current_boot_id(const KernelFiles& files) {
    return read_sysctl("kernel.random.boot_id", files).value_or(std::string());
}

UndoReport undo_content(const JournalContent& content, const KernelFiles& files) {
    const bool rebooted = content.header.boot_id != current_boot_id(files);
    UndoReport report;
    std::vector<UndoAction> features;  // oldest first; they go back together, by device
    for (const UndoAction& action : content.actions) {
        if (action.kind == UndoAction::Kind::kFeature && !rebooted) {
            features.push_back(action);
        }
    }
    for (auto action = content.actions.rbegin(); action != content.actions.rend(); ++action) {
        if (action->kind == UndoAction::Kind::kFeature) {
            undo_device_of(*action, features, report);
            continue;
        }
        if (rebooted && action->kind != UndoAction::Kind::kNetns) {
            continue;
        }
        auto undone = undo_action(*action, files);
        if (!undone) {
            report.problems.push_back(fmt::format("could not put back {}: {}", describe(*action),
                                                  undone.error().message));
            report.left.insert(report.left.begin(), *action);
        } else if (*undone) {
            report.done.push_back(std::move(**undone));
        }
    }
    for (const std::string& line : content.unreadable) {
        report.problems.push_back(fmt::format("could not read a line of the journal of {}: '{}'",
                                              of_run(content.header), line));
    }
    return report;
}

Status finish_journal(const std::string& path, const JournalContent& content,
                      const UndoReport& report) {
    if (report.left.empty()) {
        if (unlink(path.c_str()) != 0 && errno != ENOENT) {
            return fail(ErrorCode::kFailed, "remove {}: {}", path, std::strerror(errno));
        }
        return {};
    }
    std::string text = header_line(content.header);
    for (const UndoAction& action : report.left) {
        text += action_line(action);
    }
    const std::string next = path + ".next";
    if (const Status written = write_file(next, text, O_CREAT | O_TRUNC); !written) {
        return pass_on(written.error());
    }
    if (std::rename(next.c_str(), path.c_str()) != 0) {
        return fail(ErrorCode::kFailed, "rename {}: {}", next, std::strerror(errno));
    }
    return {};
}

std::vector<UndoAction> actions_in(const std::string& directory) {
    std::vector<UndoAction> all;
    for (const std::string& path : journals_in(directory)) {
        const auto text = read_file(path);
        append(all, parse_journal(text.value_or(std::string())).actions);
    }
    return all;
}

Recovery recover(const std::string& directory, const KernelFiles& files) {
    Recovery all = recover_journals(directory, files);
    if (auto mount = undo_mount(directory); !mount.empty()) {
        all.runs.push_back({.run_id = "", .command = "", .things = std::move(mount)});
    }
    return all;
}

Recovery recover_journals(const std::string& directory, const KernelFiles& files) {
    Recovery all;
    remove_unnamed(directory);
    for (const std::string& path : journals_in(directory)) {
        if (is_live(path) && is_running(parse_journal(read_file(path).value_or("")).header.pid)) {
            continue;
        }
        const LockedJournal held(path);
        if (!held.ours()) {
            continue;
        }
        const auto text = read_file(path);
        if (!text) {
            all.problems.push_back("could not " + text.error().message);
            continue;
        }
        const JournalContent content = parse_journal(*text);
        if (content.kept) {
            continue;
        }
        UndoReport report = undo_file(path, content, files);
        if (!report.done.empty()) {
            all.runs.push_back({.run_id = content.header.run_id,
                                .command = content.header.command,
                                .things = std::move(report.done)});
        }
        append(all.problems, std::move(report.problems));
    }
    return all;
}

Result<std::vector<RestoredRun>> restore_all(const JournalOptions& options) {
    if (const Status may = needs_root("'pathproof restore'"); !may) {
        return pass_on(may.error());
    }
    const std::string directory = journal_directory(options);
    const auto lock = RunLock::take(directory, "pathproof restore");
    if (!lock) {
        return pass_on(lock.error());
    }
    Recovery recovery = recover(directory, {.proc = options.proc});
    if (!recovery.problems.empty()) {
        return failure_of(std::move(recovery.problems), in_short(recovery.runs));
    }
    return std::move(recovery.runs);
}

const char* run_state_name(RunInfo::State state) {
    switch (state) {
        case RunInfo::State::kLive:
            return "live";
        case RunInfo::State::kKept:
            return "kept";
        case RunInfo::State::kDead:
            return "dead";
    }
    return "";
}

Result<std::vector<RunInfo>> list_runs(const JournalOptions& options) {
    std::vector<RunInfo> runs;
    for (const std::string& path : journals_in(journal_directory(options))) {
        const auto text = read_file(path);
        if (!text) {
            continue;  // it ended while we looked
        }
        const JournalContent content = parse_journal(*text);
        const auto state = is_live(path)  ? RunInfo::State::kLive
                           : content.kept ? RunInfo::State::kKept
                                          : RunInfo::State::kDead;
        runs.push_back({.run_id = fs::path(path).stem().string(),
                        .state = state,
                        .pid = content.header.pid,
                        .command = content.header.command,
                        .what = content.kept.value_or(""),
                        .namespaces = namespaces_of(content)});
    }
    return runs;
}

Result<std::vector<std::string>> take_down(const std::string& run_id,
                                           const JournalOptions& options) {
    if (const Status may = needs_root("'pathproof lab down'"); !may) {
        return pass_on(may.error());
    }
    const std::string directory = journal_directory(options);
    const std::string path = journal_path(directory, run_id);
    const auto text = run_id.find('/') == std::string::npos
                          ? read_file(path)
                          : Result<std::string>(fail(ErrorCode::kNotFound, "no such run"));
    const JournalContent content = parse_journal(text.value_or(std::string()));
    if (!content.kept) {
        return fail(ErrorCode::kNotFound,
                    "no lab '{}' is kept up; 'pathproof lab list' shows the ones that are", run_id);
    }
    const LockedJournal held(path);
    if (!held.ours()) {
        return fail(ErrorCode::kUnavailable, "lab {} is being taken down by another process",
                    run_id);
    }
    UndoReport report = undo_file(path, content, {.proc = options.proc});
    append(report.done, undo_mount(directory));
    rmdir(directory.c_str());  // fails while anything else is in it, as it should
    if (!report.problems.empty()) {
        return failure_of(std::move(report.problems), in_short(report.done));
    }
    return in_short(report.done);
}

}  // namespace pathproof::lab
