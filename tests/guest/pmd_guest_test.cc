// DPDK's own drivers on PCI: in a guest with an IOMMU, NICs that are cabled in pairs are taken from
// their kernel drivers, carry traffic port to port, and are given back as they were.
//
// PATHPROOF is the binary under test.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "dataplane/base/file.h"
#include "harness/guest/cpio.h"
#include "harness/guest/guest.h"
#include "harness/guest/kernel.h"
#include "harness/guest/modules.h"
#include "harness/process/program.h"
#include "tests/lab/support.h"

using namespace pathproof;
using namespace pathproof::guest;
using lab::contains;
using nlohmann::json;

namespace {

struct Pmd {
    const char* device;  // of QEMU
    const char* module;
    const char* driver;   // of the kernel
    const char* library;  // of DPDK, without librte_net_
    const char* pmd;
};
constexpr std::array kPmds{
    Pmd{"e1000e", "e1000e", "e1000e", "e1000", "net_e1000_em"},
    Pmd{"vmxnet3", "vmxnet3", "vmxnet3", "vmxnet3", "net_vmxnet3"},
    Pmd{"virtio-net-pci", "virtio_net", "virtio-pci", "virtio", "net_virtio"},
};

// Two NICs of each, at 0000:00:0X.0 and X + 1, and the script that is run in the guest.
struct PmdPlan {
    std::vector<Pmd> pmds;
    std::string script;
    // Its CPU is not taken away for other work of this machine.
    bool is_preferred = false;
};

std::string slot_of(std::size_t pmd, int end) {
    return fmt::format("{:02x}", 4 + 2 * pmd + static_cast<std::size_t>(end));
}

std::string address_of(std::size_t pmd, int end) {
    return "0000:00:" + slot_of(pmd, end) + ".0";
}

void add_file(CpioWriter& image, const std::string& path, const std::string& as) {
    const auto bytes = read_file(path);
    BOOST_REQUIRE_MESSAGE(bytes, path);
    image.file(as, *bytes, 0755);
}

// A program or plug-in with its libraries, as the loader finds them.
void add_with_libraries(CpioWriter& image, const std::string& path, const std::string& as) {
    add_file(image, path, as);
    std::istringstream words(lab::shell("", "ldd " + path));
    for (std::string word; words >> word;) {
        if (word.starts_with('/')) {
            add_file(image, word, word);
        }
    }
}

std::string plugin_folder() {
    std::string folder = lab::shell("", "ls -d /usr/lib/x86_64-linux-gnu/dpdk/pmds-*");
    folder.erase(folder.find('\n'));
    return folder;
}

// The modules in their order; those that this kernel has in itself are not missing.
void add_modules(CpioWriter& image, const Kernel& kernel, const PmdPlan& plan) {
    const auto index = ModuleIndex::read(kernel.modules);
    BOOST_REQUIRE(index);
    std::vector<std::string> names = {"irqbypass",   "vfio",          "vfio_iommu_type1",
                                      "vfio_virqfd", "vfio-pci-core", "vfio-pci",
                                      "af_packet",   "virtio_pci"};
    for (const Pmd& pmd : plan.pmds) {
        names.emplace_back(pmd.module);
    }
    std::vector<std::string> paths;
    for (const std::string& name : names) {
        const auto files = index->files_of(name);
        for (const std::string& file : files.value_or(std::vector<std::string>())) {
            const std::string path = "/modules/" + module_name(file) + ".ko";
            if (std::ranges::find(paths, path) == paths.end()) {
                image.file(path, *read_module(kernel.modules + "/" + file));
                paths.push_back(path);
            }
        }
    }
    std::string list;
    for (const std::string& path : paths) {
        list += "insmod " + path + "\n";
    }
    image.file("/modules/load", list, 0755);
}

std::string image_of(const Kernel& kernel, const PmdPlan& plan) {
    CpioWriter image;
    for (const char* folder : {"/proc", "/sys", "/dev", "/run", "/tmp", "/var", "/root"}) {
        image.folder(folder);
    }
    image.link("/var/run", "/run");
    image.character_device("/dev/console", 5, 1);
    add_file(image, "/bin/busybox", "/bin/busybox");
    // Busybox's own shell takes its own ip(8) for that of the path.
    add_with_libraries(image, "/bin/dash", "/usr/bin/dash");
    const std::filesystem::path profiles = lab::variable("NICPROFILES", "nicprofiles");
    for (const auto& entry : std::filesystem::recursive_directory_iterator(profiles)) {
        if (entry.is_regular_file()) {
            add_file(image, entry.path(),
                     "/profiles/" + entry.path().lexically_relative(profiles).string());
        }
    }
    add_with_libraries(image, lab::binary_path(), "/usr/bin/pathproof");
    for (const char* program : {"/sbin/ip", "/usr/bin/ss"}) {
        add_with_libraries(
            image, program,
            "/usr/sbin/" + std::string(program).substr(std::string(program).rfind('/') + 1));
    }
    std::vector<std::string> plugins = {"librte_bus_pci", "librte_bus_vdev", "librte_mempool_ring"};
    for (const Pmd& pmd : plan.pmds) {
        plugins.push_back(std::string("librte_net_") + pmd.library);
    }
    const std::string folder = plugin_folder();
    for (const std::string& plugin : plugins) {
        // One file for both names, as on a host: DPDK does not bear a library twice.
        std::string real = lab::shell("", "readlink -f " + folder + "/" + plugin + ".so");
        real.erase(real.find('\n'));
        const std::string name = std::filesystem::path(real).stem();
        add_with_libraries(image, real, "/lib/x86_64-linux-gnu/" + name);
        image.link(folder + "/" + plugin + ".so", "/lib/x86_64-linux-gnu/" + name);
    }
    add_modules(image, kernel, plan);
    image.file("/init",
               "#!/bin/busybox sh\n"
               "/bin/busybox --install -s /bin; rm /bin/ip; ln -sf /usr/bin/dash /bin/sh\n"
               "chmod 755 /; mount -t devtmpfs dev /dev; mount -t proc proc /proc; mount -t sysfs "
               "sys /sys\n"
               "mount -t tmpfs run /run; mount -t tmpfs tmp /tmp\n"
               "export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root PATHPROOF_PROFILES=/profiles\n"
               "sh /modules/load\n"
               "/usr/sbin/ip link set lo up\n"
               "/bin/sh /script 2>&1\n"
               "echo END; poweroff -f\n",
               0755);
    image.file("/script", plan.script);
    return image.finish();
}

class MemoryFile {
  public:
    explicit MemoryFile(const std::string& content) : file_(memfd_create("initramfs", 0)) {
        BOOST_REQUIRE(write(file_.get(), content.data(), content.size()) ==
                      static_cast<ssize_t>(content.size()));
    }
    std::string path() const { return fmt::format("/proc/{}/fd/{}", getpid(), file_.get()); }

  private:
    Fd file_;
};

// Runs the plan in a guest and returns what the guest printed.
std::string run(const PmdPlan& plan, std::chrono::seconds patience) {
    const auto kernel = find_kernel("", "");
    BOOST_REQUIRE_MESSAGE(kernel, (kernel ? "" : kernel.error().message));
    const MemoryFile image(image_of(*kernel, plan));
    std::vector<std::string> command = {
        kQemu, "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-accel",
        "tcg,thread=multi", "-machine", "q35,kernel-irqchip=split", "-cpu", "max,la57=off", "-smp",
        "2", "-m", "1024", "-device", "intel-iommu,intremap=on,caching-mode=on", "-kernel",
        kernel->image, "-initrd", image.path(), "-append",
        // The second CPU is the tester's lcore and nothing else's.
        "console=ttyS0 panic=-1 net.ifnames=0 mitigations=off no_timer_check quiet intel_iommu=on "
        "isolcpus=1",
        "-serial", "stdio"};
    for (std::size_t i = 0; i < plan.pmds.size(); ++i) {
        for (const int end : {0, 1}) {
            const std::string id = fmt::format("n{}{}", i, end);
            const bool is_virtio = std::string(plan.pmds[i].library) == "virtio";
            command.insert(
                command.end(),
                {"-netdev", fmt::format("hubport,id={},hubid={}", id, i), "-device",
                 fmt::format("{},netdev={},romfile=,addr={},mac=02:70:70:00:{:02x}:0{}{}",
                             plan.pmds[i].device, id, slot_of(i, end), i, end + 1,
                             is_virtio ? ",iommu_platform=on,disable-legacy=on" : "")});
        }
    }
    if (plan.is_preferred) {
        command.insert(command.begin(), {"nice", "-n", "-10"});
    }
    const auto ran = process::run_program(command, {.timeout = patience});
    BOOST_REQUIRE_MESSAGE(ran, (ran ? "" : ran.error().message));
    std::string said = ran->out;
    std::erase(said, '\r');
    BOOST_TEST_MESSAGE(said);
    BOOST_TEST(contains(said, "END\n"), ran->err);
    return said;
}

// Returns the text between the lines "<NAME" and "NAME>".
std::string part(const std::string& said, const std::string& name) {
    const std::size_t begin = said.find("<" + name + "\n");
    const std::size_t end = said.find(name + ">\n", begin);
    BOOST_REQUIRE_MESSAGE(begin != std::string::npos && end != std::string::npos, name);
    return said.substr(begin + name.size() + 2, end - begin - name.size() - 2);
}

std::string marked(const std::string& name, const std::string& commands) {
    return fmt::format("echo '<{0}'\n{1}\necho '{0}>'\n", name, commands);
}

std::string settings_of_interfaces() {
    return "for d in /sys/class/net/eth*; do d=${d##*/}; "
           "echo \"$d $(cat /sys/class/net/$d/mtu) $(cat /sys/class/net/$d/flags) "
           "$(basename $(readlink /sys/class/net/$d/device/driver))\"; done; "
           "ip -o address show | grep -v ' lo ' | grep -v fe80 | awk '{print $2, $4}'; "
           "ip route show | sed 's/ *linkdown//; s/ *$//'";
}

// "02:70:70:00:PP:0E"
std::string mac_of(std::size_t pmd, int end) {
    return fmt::format("02:70:70:00:{:02x}:0{}", pmd, end + 1);
}

std::string generate(std::size_t from, int end, std::size_t to, int far, const std::string& more) {
    return fmt::format(
        "pathproof generate {} --receive {} --destination 203.0.113.2 --destination-mac {} "
        "--expect frames --drain 2 --json {} 2>&1 | tail -n 1",
        address_of(from, end), address_of(to, far), mac_of(to, far), more);
}

// Percent of the last five minutes in which a task waited for a CPU (Documentation/accounting/psi.rst of
// the kernel); 0 where the kernel does not say.
constexpr double kBusyPercent = 80;
double cpu_pressure() {
    const std::string said = read_file("/proc/pressure/cpu").value_or("");
    const std::size_t at = said.find("avg300=");
    return at == std::string::npos ? 0 : std::strtod(said.c_str() + at + 7, nullptr);
}

// Returns the results that stand between the kernel's messages on the console: one at least.
std::vector<json> results_in(const std::string& text) {
    std::vector<json> results;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with('{')) {
            results.push_back(json::parse(line, nullptr, false));
            BOOST_REQUIRE_MESSAGE(results.back().is_object(), text);
        }
    }
    BOOST_REQUIRE_MESSAGE(!results.empty(), text);
    return results;
}

json result_in(const std::string& text) {
    return results_in(text).front();
}

// All came back right. What may be objected to is that the machine took the emulated CPUs away for a
// while; the clock was held against one that is not made from the CPU's counter.
void check_all_came(const json& result, std::uint64_t frames) {
    const std::string verdict = result["verdict"];
    BOOST_TEST(contains(verdict, fmt::format("{0} of {0}", frames)), verdict);
    BOOST_TEST(contains(verdict, "0 missing, 0 with a wrong checksum"), verdict);
    BOOST_TEST(result["answers"]["answered"] == frames);
    for (const char* none : {"none", "wrong", "damaged", "further", "late"}) {
        BOOST_TEST(result["answers"][none] == 0, none);
    }
    for (const std::string objection : result["objections"]) {
        BOOST_TEST((contains(objection, "CPU, ") || contains(objection, "stood still") ||
                    contains(objection, "rate was not reached")),
                   objection);
    }
    BOOST_TEST(result.contains("clock_proof"));
    BOOST_TEST(contains(result.value("clock_proof", ""), "off CLOCK_MONOTONIC (hpet)"));
}

// A closed loop: no rate is missed where an emulated CPU stands still. With so many frames that the 20 ms
// that a new lcore waits for its CPU are less than 1 %. Up to six times, for a busy machine.
std::string until_complete(std::size_t pmd, const std::string& more) {
    return fmt::format(
        "for i in 1 2 3 4 5 6; do\n{} >/tmp/said\ncat /tmp/said\ngrep -q COMPLETE: /tmp/said && "
        "break\ndone",
        generate(pmd, 0, pmd, 1, "--cpu 1 " + more));
}

}  // namespace

BOOST_AUTO_TEST_CASE(poll_mode_drivers_carry_traffic_and_the_nics_go_back_as_they_were) {
    PmdPlan plan{.pmds = {kPmds.begin(), kPmds.end()}, .script = "", .is_preferred = true};
    std::string devices;
    for (std::size_t i = 0; i < plan.pmds.size(); ++i) {
        devices += " " + address_of(i, 0) + " " + address_of(i, 1);
    }
    const std::string bind = "pathproof lab bind --hugepages 300" + devices;
    plan.script =
        "ip link set eth0 up; ip address add 198.18.0.1/24 dev eth0\n"
        "ip address add 2001:db8::1/64 dev eth0 nodad; ip link set eth2 mtu 1400\n"
        "ip route add 203.0.113.0/24 via 198.18.0.9\n";
    plan.script += marked("before", settings_of_interfaces());
    // Killed when the first is bound, when the fourth has no driver, and when the last is bound.
    std::string kills;
    for (const auto& [device, moment] : {std::pair{address_of(0, 0), "= vfio-pci"},
                                         {address_of(1, 1), "= none"},
                                         {address_of(2, 1), "= vfio-pci"}}) {
        kills += fmt::format(
            "{0} & p=$!; for i in $(seq 3000); do [ \"$(basename "
            "$(readlink /sys/bus/pci/devices/{1}/driver || echo none))\" {2} ] && break; "
            "sleep 0.01; done; kill -9 $p; wait $p; pathproof restore; pathproof lab down\n",
            bind, device, moment);
    }
    plan.script += marked("kills", kills);
    plan.script += marked("killed", settings_of_interfaces());
    plan.script += marked("bind", bind + "; echo exit $?");
    for (std::size_t i = 0; i < plan.pmds.size(); ++i) {
        plan.script += marked(fmt::format("generate{}", i),
                              until_complete(i, "--count 400000 --outstanding 4"));
    }
    // Through a wire between the ends of two pairs.
    plan.script +=
        marked("wire",
               fmt::format(
                   "pathproof wire {} {} --cpu 0 --duration 300 & w=$!; sleep 8\n{}\nkill $w; wait",
                   address_of(0, 1), address_of(1, 0),
                   generate(0, 0, 1, 1, "--count 5000 --rate 500 --cpu 1")));
    plan.script += marked(
        "respond",
        fmt::format("pathproof respond {} --rule address=192.0.2.1,address=2001:db8::1 --cpu 0 "
                    "--duration 300 & r=$!; sleep 8\n"
                    "pathproof generate {} --destination 203.0.113.2 --destination-mac {} --count "
                    "5000 --rate 500 --cpu 1 --json 2>&1 | tail -n 1\nkill $r; wait",
                    address_of(1, 1), address_of(1, 0), mac_of(1, 1)));
    plan.script += marked(
        "search", fmt::format("pathproof search throughput {} --receive {} --destination "
                              "203.0.113.2 --destination-mac {} --trial 1 --width 0.2 --max-load "
                              "4000 --cpu 1; echo exit $?",
                              address_of(0, 0), address_of(0, 1), mac_of(0, 1)));
    plan.script += marked("down", "pathproof lab down; echo exit $?");
    plan.script += marked("after", settings_of_interfaces());
    const std::string said = run(plan, std::chrono::seconds(1100));
    const std::string before = part(said, "before");
    BOOST_TEST(contains(before, "eth0 1500 0x1003 e1000e"), before);
    BOOST_TEST(contains(before, "203.0.113.0/24 via 198.18.0.9"), before);
    BOOST_TEST(part(said, "killed") == before, part(said, "kills"));
    for (const char* back : {"0000:00:04.0 back to e1000e as eth0, left by run",
                             "0000:00:07.0 back to vmxnet3 as eth3, left by run"}) {
        BOOST_TEST(contains(part(said, "kills"), back), part(said, "kills"));
    }
    BOOST_TEST(contains(part(said, "bind"), "exit 0"), part(said, "bind"));
    std::string verdicts;
    unsigned complete = 0;
    for (std::size_t i = 0; i < plan.pmds.size(); ++i) {
        BOOST_TEST_CONTEXT(plan.pmds[i].pmd) {
            const auto results = results_in(part(said, fmt::format("generate{}", i)));
            for (const json& result : results) {
                check_all_came(result, 400'000);
                BOOST_TEST(result["driver"] == plan.pmds[i].pmd);
            }
            const std::string last = results.back()["verdict"];
            verdicts += last + "\n";
            complete += last.starts_with("COMPLETE: 400000 of 400000 come back") ? 1 : 0;
        }
    }
    // A machine whose CPUs others use keeps emulated ones waiting, whatever the driver does.
    const double pressure = cpu_pressure();
    if (complete < 2 && pressure > kBusyPercent) {
        BOOST_TEST_MESSAGE("COMPLETE is not asked for: for " << pressure
                                                             << " % of five minutes tasks of this "
                                                                "machine waited for a CPU");
    } else {
        BOOST_TEST(complete >= 2u, verdicts);
    }
    check_all_came(result_in(part(said, "wire")), 5000);
    BOOST_TEST(contains(part(said, "wire"), "net_vmxnet3"), part(said, "wire"));
    check_all_came(result_in(part(said, "respond")), 5000);
    BOOST_TEST(contains(part(said, "search"), "trials in"), part(said, "search"));
    BOOST_TEST(contains(part(said, "down"), "exit 0"), part(said, "down"));
    BOOST_TEST(part(said, "after") == before);
}

// Each driver's claims are judged by the frames that its NIC's other end gets. Drivers and
// emulations have defects; virtio has none that is known.
BOOST_AUTO_TEST_CASE(the_offloads_of_poll_mode_drivers_are_judged_on_the_wire) {
    PmdPlan plan{.pmds = {kPmds.begin(), kPmds.end()}, .script = ""};
    std::string devices;
    for (std::size_t i = 0; i < plan.pmds.size(); ++i) {
        devices += " " + address_of(i, 0) + " " + address_of(i, 1);
    }
    plan.script = marked("bind", "pathproof lab bind --hugepages 300" + devices + "; echo exit $?");
    for (std::size_t i = 0; i < plan.pmds.size(); ++i) {
        plan.script +=
            marked(fmt::format("offload{}", i),
                   fmt::format("pathproof offload check --dpdk {} --far {} --quick 2>&1; "
                               "echo exit $?; dmesg | grep -A1 segfault",
                               address_of(i, 0), address_of(i, 1)));
    }
    plan.script += marked("down", "pathproof lab down; echo exit $?");
    const std::string said = run(plan, std::chrono::seconds(1100));
    BOOST_TEST(contains(part(said, "bind"), "exit 0"), part(said, "bind"));
    for (std::size_t i = 0; i < plan.pmds.size(); ++i) {
        BOOST_TEST_CONTEXT(plan.pmds[i].pmd) {
            const std::string judged = part(said, fmt::format("offload{}", i));
            BOOST_TEST(contains(judged, "frames judged: a defect"), judged);
            const bool is_virtio = std::string(plan.pmds[i].library) == "virtio";
            BOOST_TEST((contains(judged, "exit 0") || (!is_virtio && contains(judged, "exit 1"))),
                       judged);
            BOOST_TEST(!contains(judged, "segfault"), judged);
        }
    }
    BOOST_TEST(contains(part(said, "down"), "exit 0"), part(said, "down"));
}

// The shortest that shows it, on every run of the tests.
BOOST_AUTO_TEST_CASE(one_pair_of_nics_is_bound_carries_its_frames_and_goes_back) {
    PmdPlan plan{.pmds = {kPmds.front()}, .script = ""};
    plan.script =
        marked("before", settings_of_interfaces()) +
        marked("bind",
               "pathproof lab bind --hugepages 200 0000:00:04.0 0000:00:05.0; echo exit $?") +
        marked("generate", generate(0, 0, 0, 1, "--cpu 1 --count 80000 --outstanding 2")) +
        marked("down", "pathproof lab down; echo exit $?") +
        marked("after", settings_of_interfaces());
    const std::string said = run(plan, std::chrono::seconds(250));
    BOOST_TEST(contains(part(said, "bind"), "exit 0"), part(said, "bind"));
    const json result = result_in(part(said, "generate"));
    check_all_came(result, 80'000);
    BOOST_TEST(result["driver"] == "net_e1000_em");
    BOOST_TEST(contains(part(said, "down"), "exit 0"), part(said, "down"));
    BOOST_TEST(part(said, "after") == part(said, "before"));
}
