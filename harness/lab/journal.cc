#include "harness/lab/journal.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "harness/lab/netns_names.h"
#include "harness/lab/port_notes.h"
#include "harness/lab/privilege.h"
#include "harness/lab/recovery.h"
#include "harness/lab/run_lock.h"
#include "harness/lab/topology.h"
#include "harness/lab/undo.h"
#include "harness/process/netns.h"

namespace pathproof::lab {
namespace {

using Kind = UndoAction::Kind;

constexpr std::uint32_t kHugepageMib = 2;

bool run_id_in_use(const std::string& directory, const std::string& run_id) {
    std::error_code wrong;
    if (std::filesystem::exists(journal_path(directory, run_id), wrong)) {
        return true;
    }
    const std::string prefix = "pp-" + run_id + "-";
    const auto names = std::filesystem::directory_iterator("/run/netns", wrong);
    return std::any_of(begin(names), end(names), [&](const auto& entry) {
        return entry.path().filename().string().starts_with(prefix);
    });
}

std::string choose_run_id(const std::string& directory) {
    std::random_device random;
    std::string run_id;
    do {
        run_id = fmt::format("{:04x}", random() & 0xffffU);
    } while (run_id_in_use(directory, run_id));
    return run_id;
}

// A number of kB from /proc/meminfo, or 0.
std::uint64_t meminfo(const std::string& text, const std::string& key) {
    const std::size_t found = ("\n" + text).find("\n" + key + ":");
    if (found == std::string::npos) {
        return 0;
    }
    return std::strtoull(text.c_str() + found + key.size() + 1, nullptr, 10);
}

// Makes the journal's file with its header. It has its name only once it is locked: who looks for
// journals of dead runs never meets one that is about to be. -1: errno says why not.
int make_journal(const std::string& directory, const JournalHeader& header) {
    const std::string nameless = fmt::format("{}/{}.{}", directory, header.run_id, getpid());
    const std::string line = header_line(header);
    const int file = open_locked(nameless, O_RDWR | O_CREAT | O_EXCL | O_APPEND);
    if (file < 0) {
        return -1;
    }
    const bool made = write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size()) &&
                      fdatasync(file) == 0 &&
                      link(nameless.c_str(), journal_path(directory, header.run_id).c_str()) == 0;
    const int reason = errno;
    unlink(nameless.c_str());
    if (made) {
        return file;
    }
    close(file);
    errno = reason;
    return -1;
}

}  // namespace

struct Journal::Impl {
    enum class State { kOpen, kUndone, kKept };

    Impl(std::optional<RunLock> taken, std::string folder, KernelFiles kernel)
        : lock(std::move(taken)), directory(std::move(folder)), files(std::move(kernel)) {}
    ~Impl() { let_go(); }

    // From here on the journal, if it is still there, is nobody's, and others may run.
    void let_go() {
        if (file >= 0) {
            close(file);
            file = -1;
        }
        lock.reset();
        rmdir(directory.c_str());  // fails while anything else is in it, as it should
    }

    std::optional<RunLock> lock;
    std::string directory;
    KernelFiles files;
    JournalHeader header;
    int file = -1;
    State state = State::kOpen;
    std::vector<std::string> recovered;
    std::set<std::string> namespaces;  // made by this run
    std::recursive_mutex mutex;        // a signal's thread undoes while another one still builds

    std::string path() const { return journal_path(directory, header.run_id); }

    Status start(const std::string& command_line) {
        const Recovery earlier =
            lock ? recover(directory, files) : recover_journals(directory, files);
        recovered = in_short(earlier.runs);
        recovered.insert(recovered.end(), earlier.problems.begin(), earlier.problems.end());
        header = {.run_id = "",
                  .pid = getpid(),
                  .boot_id = current_boot_id(files),
                  .command = command_line};
        // A run that ends at this moment may take the folder away; another one, the name.
        for (int attempt = 0; attempt < 100 && file < 0; ++attempt) {
            std::error_code ignored;
            std::filesystem::create_directories(directory, ignored);
            header.run_id = choose_run_id(directory);
            file = make_journal(directory, header);
        }
        if (file < 0) {
            return fail(errno == EACCES ? ErrorCode::kNotPermitted : ErrorCode::kFailed,
                        "make journal {}: {}; PATHPROOF_RUN_DIR names another folder", path(),
                        std::strerror(errno));
        }
        return {};
    }

    Status append(const std::string& text) {
        const ssize_t put = write(file, text.data(), text.size());
        if (put == static_cast<ssize_t>(text.size()) && fdatasync(file) == 0) {
            return {};
        }
        return fail(ErrorCode::kFailed, "write journal {}: {}; nothing was changed", path(),
                    std::strerror(errno));
    }

    Status may_change() const {
        if (state == State::kOpen) {
            return {};
        }
        return fail(ErrorCode::kUnavailable, "the run is over: its lab {}",
                    state == State::kKept ? "was handed on" : "has been taken down");
    }

    // Writes the undo action, if changes are still allowed.
    Status note(const UndoAction& action) {
        if (const Status open = may_change(); !open) {
            return open;
        }
        return append(action_line(action));
    }

    JournalContent content() const {
        return parse_journal(read_file(path()).value_or(std::string()));
    }
};

Journal::Journal() = default;

Result<std::unique_ptr<Journal>> Journal::open(const std::string& command_line,
                                               const JournalOptions& options) {
    if (const Status may = needs_root(fmt::format("'{}'", command_line)); !may) {
        return pass_on(may.error());
    }
    const std::string directory = journal_directory(options);
    auto lock = RunLock::take(directory, command_line);
    if (!lock) {
        return pass_on(lock.error());
    }
    std::unique_ptr<Journal> journal(new Journal);
    journal->impl_ =
        std::make_unique<Impl>(std::move(*lock), directory, KernelFiles{.proc = options.proc});
    if (const Status started = journal->impl_->start(command_line); !started) {
        return pass_on(started.error());
    }
    return journal;
}

Result<std::unique_ptr<Journal>> Journal::open_unlocked(const std::string& command_line,
                                                        const JournalOptions& options) {
    if (const Status may = needs_root(fmt::format("'{}'", command_line)); !may) {
        return pass_on(may.error());
    }
    std::unique_ptr<Journal> journal(new Journal);
    journal->impl_ = std::make_unique<Impl>(std::nullopt, journal_directory(options),
                                            KernelFiles{.proc = options.proc});
    if (const Status started = journal->impl_->start(command_line); !started) {
        return pass_on(started.error());
    }
    return journal;
}

Journal::~Journal() {
    // What cannot be undone now stays in the file, where the next start and `restore` find it.
    if (const Status undone = undo(); !undone) {
        return;
    }
}

const std::string& Journal::run_id() const {
    return impl_->header.run_id;
}

const std::vector<std::string>& Journal::recovered() const {
    return impl_->recovered;
}

Status Journal::add_netns(const std::string& name) {
    return add_netns(std::vector{name});
}

Status Journal::add_netns(const std::vector<std::string>& names) {
    const std::lock_guard lock(impl_->mutex);
    if (const Status open = impl_->may_change(); !open) {
        return open;
    }
    if (const Status noted = note_netns_mount(impl_->directory); !noted) {
        return noted;
    }
    std::string lines;
    for (const std::string& name : names) {
        if (process::netns_exists(name)) {
            return fail(ErrorCode::kFailed, "network namespace {} exists already and is not ours",
                        name);
        }
        lines += action_line({.kind = Kind::kNetns, .name = name});
    }
    if (const Status noted = impl_->append(lines); !noted) {
        return noted;
    }
    impl_->namespaces.insert(names.begin(), names.end());
    for (const std::string& name : names) {
        if (const Status made = create_netns(name); !made) {
            return made;
        }
    }
    return {};
}

Status Journal::remove_netns(const std::vector<std::string>& names) {
    const std::lock_guard lock(impl_->mutex);
    if (impl_->state != Impl::State::kOpen) {
        return {};
    }
    std::string lines;
    for (const std::string& name : names) {
        if (impl_->namespaces.count(name) == 0) {
            continue;  // it could not be made: a namespace of this name is somebody else's
        }
        if (const auto deleted = delete_netns(name); !deleted) {
            return pass_on(deleted.error());
        }
        lines += done_line(Kind::kNetns, name);
    }
    return impl_->append(lines);
}

Status Journal::set_sysctl(const std::string& name, const std::string& value) {
    const std::lock_guard lock(impl_->mutex);
    const auto old = read_sysctl(name, impl_->files);
    if (!old) {
        return pass_on(old.error());
    }
    const Status noted = impl_->note({.kind = Kind::kSysctl, .name = name, .value = *old});
    return noted ? write_sysctl(name, value, impl_->files) : noted;
}

Status Journal::restore_sysctl(const std::string& name) {
    const std::lock_guard lock(impl_->mutex);
    if (const Status open = impl_->may_change(); !open) {
        return open;
    }
    // The oldest note holds the value from before the run.
    const JournalContent content = impl_->content();
    const auto first =
        std::find_if(content.actions.begin(), content.actions.end(), [&](const UndoAction& action) {
            return action.kind == Kind::kSysctl && action.name == name;
        });
    if (first == content.actions.end()) {
        return {};
    }
    if (const auto undone = undo_action(*first, impl_->files); !undone) {
        return pass_on(undone.error());
    }
    return impl_->append(done_line(Kind::kSysctl, name));
}

Result<std::uint32_t> Journal::reserve_hugepages(std::uint32_t mib) {
    const std::lock_guard lock(impl_->mutex);
    const auto memory = read_file(impl_->files.proc + "/meminfo");
    if (!memory) {
        return pass_on(memory.error());
    }
    if (meminfo(*memory, "Hugepagesize") != kHugepageMib * 1024) {
        return fail(ErrorCode::kNotSupported,
                    "the kernel's default hugepage is not 2 MiB; reserve hugepages by hand");
    }
    const std::uint64_t free_pages = meminfo(*memory, "HugePages_Free");
    const std::uint64_t wanted = (mib + kHugepageMib - 1) / kHugepageMib;
    const std::uint64_t allowed = meminfo(*memory, "MemAvailable") / 1024 / 2 / kHugepageMib;
    const std::uint64_t more = std::min(wanted > free_pages ? wanted - free_pages : 0, allowed);
    if (more == 0) {
        return static_cast<std::uint32_t>(free_pages) * kHugepageMib;
    }
    const auto old = read_sysctl("vm.nr_hugepages", impl_->files);
    if (!old) {
        return pass_on(old.error());
    }
    if (const Status noted =
            impl_->note({.kind = Kind::kHugepages, .name = "vm.nr_hugepages", .value = *old});
        !noted) {
        return pass_on(noted.error());
    }
    const std::uint64_t count = std::strtoull(old->c_str(), nullptr, 10);
    // The kernel gives what it can find in one piece: fewer is no error, and the read-back says how
    // many.
    const std::string path = impl_->files.proc + "/sys/vm/nr_hugepages";
    if (const Status written = write_file(path, fmt::format("{}\n", count + more), O_TRUNC);
        !written) {
        return pass_on(written.error());
    }
    const auto now = read_sysctl("vm.nr_hugepages", impl_->files);
    if (!now) {
        return pass_on(now.error());
    }
    const std::uint64_t got = std::strtoull(now->c_str(), nullptr, 10) - count + free_pages;
    return static_cast<std::uint32_t>(got) * kHugepageMib;
}

Status Journal::note_feature(const std::string& netns, const std::string& device,
                             const std::string& feature, bool value) {
    const std::lock_guard lock(impl_->mutex);
    return impl_->note({.kind = Kind::kFeature,
                        .name = feature,
                        .value = value ? "on" : "off",
                        .netns = netns,
                        .device = device});
}

Status Journal::note_port(const std::string& netns, const std::string& interface, PortKind kind) {
    const std::lock_guard lock(impl_->mutex);
    const auto notes = notes_before_port(netns, interface, kind, actions_in(impl_->directory));
    if (!notes) {
        return pass_on(notes.error());
    }
    for (const UndoAction& action : *notes) {
        if (const Status noted = impl_->note(action); !noted) {
            return noted;
        }
    }
    return {};
}

Status Journal::note_loaded_programs() {
    const std::lock_guard lock(impl_->mutex);
    for (const UndoAction& before : impl_->content().actions) {
        if (before.kind != Kind::kXdp) {
            continue;
        }
        const auto loaded = note_of_program(before);
        if (!loaded) {
            return pass_on(loaded.error());
        }
        const std::string lines =
            done_line(Kind::kXdp, before.name) + (*loaded ? action_line(**loaded) : "");
        if (const Status noted = impl_->append(lines); !noted) {
            return noted;
        }
    }
    return {};
}

Status Journal::change_ip(const std::string& netns, const std::string& change,
                          const std::string& undo) {
    const std::lock_guard lock(impl_->mutex);
    const UndoAction action{.kind = Kind::kIp, .name = undo, .netns = netns};
    const JournalContent content = impl_->content();
    if (std::find(content.actions.begin(), content.actions.end(), action) !=
        content.actions.end()) {
        return fail(ErrorCode::kBadInput, "'ip {}' is noted already, to be undone by 'ip {}'",
                    change, undo);
    }
    if (const Status noted = impl_->note(action); !noted) {
        return noted;
    }
    const Status changed = run_ip(netns, change + "\n");
    if (changed) {
        return {};
    }
    // Nothing was changed: what the undo command would take away was there before.
    const Status forgotten = impl_->append(done_line(Kind::kIp, undo));
    return forgotten ? changed : forgotten;
}

Status Journal::undo_ip(const std::string& netns, const std::string& undo) {
    const std::lock_guard lock(impl_->mutex);
    if (const Status open = impl_->may_change(); !open) {
        return open;
    }
    const auto undone =
        undo_action({.kind = Kind::kIp, .name = undo, .netns = netns}, impl_->files);
    return undone ? impl_->append(done_line(Kind::kIp, undo)) : Status(pass_on(undone.error()));
}

Status Journal::keep(const std::string& what) {
    const std::lock_guard lock(impl_->mutex);
    if (const Status open = impl_->may_change(); !open) {
        return open;
    }
    if (const Status noted = impl_->append(kept_line(what)); !noted) {
        return noted;
    }
    impl_->state = Impl::State::kKept;
    impl_->let_go();
    return {};
}

Status Journal::undo() {
    const std::lock_guard lock(impl_->mutex);
    if (impl_->state != Impl::State::kOpen || impl_->file < 0) {
        return {};
    }
    impl_->state = Impl::State::kUndone;
    const JournalContent content = impl_->content();
    const UndoReport report = undo_content(content, impl_->files);
    const Status finished = finish_journal(impl_->path(), content, report);
    if (impl_->lock) {
        undo_netns_mount(impl_->directory);
    }
    impl_->let_go();
    if (!report.problems.empty()) {
        return fail(ErrorCode::kFailed, "{}; 'pathproof restore' tries again",
                    fmt::join(report.problems, "; "));
    }
    return finished;
}

}  // namespace pathproof::lab
