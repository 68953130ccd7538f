// pathproof guest: any other command, inside a guest that runs another kernel.
#include "harness/guest/guest.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <thread>

#include "harness/cli/arguments.h"
#include "harness/cli/commands.h"
#include "harness/guest/program.h"
#include "harness/process/typed_command.h"
#include "harness/verdict/bisect.h"

namespace pathproof::cli {
namespace {

namespace fs = std::filesystem;

// Enough for the tester, the DUT and who watches both.
constexpr unsigned kMostCpus = 4;

struct GuestOptions {
    std::string kernel;
    std::string modules;
    std::vector<std::string> writable;
    unsigned cpus = std::clamp(std::thread::hardware_concurrency(), 1u, kMostCpus);
    unsigned memory_mib = 2048;
    bool kvm = false;
};

// The words behind the guest's own options, read as they will be in the guest: what is wrong with them
// is said before anything boots. Its --out, if it has one.
struct Inner {
    std::optional<int> ended;
    std::string out;
    bool bisects = false;  // a guest that does not come up says nothing of what is bisected
};

Inner read_inner(const std::vector<std::string>& words) {
    CLI::App app{"pathproof"};
    Command unused;
    add_commands(app, unused);
    std::vector<const char*> argv = {"pathproof"};
    for (const std::string& word : words) {
        argv.push_back(word.c_str());
    }
    Inner inner{.ended = read_arguments(app, static_cast<int>(argv.size()), argv.data()),
                .out = "",
                .bisects = false};
    for (const CLI::App* at = &app; !inner.ended && !at->get_subcommands().empty();) {
        at = at->get_subcommands().front();
        const CLI::Option* out = at->get_option_no_throw("--out");
        inner.out = out != nullptr && out->count() == 1 ? out->results().front() : inner.out;
        const CLI::Option* bisect = at->get_option_no_throw("--bisect");
        inner.bisects = inner.bisects || (bisect != nullptr && bisect->count() != 0);
    }
    return inner;
}

Result<std::string> folder_of(const std::string& path) {
    std::error_code wrong;
    const std::string folder = fs::canonical(path, wrong);
    if (wrong || !fs::is_directory(folder)) {
        return fail(ErrorCode::kBadInput, "{}: {}", path, wrong ? wrong.message() : "no folder");
    }
    for (const char* own : {"/proc", "/sys", "/dev", "/run"}) {
        if (folder == "/" || folder == own || folder.starts_with(std::string(own) + "/")) {
            return fail(ErrorCode::kBadInput,
                        "{}: the guest has a {} of its own; write to another folder", path,
                        folder == "/" ? "/" : own);
        }
    }
    return folder;
}

Result<int> boot(const GuestOptions& options, const std::vector<std::string>& words,
                 const std::string& out) {
    guest::ProgramPlan plan{
        .words = words, .cpus = options.cpus, .memory_mib = options.memory_mib, .kvm = options.kvm};
    std::vector<std::string> writable = options.writable;
    if (!out.empty()) {
        writable.push_back(fs::absolute(out).parent_path());
    }
    for (const std::string& path : writable) {
        auto folder = TRY(folder_of(path));
        plan.writable.push_back(std::move(folder));
    }
    TRY(guest::check_qemu());
    plan.kernel = TRY(guest::find_kernel(options.kernel, options.modules));
    std::vector<std::string> typed = {"guest"};
    for (const auto& [name, value] :
         {std::pair{"--kernel", options.kernel}, {"--modules", options.modules}}) {
        if (!value.empty()) {
            typed.insert(typed.end(), {name, value});
        }
    }
    plan.typed = process::shell_words(typed);
    fmt::print(stderr, "pathproof: in a guest of QEMU ({}): {} ({}), {} CPUs, {} MiB\n",
               plan.kvm ? "KVM" : "TCG", plan.kernel.release, plan.kernel.origin, plan.cpus,
               plan.memory_mib);
    return guest::run_in_guest(plan);
}

Result<int> run_guest(const GuestOptions& options, const std::vector<std::string>& words) {
    const Inner inner = read_inner(words);
    if (inner.ended) {
        return *inner.ended;
    }
    const auto ended = boot(options, words, inner.out);
    if (!ended && inner.bisects) {
        complain(ended.error());
        return verdict::kBisectSkip;
    }
    return ended;
}

}  // namespace

void add_guest(CLI::App& app, Command& chosen) {
    auto options = std::make_shared<GuestOptions>();
    CLI::App* command = app.add_subcommand(
        "guest", "Run another command inside a guest of QEMU, on another kernel (no root needed)");
    command->footer(
        "COMMAND is any command of pathproof: pathproof guest --kernel bzImage --modules DIR repro "
        "stale-udp --out r. The guest has this machine's files, read-only; what is written stays "
        "in "
        "its memory, but for the folder that --out is in and those of --write. Exit status: the "
        "command's own; 3 where the guest did not come up or went away.");
    command->add_option(
        "--kernel", options->kernel,
        "the guest's kernel: a bzImage, or a package of Debian's (linux-image-6.12-amd64); "
        "default: this host's own, else Debian's");
    command->add_option("--modules", options->modules, "the folder with the modules of --kernel");
    command
        ->add_option("--write", options->writable, "a folder that stays writable (again for more)")
        ->allow_extra_args(false);
    command->add_option("--cpus", options->cpus, "CPUs of the guest")
        ->check(CLI::Range(1, 64))
        ->capture_default_str();
    command->add_option("--memory", options->memory_mib, "its memory, MiB")
        ->check(CLI::Range(512, 262144))
        ->capture_default_str();
    command->add_flag("--kvm", options->kvm,
                      "run it by KVM, which is far faster (default: emulated, TCG)");
    command->prefix_command();
    command->callback([options, command, &chosen] {
        chosen = [options, words = command->remaining()] { return run_guest(*options, words); };
    });
}

}  // namespace pathproof::cli
