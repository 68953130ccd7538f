// `git bisect run` over Debian's kernels, in a history that is made for the test. No cell was found that
// differs between them, so the failure is planted: from one commit on the guest has another NIC, whose
// emulation gets frames wrong. (A cell is asked for: all of these kernels have a defect of their own tunnels.)
// Downloads kernels that are not in the cache.
//
// PATHPROOF is the binary under test.
#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>

#include "harness/guest/kernel.h"
#include "harness/process/program.h"
#include "tests/lab/support.h"
#include "tests/lab/temp_folder.h"

using namespace pathproof;
using lab::contains;

namespace {

constexpr std::chrono::minutes kPatience{25};

process::ProgramOutput run(const std::vector<std::string>& argv) {
    const auto ran = process::run_program(argv, {.timeout = kPatience});
    BOOST_REQUIRE_MESSAGE(ran, (ran ? "" : ran.error().message));
    BOOST_TEST_MESSAGE(ran->out << ran->err);
    return *ran;
}

}  // namespace

// The cloud kernel in the middle has no driver of the NIC: git is told to skip it, and goes round.
BOOST_AUTO_TEST_CASE(git_finds_the_commit_from_which_on_frames_are_wrong) {
    const lab::TempFolder folder;
    const std::vector<std::string> commits = {
        "virtio-net linux-image-6.12-amd64",   "virtio-net linux-image-6.12-rt-amd64",
        "e1000e linux-image-6.12-cloud-amd64", "virtio-net linux-image-amd64",
        "e1000e linux-image-amd64 # planted",  "e1000e linux-image-6.12-amd64 # planted"};
    std::string script = "set -e; cd '" + folder.path() +
                         "'; git init -q .; git config user.name t; git config user.email t@t\n";
    for (std::size_t i = 0; i < commits.size(); ++i) {
        script +=
            fmt::format("echo '{0}' >guest; git add guest; git commit -qm '{0}'; git tag c{1}\n",
                        commits[i], i);
    }
    script += fmt::format(
        "git bisect start c{0} c0 --\ngit bisect run sh -c 'read nic kernel why <guest; \"{1}\" "
        "qualify --lab qemu --no-hugepages --nic $nic --kernel $kernel --bisect "
        "offload-truth/$nic.tx.as-found >>log 2>&1; code=$?; echo \"$nic $kernel $code\" >>codes; "
        "exit $code'\n"
        "cat codes; git show -s --format='first %s' refs/bisect/bad\n",
        commits.size() - 1, lab::binary_path());
    const auto bisected = run({"bash", "-c", script});
    BOOST_TEST_CONTEXT(bisected.out << bisected.err) {
        BOOST_TEST(bisected.exit_status == 0);
        BOOST_TEST(contains(bisected.out, "first " + commits[4]));
        BOOST_TEST(contains(bisected.out, "e1000e linux-image-6.12-cloud-amd64 125"));
        BOOST_TEST(contains(bisected.out, "virtio-net linux-image-amd64 0"));
        BOOST_TEST(contains(bisected.out, "e1000e linux-image-amd64 1"));
    }
}

// Runs in the lab qemu: with a kernel that lacks the NIC's driver, and with a copy of its module.
BOOST_AUTO_TEST_CASE(a_kernel_without_the_driver_is_skipped_and_a_copy_of_its_module_is_judged) {
    const auto on = [](std::vector<std::string> more) {
        std::vector<std::string> argv = {lab::binary_path(), "qualify", "--lab", "qemu",
                                         "--no-hugepages",   "--nic",   "e1000e"};
        argv.insert(argv.end(), more.begin(), more.end());
        return run(argv);
    };
    const auto cloud =
        on({"--kernel", "linux-image-6.12-cloud-amd64", "--bisect", "offload-truth"});
    BOOST_TEST(cloud.exit_status == 125);
    BOOST_TEST(contains(cloud.out + cloud.err, "has no driver e1000e"), cloud.out + cloud.err);
    const auto kernel = guest::find_kernel("linux-image-amd64", "");
    BOOST_REQUIRE_MESSAGE(kernel, (kernel ? "" : kernel.error().message));
    const lab::TempFolder folder;
    std::string found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(kernel->modules)) {
        found = entry.path().filename().string().starts_with("e1000e.ko") ? entry.path().string()
                                                                          : found;
    }
    BOOST_REQUIRE(!found.empty());
    const std::string copy = folder.path() + "/" + std::filesystem::path(found).filename().string();
    std::filesystem::copy_file(found, copy);
    const auto judged = on({"--kernel", "linux-image-amd64", "--module", copy, "--bisect",
                            "offload-truth/e1000e.rx.as-found"});
    BOOST_TEST((judged.exit_status == 0 || judged.exit_status == 1), judged.out + judged.err);
    // A file that the kernel does not take says nothing of the driver.
    std::ofstream(folder.path() + "/e1000e.ko") << "\177ELF, and no module";
    const auto refused = on({"--kernel", "linux-image-amd64", "--module",
                             folder.path() + "/e1000e.ko", "--bisect", "offload-truth"});
    BOOST_TEST(refused.exit_status == 125);
    BOOST_TEST(contains(refused.out, "does not take the module"), refused.out + refused.err);
}
