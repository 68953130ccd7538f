#include "harness/lab/recovery.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
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
// The processes of a killed run hold its journal until they are gone; a tester with much memory
// takes its time.
constexpr std::chrono::seconds kLongestDying{10};

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

template <typename Each>
void append(std::vector<Each>& to, std::vector<Each> from) {
    std::move(from.begin(), from.end(), std::back_inserter(to));
}

// Undoes one journal whose lock we hold, and removes it or leaves in it what is left.
UndoReport undo_file(const std::string& path, const JournalContent& content,
                     const KernelFiles& files) {
    UndoReport report;
    const bool only_names = std::ranges::all_of(content.actions, [](const UndoAction& action) {
        return action.kind == UndoAction::Kind::kNetns;
    });
    if (!content.header.run_id.empty() && content.header.format != kJournalFormat && !only_names) {
        report.problems.push_back(
            fmt::format("run '{}' was one of another version of pathproof: that version's "
                        "'restore' can put back what it left (its journal: {})",
                        content.header.command, path));
        report.left = content.actions;
        const Status told = content.told ? Status() : write_file(path, told_line(), O_APPEND);
        return told ? report : UndoReport();
    }
    report = undo_content(content, files);
    if (const Status finished = finish_journal(path, content, report); !finished) {
        report.problems.push_back(finished.error().message);
    }
    return report;
}

std::string of_run(const JournalHeader& header) {
    return header.run_id.empty() ? std::string("a run cut off at its first line")
                                 : fmt::format("run {} ('{}')", header.run_id, header.command);
}

// Returns whether a process holds the journal's lock; works without write permission.
bool is_live(const std::string& path) {
    const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    return file && flock(file.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
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

RunInfo::State state_of_run(const std::string& path, const JournalContent& content) {
    if (is_live(path)) {
        return RunInfo::State::kLive;
    }
    return content.kept ? RunInfo::State::kKept : RunInfo::State::kDead;
}

// Returns whether a device that was moved into that namespace could not be moved back.
bool holds_device(const UndoReport& report, const std::string& netns) {
    return std::ranges::any_of(report.left, [&](const UndoAction& left) {
        return left.kind == UndoAction::Kind::kMove && left.set == netns;
    });
}

// One pass over all things, last one first.
UndoReport undo_once(const JournalContent& content, const KernelFiles& files) {
    const bool rebooted = content.header.boot_id != current_boot_id(files);
    UndoReport report;
    std::vector<Note> notes = notes_of(content.actions);
    while (!notes.empty()) {
        const Note note = notes.back();
        if (note.kind == UndoAction::Kind::kFeature) {
            // Together with the others of its device.
            const auto of_device =
                std::stable_partition(notes.begin(), notes.end(), [&](const Note& other) {
                    return other.kind != note.kind || other.place != note.place;
                });
            const std::vector<Note> features(of_device, notes.end());
            notes.erase(of_device, notes.end());
            if (!rebooted) {
                undo_features(features, report);
            }
            continue;
        }
        notes.pop_back();
        // A namespace that still has a device of the machine's stays, or the device would go with it.
        if (note.kind == UndoAction::Kind::kNetns && holds_device(report, note.name)) {
            report.left.push_back(note);
            continue;
        }
        if (rebooted && note.kind != UndoAction::Kind::kNetns) {
            continue;
        }
        if (const Status undone = undo_kind(note.kind).undo(note, files, report); !undone) {
            report.problems.push_back(fmt::format("could not put back {}: {}",
                                                  undo_kind(note.kind).describe(note),
                                                  undone.error().message));
            report.left.push_back(note);
        }
    }
    return report;
}

// Undoes the mount that all runs share.
std::vector<PutBack> undo_mount(const std::string& directory) {
    const auto unmounted = undo_netns_mount(directory);
    return unmounted ? std::vector<PutBack>{{.what = *unmounted}} : std::vector<PutBack>();
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
    UndoReport report = undo_once(content, files);
    // Read back: another pass finds everything as it was noted, and has nothing to do.
    constexpr int kPasses = 3;
    for (int pass = 1; pass < kPasses; ++pass) {
        UndoReport again = undo_once(content, files);
        const std::vector<PutBack> changed = again.done;
        append(report.done, std::move(again.done));
        again.done = std::move(report.done);
        report = std::move(again);
        if (changed.empty()) {
            break;
        }
        if (pass + 1 == kPasses) {
            for (const PutBack& thing : changed) {
                report.problems.push_back("does not stay as it was put back: " + in_full(thing));
            }
            report.left = content.actions;
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
    std::string text = header_line(content.header) + told_line();
    for (const UndoAction& action : content.actions) {
        if (std::ranges::any_of(
                report.left, [&](const UndoAction& thing) { return thing.same_thing(action); })) {
            text += action_line(action);
        }
    }
    const std::string next = path + ".next";
    TRY(write_file(next, text, O_CREAT | O_TRUNC));
    if (std::rename(next.c_str(), path.c_str()) != 0) {
        return fail(ErrorCode::kFailed, "rename {}: {}", next, std::strerror(errno));
    }
    return {};
}

std::string how_to_forget(const std::string& run_id) {
    return fmt::format(
        "'pathproof restore' tries again, 'pathproof restore --forget {}' forgets it", run_id);
}

std::vector<std::pair<JournalHeader, UndoAction>> live_actions(const std::string& directory) {
    std::vector<std::pair<JournalHeader, UndoAction>> all;
    for (const std::string& path : journals_in(directory)) {
        const JournalContent content = parse_journal(read_file(path).value_or(""));
        for (const UndoAction& action : content.actions) {
            if (is_live(path)) {
                all.emplace_back(content.header, action);
            }
        }
    }
    return all;
}

Recovery recover(const std::string& directory, const KernelFiles& files, Tell tell) {
    Recovery all = recover_journals(directory, files, tell);
    if (auto mount = undo_mount(directory); !mount.empty()) {
        all.runs.push_back({.run_id = "", .command = "", .things = std::move(mount)});
    }
    return all;
}

namespace {

// Undoes one journal, unless its run goes on or it is kept. True: something of it is left.
bool recover_journal(const std::string& path, const KernelFiles& files, Tell tell, Recovery& all) {
    if (is_live(path) && is_running(parse_journal(read_file(path).value_or("")).header.pid)) {
        return false;
    }
    const Fd held = open_locked(path, O_RDWR, kLongestDying);
    if (!held) {
        return false;
    }
    const auto text = read_file(path);
    if (!text) {
        all.problems.push_back("could not " + text.error().message);
        return false;
    }
    const JournalContent content = parse_journal(*text);
    if (content.kept) {
        return false;
    }
    UndoReport report = undo_file(path, content, files);
    if (!report.done.empty() || !report.left_alone.empty()) {
        all.runs.push_back({.run_id = content.header.run_id,
                            .command = content.header.command,
                            .things = std::move(report.done),
                            .left_alone = std::move(report.left_alone)});
    }
    if (tell == Tell::kOnce && content.told) {
        return !report.left.empty();
    }
    for (const std::string& problem : report.problems) {
        all.problems.push_back(
            report.left.empty()
                ? problem
                : fmt::format("{}; {}", problem, how_to_forget(content.header.run_id)));
    }
    return !report.left.empty();
}

}  // namespace

Recovery recover_journals(const std::string& directory, const KernelFiles& files, Tell tell,
                          const std::string& run_id) {
    Recovery all;
    remove_unnamed(directory);
    remove_stale_host_locks(directory);
    std::vector<std::string> paths = journals_in(directory);
    std::erase_if(paths, [&](const std::string& path) {
        return !run_id.empty() && path != journal_path(directory, run_id);
    });
    struct Left {
        std::string path;
        std::vector<std::string> problems;
    };
    std::vector<Left> left;
    for (const std::string& path : paths) {
        Recovery one;
        const bool is_left = recover_journal(path, files, tell, one);
        append(all.runs, std::move(one.runs));
        if (is_left) {
            left.push_back({path, std::move(one.problems)});
        } else {
            append(all.problems, std::move(one.problems));
        }
    }
    // One may have waited for what another has undone by now, such as an XDP program at the far end of its veth pair.
    for (Left& each : left) {
        Recovery again;
        const bool is_left =
            paths.size() == 1 || recover_journal(each.path, files, Tell::kAlways, again);
        append(all.runs, std::move(again.runs));
        append(all.problems, is_left ? std::move(each.problems) : std::move(again.problems));
    }
    return all;
}

Result<std::vector<RestoredRun>> restore_all(const JournalOptions& options) {
    TRY(needs_root("'pathproof restore'"));
    const std::string directory = journal_directory(options);
    const auto lock = TRY(RunLock::take(directory, "pathproof restore"));
    Recovery recovery = recover(directory, {.proc = options.proc}, Tell::kAlways);
    if (!recovery.problems.empty()) {
        return failure_of(std::move(recovery.problems), in_short(recovery.runs));
    }
    return std::move(recovery.runs);
}

Result<std::vector<std::string>> forget(const std::string& run_id, const JournalOptions& options) {
    TRY(needs_root("'pathproof restore'"));
    const std::string directory = journal_directory(options);
    const auto lock = TRY(RunLock::take(directory, "pathproof restore --forget"));
    const auto runs = TRY(list_runs(options));
    const auto is_meant = [&](const RunInfo& run) {
        return run.state == RunInfo::State::kDead && (run_id.empty() || run.run_id == run_id);
    };
    if (!run_id.empty() && std::ranges::none_of(runs, is_meant)) {
        return fail(ErrorCode::kNotFound,
                    "no killed run '{}' has left anything; 'pathproof lab list' shows the runs "
                    "that there are",
                    run_id);
    }
    Recovery recovery = recover_journals(directory, {.proc = options.proc}, Tell::kAlways, run_id);
    std::vector<std::string> said = in_short(recovery.runs);
    for (const std::string& problem : recovery.problems) {
        said.push_back("forgotten: " + problem.substr(0, problem.rfind("; 'pathproof restore'")));
    }
    for (const RunInfo& run : runs) {
        const std::string path = journal_path(directory, run.run_id);
        if (is_meant(run) && open_locked(path, O_RDWR, kLongestDying)) {
            unlink(path.c_str());
        }
    }
    return said;
}

const char* run_state_name(RunInfo::State state) {
    switch (state) {
        case RunInfo::State::kLive: return "live";
        case RunInfo::State::kKept: return "kept";
        case RunInfo::State::kDead: return "dead";
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
        runs.push_back({.run_id = fs::path(path).stem().string(),
                        .state = state_of_run(path, content),
                        .pid = content.header.pid,
                        .command = content.header.command,
                        .what = content.kept.value_or(""),
                        .namespaces = namespaces_of(content)});
    }
    return runs;
}

Result<std::vector<std::string>> take_down(const std::string& run_id,
                                           const JournalOptions& options) {
    TRY(needs_root("'pathproof lab down'"));
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
    const Fd held = open_locked(path, O_RDWR, kLongestDying);
    if (!held) {
        return fail(ErrorCode::kUnavailable, "lab {} is being taken down by another process",
                    run_id);
    }
    UndoReport report = undo_file(path, content, {.proc = options.proc});
    append(report.done, undo_mount(directory));
    for (std::string& sentence : report.left_alone) {
        report.done.push_back({.what = std::move(sentence)});
    }
    rmdir(directory.c_str());  // fails while anything else is in it, as it should
    if (!report.problems.empty()) {
        return failure_of(std::move(report.problems), in_short(report.done));
    }
    return in_short(report.done);
}

}  // namespace pathproof::lab
