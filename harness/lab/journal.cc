#include "harness/lab/journal.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <utility>

#include "dataplane/base/file.h"
#include "dataplane/base/new_file.h"
#include "harness/agent/ethtool.h"
#include "harness/agent/sysctl.h"
#include "harness/lab/device_move.h"
#include "harness/lab/device_place.h"
#include "harness/lab/feature_undo.h"
#include "harness/lab/host_tools.h"
#include "harness/lab/host_undo.h"
#include "harness/lab/kernel_module.h"
#include "harness/lab/netns_identity.h"
#include "harness/lab/netns_names.h"
#include "harness/lab/port_notes.h"
#include "harness/lab/privilege.h"
#include "harness/lab/recovery.h"
#include "harness/lab/run_lock.h"
#include "harness/lab/undo.h"
#include "harness/process/child.h"
#include "harness/process/foreign.h"
#include "harness/process/netns.h"
#include "harness/process/program.h"
#include "harness/setting/setting.h"

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

// Makes the journal's file with its header. It has its name only once it is locked: who looks for
// journals of dead runs never meets one that is about to be. None: errno says why not.
Fd make_journal(const std::string& directory, const JournalHeader& header) {
    const std::string nameless = fmt::format("{}/{}.{}", directory, header.run_id, getpid());
    const std::string line = header_line(header);
    Fd file = open_locked(nameless, O_RDWR | O_CREAT | O_EXCL | O_APPEND);
    if (!file) {
        return file;
    }
    const bool made =
        write(file.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size()) &&
        fdatasync(file.get()) == 0 &&
        link(nameless.c_str(), journal_path(directory, header.run_id).c_str()) == 0;
    const int reason = errno;
    unlink(nameless.c_str());
    if (!made) {
        file.reset();
    } else {
        // Our children hold it too: nobody takes the journal for one of a dead run before the last
        // of them is gone, with what it changes and uses.
        fcntl(file.get(), F_SETFD, 0);
    }
    errno = reason;
    return file;
}

}  // namespace

struct Journal::Impl {
    enum class State { kOpen, kUndone, kKept };

    Impl(std::optional<RunLock> taken, std::string folder, KernelFiles kernel)
        : lock(std::move(taken)), directory(std::move(folder)), files(std::move(kernel)) {}
    ~Impl() { let_go(); }

    // From here on the journal, if it is still there, is nobody's, and others may run.
    void let_go() {
        file.reset();
        lock.reset();
        rmdir(directory.c_str());  // fails while anything else is in it, as it should
    }

    std::optional<RunLock> lock;
    std::string directory;
    KernelFiles files;
    JournalContent content;  // of the file
    Fd file;
    State state = State::kOpen;
    std::atomic<bool> sealed = false;
    std::thread::id sealed_by;  // set before `sealed`
    Status outcome;             // of undo()
    std::vector<std::string> left_alone;
    std::vector<std::string> recovered;
    std::recursive_mutex mutex;  // held while a change is noted and made, and while all are undone

    const std::string& run_id() const { return content.header.run_id; }
    std::string path() const { return journal_path(directory, run_id()); }

    Status start(const std::string& command_line) {
        const Recovery earlier = lock ? recover(directory, files, Tell::kOnce)
                                      : recover_journals(directory, files, Tell::kOnce);
        recovered = in_short(earlier.runs);
        recovered.insert(recovered.end(), earlier.problems.begin(), earlier.problems.end());
        content.header = {.run_id = "",
                          .pid = getpid(),
                          .boot_id = current_boot_id(files),
                          .command = command_line};
        // A run that ends at this moment may take the folder away; another one, the name.
        for (int attempt = 0; attempt < 100 && !file; ++attempt) {
            std::error_code ignored;
            std::filesystem::create_directories(directory, ignored);
            content.header.run_id = choose_run_id(directory);
            file = make_journal(directory, content.header);
        }
        if (!file) {
            return fail(errno == EACCES ? ErrorCode::kNotPermitted : ErrorCode::kFailed,
                        "make journal {}: {}; PATHPROOF_RUN_DIR names another folder", path(),
                        std::strerror(errno));
        }
        return {};
    }

    Status may_change() const {
        if (state == State::kOpen && !sealed) {
            return {};
        }
        if (state == State::kKept) {
            return fail(ErrorCode::kUnavailable, "the run is over: its lab was handed on");
        }
        if (state == State::kUndone) {
            return fail(ErrorCode::kUnavailable, "the run is over: its lab has been taken down");
        }
        return fail(ErrorCode::kUnavailable,
                    "the run is being stopped: nothing is changed any more");
    }

    // Writes lines, if changes are still made.
    Status append(const std::string& text) {
        TRY(may_change());
        const ssize_t put = write(file.get(), text.data(), text.size());
        if (put != static_cast<ssize_t>(text.size()) || fdatasync(file.get()) != 0) {
            return fail(ErrorCode::kFailed, "write journal {}: {}; nothing was changed", path(),
                        std::strerror(errno));
        }
        read_lines(text, content);
        return {};
    }

    Status note(const std::vector<UndoAction>& actions) {
        std::string lines;
        for (const UndoAction& action : actions) {
            lines += action_line(action);
        }
        return append(lines);
    }

    // Undoes what is noted of one thing now, and takes it out of the journal.
    Status undo_now(const UndoAction& thing) {
        std::vector<UndoAction> of_it;
        std::ranges::copy_if(content.actions, std::back_inserter(of_it),
                             [&](const UndoAction& action) { return action.same_thing(thing); });
        if (const Status open = may_change(); !open || of_it.empty()) {
            return open;
        }
        UndoReport report;
        const Status undone = undo_kind(thing.kind).undo(notes_of(of_it).front(), files, report);
        left_alone.insert(left_alone.end(), report.left_alone.begin(), report.left_alone.end());
        return undone ? append(done_line(thing)) : undone;
    }

    const UndoAction* noted(Kind kind, const std::string& name) const {
        const auto found = std::ranges::find_if(content.actions, [&](const UndoAction& action) {
            return action.kind == kind && action.name == name;
        });
        return found == content.actions.end() ? nullptr : &*found;
    }

    const UndoAction* noted(const UndoAction& thing) const {
        const auto found = std::ranges::find_if(
            content.actions, [&](const UndoAction& action) { return action.same_thing(thing); });
        return found == content.actions.end() ? nullptr : &*found;
    }

    void undo_all() {
        state = State::kUndone;
        UndoReport report = undo_content(content, files);
        left_alone.insert(left_alone.end(), report.left_alone.begin(), report.left_alone.end());
        outcome = finish_journal(path(), content, report);
        if (lock) {
            // Agents on this machine that were killed along with a run have left theirs.
            Recovery agents = recover_journals(directory, files, Tell::kOnce);
            for (RestoredRun& agent : agents.runs) {
                std::ranges::move(agent.left_alone, std::back_inserter(left_alone));
            }
            std::ranges::move(agents.problems, std::back_inserter(report.problems));
            undo_netns_mount(directory);
        }
        let_go();
        if (!report.problems.empty()) {
            outcome = fail(ErrorCode::kFailed, "{}; {}", fmt::join(report.problems, "; "),
                           how_to_forget(run_id()));
        }
    }

    // The thread that sealed the journal ends the process.
    void leave_to_the_end() const {
        while (sealed && sealed_by != std::this_thread::get_id()) {
            pause();
        }
    }
};

Journal::Journal() = default;

Result<std::unique_ptr<Journal>> Journal::open(const std::string& command_line,
                                               const JournalOptions& options) {
    TRY(needs_root(fmt::format("'{}'", command_line)));
    auto lock = TRY(RunLock::take(journal_directory(options), command_line));
    return start(std::move(lock), command_line, options);
}

Result<std::unique_ptr<Journal>> Journal::open_unlocked(const std::string& command_line,
                                                        const JournalOptions& options) {
    TRY(needs_root(fmt::format("'{}'", command_line)));
    return start(std::nullopt, command_line, options);
}

Result<std::unique_ptr<Journal>> Journal::start(std::optional<RunLock> lock,
                                                const std::string& command_line,
                                                const JournalOptions& options) {
    std::unique_ptr<Journal> journal(new Journal);
    journal->impl_ = std::make_unique<Impl>(std::move(lock), journal_directory(options),
                                            KernelFiles{.proc = options.proc});
    TRY(journal->impl_->start(command_line));
    return journal;
}

Journal::~Journal() {
    // Changes that cannot be undone now stay in the file, where the next start and `restore` find
    // them.
    static_cast<void>(undo());
}

const std::string& Journal::run_id() const {
    return impl_->run_id();
}

const std::vector<std::string>& Journal::recovered() const {
    return impl_->recovered;
}

Status Journal::change(const std::vector<UndoAction>& notes, const std::function<Status()>& make) {
    const std::lock_guard lock(impl_->mutex);
    TRY(impl_->note(notes));
    return make();
}

Status Journal::add_netns(const std::vector<std::string>& names) {
    const std::lock_guard lock(impl_->mutex);
    TRY(impl_->may_change());
    TRY(note_netns_mount(impl_->directory));
    std::vector<UndoAction> notes;
    for (const std::string& name : names) {
        if (process::netns_exists(name)) {
            return fail(ErrorCode::kFailed, "network namespace {} exists already and is not ours",
                        name);
        }
        notes.push_back({.kind = Kind::kNetns, .name = name});
    }
    return change(notes, [&]() -> Status {
        for (const std::string& name : names) {
            TRY(create_netns(name));
        }
        return {};
    });
}

Status Journal::remove_netns(const std::vector<std::string>& names) {
    const std::lock_guard lock(impl_->mutex);
    if (impl_->state != Impl::State::kOpen) {
        return {};
    }
    for (const std::string& name : names) {
        TRY(impl_->undo_now({.kind = Kind::kNetns, .name = name}));
    }
    return {};
}

Status Journal::move_device(const std::string& device, const std::string& netns) {
    const std::lock_guard lock(impl_->mutex);
    TRY(check_movable(device));
    const UndoAction note = TRY(note_before_move(device, netns));
    return change({note}, [&] { return lab::move_device(device, netns); });
}

Status Journal::set_sysctl(const std::string& name, const std::string& value,
                           const std::string& place) {
    const std::lock_guard lock(impl_->mutex);
    const auto old = TRY(read_sysctl(name, impl_->files));
    return change(
        {{.kind = Kind::kSysctl, .name = name, .value = old, .set = value, .place = place}},
        [&] { return write_sysctl(name, value, impl_->files); });
}

Status Journal::set_net_sysctl(const std::string& name, const std::string& value) {
    const auto netns = TRY(current_netns());
    return set_sysctl(name, value, to_string(netns));
}

Status Journal::load_rules(const std::string& table, const std::string& rules, Rules how) {
    const std::lock_guard lock(impl_->mutex);
    const auto netns = TRY(current_netns());
    UndoAction note{
        .kind = Kind::kRules, .name = table, .set = kRulesBeingLoaded, .place = to_string(netns)};
    // The oldest note says how the table was found.
    const UndoAction* known = impl_->noted(note);
    note.value = known != nullptr ? known->value : TRY(read_rules(table));
    TRY(change({note}, [&] {
        return how == Rules::kWhole ? lab::load_rules(rules, setting::family_of(table))
                                    : add_rules(rules, setting::family_of(table));
    }));
    note.set = TRY(read_rules(table));
    return impl_->note({note});
}

Status Journal::load_nft(const std::string& table, const std::string& text) {
    const std::lock_guard lock(impl_->mutex);
    const auto netns = TRY(current_netns());
    const UndoAction note{
        .kind = Kind::kNft, .name = table, .set = "ours", .place = to_string(netns)};
    if (impl_->noted(note) == nullptr && has_nft_table(table)) {
        return fail(ErrorCode::kBadInput,
                    "there is an nftables table '{}' already, which is not ours to change; take it "
                    "away first",
                    table);
    }
    return change({note}, [&] { return lab::load_nft(text); });
}

Status Journal::set_ipvs(const std::string& services) {
    const std::lock_guard lock(impl_->mutex);
    const auto netns = TRY(current_netns());
    const auto now = TRY(read_ipvs());
    UndoAction note{.kind = Kind::kIpvs,
                    .name = "services",
                    .value = now,
                    .set = services,
                    .place = to_string(netns)};
    TRY(change({note}, [&] { return change_ipvs(now, services); }));
    const auto after = TRY(read_ipvs());
    if (!same_ipvs(after, services)) {
        return fail(ErrorCode::kFailed, "IPVS has '{}' where '{}' was set", after, services);
    }
    return {};
}

Status Journal::steer(const std::string& device, const std::string& cpu_mask) {
    const std::lock_guard lock(impl_->mutex);
    const auto old = TRY(agent::read_rps(device));
    const auto place = TRY(place_of(device));
    return change({{.kind = Kind::kSteering,
                    .value = old,
                    .set = cpu_mask,
                    .place = place,
                    .device = device}},
                  [&]() -> Status {
                      TRY(agent::set_rps(device, cpu_mask));
                      return {};
                  });
}

Status Journal::restore_sysctl(const std::string& name) {
    const std::lock_guard lock(impl_->mutex);
    const UndoAction* set = impl_->noted(Kind::kSysctl, name);
    return impl_->undo_now(set == nullptr ? UndoAction{.kind = Kind::kSysctl, .name = name} : *set);
}

Status Journal::restore_rules(const std::string& table) {
    const auto netns = TRY(current_netns());
    const std::lock_guard lock(impl_->mutex);
    return impl_->undo_now({.kind = Kind::kRules, .name = table, .place = to_string(netns)});
}

Status Journal::restore_nft(const std::string& table) {
    const auto netns = TRY(current_netns());
    const std::lock_guard lock(impl_->mutex);
    return impl_->undo_now({.kind = Kind::kNft, .name = table, .place = to_string(netns)});
}

Status Journal::restore_ipvs() {
    const auto netns = TRY(current_netns());
    const std::lock_guard lock(impl_->mutex);
    return impl_->undo_now({.kind = Kind::kIpvs, .name = "services", .place = to_string(netns)});
}

// The settings of a device that is gone went with it.
Status Journal::restore_device(const std::string& moved) {
    const std::lock_guard lock(impl_->mutex);
    const auto netns = TRY(current_netns());
    return impl_->undo_now({.kind = Kind::kMove, .name = moved, .place = to_string(netns)});
}

Status Journal::restore_steering(const std::string& device) {
    const auto place = place_of(device);
    const std::lock_guard lock(impl_->mutex);
    return place ? impl_->undo_now({.kind = Kind::kSteering, .name = "", .place = *place})
                 : Status();
}

Status Journal::restore_feature(const std::string& device, const std::string& feature) {
    const auto place = place_of(device);
    if (!place) {
        return {};  // gone, with what was set of it
    }
    const std::lock_guard lock(impl_->mutex);
    const auto features = TRY(agent::read_features(device));
    std::vector<std::pair<std::string, bool>> found;
    for (const auto& [name, on] : TRY(single_features(device, features, {{feature, false}}))) {
        const UndoAction* note =
            impl_->noted({.kind = Kind::kFeature, .name = name, .place = *place});
        if (note != nullptr) {
            found.emplace_back(name, was_requested(*note));
        }
    }
    return change_features("", device, found,
                           [&] { return agent::request_features(device, found); });
}

Status Journal::load_module(const std::string& name) {
    const std::lock_guard lock(impl_->mutex);
    const auto shown = process::run_program({"modprobe", "--show-depends", name});
    if (!shown || shown->exit_status != 0) {
        return shown ? Status(fail(ErrorCode::kKernelLacks, "this kernel has no module {}: {}",
                                   name, process::last_words(shown->err)))
                     : fail(ErrorCode::kNotFound,
                            "loading the module {} takes modprobe: install the package kmod", name);
    }
    std::vector<UndoAction> notes;
    for (const std::string& module : modules_to_load(shown->out, impl_->files)) {
        notes.push_back({.kind = Kind::kModule, .name = module});
    }
    if (notes.empty()) {
        return {};
    }
    return change(notes, [&]() -> Status {
        TRY(process::run_checked({"modprobe", name}));
        return {};
    });
}

Status Journal::bind_pci(const std::string& address, UserDriver driver) {
    constexpr const char* kNoIommu = "vfio/parameters/enable_unsafe_noiommu_mode";
    const std::lock_guard lock(impl_->mutex);
    const KernelFiles& files = impl_->files;
    const PciBinding found = TRY(read_binding(address, files));
    TRY(check_bindable(address, driver, files));
    if (found.driver == kernel_name(driver)) {
        return {};
    }
    if (driver == UserDriver::kVfioNoIommu) {
        const std::string path = files.sys + "/module/" + kNoIommu;
        const auto now = read_file(path);
        if (!now) {
            return fail(
                ErrorCode::kKernelLacks,
                "this kernel's vfio cannot do without an IOMMU (CONFIG_VFIO_NOIOMMU): there "
                "is no {}",
                path);
        }
        TRY(change({{.kind = Kind::kParameter,
                     .name = kNoIommu,
                     .value = now->substr(0, now->find('\n')),
                     .set = "Y"}},
                   [&] { return write_file(path, "Y\n", 0); }));
    }
    const auto netns = TRY(current_netns());
    const UndoAction note{.kind = Kind::kBinding,
                          .name = address,
                          .value = to_string(found),
                          .set = kernel_name(driver),
                          .place = to_string(netns),
                          .device = found.interface};
    const Status bound = change({note}, [&] { return bind_to(address, driver, files); });
    if (!bound && is_open()) {
        const Status back = impl_->undo_now(note);
        return back ? bound
                    : fail(ErrorCode::kFailed, "{}; {}", bound.error().message,
                           back.error().message);
    }
    return bound;
}

Result<std::string> Journal::make_folder(const std::string& name) {
    const std::string path = fmt::format("{}/{}-{}", impl_->directory, run_id(), name);
    TRY(change({{.kind = Kind::kFolder, .name = path}},
               [&] { return doing(make_folders(path, ErrorCode::kFailed), "make {}", path); }));
    return path;
}

Result<std::uint32_t> Journal::reserve_hugepages(std::uint32_t mib) {
    const std::lock_guard lock(impl_->mutex);
    const KernelFiles& files = impl_->files;
    const auto before = read_hugepages(files);
    if (!before || meminfo(files, "Hugepagesize") != kHugepageMib * 1024) {
        return fail(ErrorCode::kNotSupported,
                    "the kernel's default hugepage is not 2 MiB; reserve hugepages by hand");
    }
    const std::uint64_t free_pages = meminfo(files, "HugePages_Free");
    const std::uint64_t wanted = (mib + kHugepageMib - 1) / kHugepageMib;
    const std::uint64_t allowed = meminfo(files, "MemAvailable") / 1024 / 2 / kHugepageMib;
    const std::uint64_t more = std::min(wanted > free_pages ? wanted - free_pages : 0, allowed);
    if (more == 0) {
        return static_cast<std::uint32_t>(free_pages) * kHugepageMib;
    }
    UndoAction note{.kind = Kind::kHugepages,
                    .name = "vm.nr_hugepages",
                    .value = to_string(*before),
                    .set = at_most(before->pages + more)};
    // The kernel gives what it can find in one piece: fewer is no error, and the read-back says how
    // many.
    TRY(change({note}, [&] {
        return write_file(files.proc + "/sys/vm/nr_hugepages",
                          fmt::format("{}\n", before->pages + more), O_TRUNC);
    }));
    const auto now = TRY(read_hugepages(files));
    note.set = std::to_string(now.pages);
    TRY(impl_->note({note}));
    return static_cast<std::uint32_t>(now.pages - before->pages + free_pages) * kHugepageMib;
}

Status Journal::change_features(const std::string& netns, const std::string& device,
                                const std::vector<std::pair<std::string, bool>>& wanted,
                                const std::function<Status()>& make) {
    const std::lock_guard lock(impl_->mutex);
    const FeatureNotes notes = TRY(process::in_netns(
        netns, [&] { return notes_of_features(netns, device, wanted, impl_->content.actions); }));
    TRY(change(notes.before, make));
    return notes.after.empty() ? Status() : impl_->note(notes.after);
}

Status Journal::set_features(const std::string& netns, const std::string& device,
                             const std::vector<std::pair<std::string, bool>>& wanted) {
    return change_features(netns, device, wanted, [&]() -> Status {
        TRY(process::in_netns(netns, [&] { return agent::change_features(device, wanted); }));
        return {};
    });
}

Status Journal::open_ports(const std::string& netns, const std::vector<std::string>& interfaces,
                           const std::function<Status()>& open) {
    const std::lock_guard lock(impl_->mutex);
    std::vector<UndoAction> notes;
    for (const std::string& interface : interfaces) {
        auto note = TRY(note_before_port(netns, interface, live_actions(impl_->directory)));
        notes.push_back(std::move(note));
    }
    TRY(change(notes, open));
    // From here on no other program is taken for ours.
    for (const UndoAction& before : notes) {
        const auto loaded = TRY(note_of_program(before));
        TRY(impl_->append(done_line(before) + (loaded ? action_line(*loaded) : "")));
    }
    return {};
}

Status Journal::change_ip(const std::string& netns, const std::string& device,
                          const std::string& change_command, const std::string& undo) {
    const std::lock_guard lock(impl_->mutex);
    UndoAction note{.kind = Kind::kIp, .name = undo, .netns = netns, .device = device};
    note.place = TRY(process::in_netns(netns, [&] { return place_of(device); }));
    if (std::ranges::any_of(impl_->content.actions,
                            [&](const UndoAction& known) { return known.same_thing(note); })) {
        return fail(ErrorCode::kBadInput, "'ip {}' is noted already, to be undone by 'ip {}'",
                    change_command, undo);
    }
    const Status changed = change({note}, [&] {
        return process::in_netns(netns, [&] { return run_ip(change_command + "\n"); });
    });
    if (changed || !is_open()) {
        return changed;  // a command that was stopped may have changed it
    }
    // The command failed and changed nothing: what its undo would take away was there before.
    TRY(impl_->append(done_line(note)));
    return changed;
}

Status Journal::undo_ip(const std::string& undo) {
    const std::lock_guard lock(impl_->mutex);
    const UndoAction* noted = impl_->noted(Kind::kIp, undo);
    return noted == nullptr ? Status() : impl_->undo_now(UndoAction(*noted));
}

Status Journal::keep(const std::string& what) {
    const std::lock_guard lock(impl_->mutex);
    TRY(impl_->append(kept_line(what)));
    impl_->state = Impl::State::kKept;
    impl_->let_go();
    return {};
}

Status Journal::abandon() {
    const std::lock_guard lock(impl_->mutex);
    TRY(impl_->may_change());
    unlink(impl_->path().c_str());
    impl_->state = Impl::State::kUndone;
    impl_->let_go();
    return {};
}

bool Journal::is_open() const {
    return impl_->may_change().has_value();
}

void Journal::seal() {
    impl_->sealed_by = std::this_thread::get_id();
    impl_->sealed = true;
}

Status Journal::undo() {
    impl_->leave_to_the_end();  // who sealed it ends first what still uses the machine
    {
        const std::lock_guard lock(impl_->mutex);
        if (impl_->state == Impl::State::kOpen && impl_->file) {
            impl_->undo_all();
        } else if (impl_->state == Impl::State::kKept && impl_->sealed) {
            impl_->state = Impl::State::kUndone;
            const auto down = take_down(run_id(), {impl_->directory, impl_->files.proc});
            impl_->outcome = down ? Status() : pass_on(down.error());
        }
    }
    impl_->leave_to_the_end();
    return impl_->outcome;
}

const std::vector<std::string>& Journal::left_alone() const {
    return impl_->left_alone;
}

std::string Journal::machine() const {
    const std::lock_guard lock(impl_->mutex);
    if (!impl_->outcome) {
        return impl_->outcome.error().message;
    }
    return impl_->left_alone.empty()
               ? "the machine is as it was found"
               : fmt::format("the machine is as it was found, but for what others changed: {}",
                             fmt::join(impl_->left_alone, "; "));
}

}  // namespace pathproof::lab
