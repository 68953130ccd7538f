#define BOOST_TEST_MODULE fingerprint
#include <sys/stat.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "harness/fingerprint/host.h"
#include "harness/fingerprint/nic.h"
#include "harness/fingerprint/optics.h"
#include "harness/fingerprint/serials.h"

using namespace pathproof::fingerprint;
using pathproof::verdict::Fact;
using pathproof::verdict::FactGroup;
namespace fs = std::filesystem;

namespace {

// A small machine of files.
struct Machine {
    std::string root = fs::temp_directory_path() / "pp-machine-XXXXXX";
    Machine() {
        BOOST_REQUIRE(mkdtemp(root.data()) != nullptr);
        chmod(root.c_str(), 0755);
    }
    ~Machine() { fs::remove_all(root); }
    void put(const std::string& path, const std::string& text) const {
        fs::create_directories(fs::path(root + path).parent_path());
        std::ofstream(root + path) << text;
    }
};

Fact find(const std::vector<FactGroup>& groups, const std::string& name) {
    for (const FactGroup& group : groups) {
        for (const Fact& fact : group.facts) {
            if (fact.name == name) {
                return fact;
            }
        }
    }
    BOOST_FAIL("no fact named " << name);
    return {};
}

}  // namespace

BOOST_AUTO_TEST_CASE(facts_are_read_with_their_source) {
    const Machine machine;
    machine.put("/proc/sys/kernel/osrelease", "6.1.0-test\n");
    machine.put("/boot/config-6.1.0-test",
                "CONFIG_VXLAN=m\n# CONFIG_VETH is not set\nCONFIG_HZ=250\n");
    machine.put("/proc/sys/net/core/gro_normal_batch", "8\n");
    machine.put("/proc/cpuinfo", "processor\t: 0\nmodel name\t: Test CPU 9\n\nprocessor\t: 1\n");
    machine.put("/proc/meminfo", "MemTotal:  1024 kB\nHugePages_Total:       0\n");
    machine.put("/sys/devices/system/cpu/vulnerabilities/spectre_v2", "Mitigation: Retpolines\n");
    machine.put("/sys/devices/system/cpu/vulnerabilities/meltdown", "Not affected\n");
    machine.put("/sys/class/dmi/id/board_name", "X11\n");
    machine.put("/sys/class/dmi/id/board_serial", "S/N 4711\n");
    machine.put("/etc/os-release", "ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n");
    const auto groups = read_environment(
        {.pathproof_version = "0.1.0", .dpdk_version = "DPDK 22.11.8", .root = machine.root});
    BOOST_TEST(find(groups, "release").value == "6.1.0-test");
    BOOST_TEST(find(groups, "release").source == "/proc/sys/kernel/osrelease");
    BOOST_TEST(find(groups, "CONFIG_VXLAN").value == "m");
    BOOST_TEST(find(groups, "CONFIG_VXLAN").source == "/boot/config-6.1.0-test");
    BOOST_TEST(find(groups, "CONFIG_VETH").value == "not set");
    BOOST_TEST(find(groups, "net.core.gro_normal_batch").value == "8");
    BOOST_TEST(find(groups, "model").value == "Test CPU 9");
    BOOST_TEST(find(groups, "total").value == "1024 kB");
    BOOST_TEST(find(groups, "mitigation: spectre_v2").value == "Mitigation: Retpolines");
    BOOST_TEST(find(groups, "operating system").value == "Debian GNU/Linux 12 (bookworm)");
    BOOST_TEST(find(groups, "board").value == "X11");
    for (const FactGroup& group : groups) {
        for (const Fact& fact : group.facts) {
            BOOST_TEST(fact.value.find("4711") == std::string::npos, fact.name);
        }
    }
    const auto host = read_host(machine.root);
    BOOST_TEST(find(host, "board").value == "X11");
    BOOST_TEST(find(host, "model").value == "Test CPU 9");
    BOOST_TEST(find(groups, "DPDK").value == "DPDK 22.11.8");
    BOOST_TEST(find(groups, "pathproof").value == "0.1.0");
}

BOOST_AUTO_TEST_CASE(of_the_kernels_command_line_stands_what_bears_on_packets) {
    const Machine machine;
    machine.put("/proc/cmdline",
                "BOOT_IMAGE=/vmlinuz root=UUID=4711 iommu=pt secret=x isolcpus=2-3 quiet\n");
    const auto line = [&] { return find(read_host(machine.root), "command line").value; };
    BOOST_TEST(line() == "iommu=pt isolcpus=2-3 (4 parameters withheld; --serials shows all)");
    machine.put("/proc/cmdline", "mitigations=off\n");
    BOOST_TEST(line() == "mitigations=off");
    machine.put("/proc/cmdline", "quiet\n");
    BOOST_TEST(line() == "(1 parameter withheld; --serials shows all)");
    machine.put("/proc/cmdline", "\n");
    BOOST_TEST(line() == "(empty)");
    BOOST_TEST(read_serials({}, machine.root).back().name == "kernel command line");
}

BOOST_AUTO_TEST_CASE(what_is_not_there_is_absent_and_never_guessed) {
    const Machine machine;
    const auto groups = read_environment({.pathproof_version = "0.1.0", .root = machine.root});
    for (const char* name : {"release", "CONFIG_VXLAN", "net.core.gro_normal_batch", "model",
                             "total", "mitigations", "operating system", "DPDK"}) {
        const Fact fact = find(groups, name);
        BOOST_TEST((fact.status == Fact::Status::kAbsent), name);
        BOOST_TEST(fact.value.empty(), name);
        BOOST_TEST(!fact.source.empty(), name);
    }
}

BOOST_AUTO_TEST_CASE(what_may_not_be_read_is_denied) {
    const Machine machine;
    machine.put("/secret", "value");
    chmod((machine.root + "/secret").c_str(), 0);
    const bool root = geteuid() == 0;
    if (root) {
        BOOST_REQUIRE(seteuid(65534) == 0);
    }
    const Fact fact = file_fact("secret", "/secret", machine.root);
    if (root) {
        BOOST_REQUIRE(seteuid(0) == 0);
    }
    BOOST_TEST((fact.status == Fact::Status::kDenied));
    BOOST_TEST(fact.value.empty());
}

BOOST_AUTO_TEST_CASE(an_empty_file_was_read) {
    const Machine machine;
    machine.put("/empty", "\n");
    const Fact fact = file_fact("empty", "/empty", machine.root);
    BOOST_TEST((fact.status == Fact::Status::kRead));
    BOOST_TEST(fact.value == "(empty)");
}

BOOST_AUTO_TEST_CASE(this_machine_has_a_kernel_and_no_host_name_in_its_facts) {
    const auto groups = read_environment({.pathproof_version = "0.1.0"});
    BOOST_TEST((find(groups, "release").status == Fact::Status::kRead));
    for (const FactGroup& group : groups) {
        for (const Fact& fact : group.facts) {
            BOOST_TEST(fact.source.find("hostname") == std::string::npos);
            BOOST_TEST(fact.source.find("serial") == std::string::npos);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_device_tells_how_it_is_set_or_the_fact_is_absent) {
    for (const char* device : {"lo", "no-such-nic"}) {
        const auto facts = read_nic(device);
        std::set<std::string> names;
        for (const Fact& fact : facts) {
            BOOST_TEST(names.insert(fact.name).second, fact.name);
            BOOST_TEST(!fact.source.empty(), fact.name);
            BOOST_TEST(fact.value.empty() == (fact.status != Fact::Status::kRead), fact.name);
        }
        for (const char* name :
             {"rings", "channels", "interrupt coalescing", "pause frames", "receive side scaling",
              "plugged module", "time stamping", "forward error correction", "UDP tunnel ports",
              "CPUs of its interrupts"}) {
            BOOST_TEST(names.contains(name), name);
        }
        // The loopback device stamps by software; there is none of the other name.
        const Fact stamps = find({{"", facts}}, "time stamping");
        BOOST_TEST((stamps.status == Fact::Status::kRead) == (device == std::string("lo")),
                   stamps.value);
    }
}

BOOST_AUTO_TEST_CASE(a_plugged_module_is_named_without_its_serial_number) {
    std::vector<std::uint8_t> sfp(256, ' ');
    const auto put = [](std::vector<std::uint8_t>& at, std::size_t place, std::string_view text) {
        std::copy(text.begin(), text.end(), at.begin() + static_cast<std::ptrdiff_t>(place));
    };
    sfp[0] = 0x03;
    put(sfp, 20, "ACME");
    put(sfp, 40, "SFP-10G-SR");
    put(sfp, 56, "A");
    put(sfp, 68, "SERIAL4711");
    BOOST_TEST(module_text(sfp) == "SFP, ACME SFP-10G-SR rev A");
    BOOST_TEST(module_serial(sfp) == "SERIAL4711");
    std::vector<std::uint8_t> qsfp(256, ' ');
    qsfp[0] = 0x11;
    put(qsfp, 148, "ACME");
    put(qsfp, 168, "Q28-SR4");
    put(qsfp, 184, "1B");
    put(qsfp, 196, "SERIAL4711");
    BOOST_TEST(module_text(qsfp) == "QSFP28, ACME Q28-SR4 rev 1B");
    BOOST_TEST(module_serial(qsfp) == "SERIAL4711");
    // These modules have no text: too short, of no known kind, none at all.
    qsfp.resize(128);
    BOOST_TEST(module_text(qsfp).empty());
    sfp[0] = 0xff;
    BOOST_TEST(module_text(sfp).empty());
    BOOST_TEST(module_text({}).empty());
}

namespace {

std::string vpd_of(const std::string& fields) {
    const auto length = static_cast<char>(fields.size());
    return std::string("\x82\x04\x00NIC9\x90", 8) + length + std::string(1, '\0') + fields + "\x78";
}

std::string config_of(std::size_t bytes) {
    std::string config(bytes, '\0');
    const auto put = [&](std::size_t at, const std::string& what) {
        if (at + what.size() <= config.size()) {
            config.replace(at, what.size(), what);
        }
    };
    put(0x100, std::string("\x01\x00\x01\x14", 4));  // advanced error reporting, the next at 0x140
    put(0x140, std::string("\x03\x00\x01\x00\x55\x44\x33\xff\xff\x22\x11\x00", 12));
    return config;
}

std::span<const std::uint8_t> bytes_of(const std::string& text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace

BOOST_AUTO_TEST_CASE(serial_numbers_are_read_where_they_are_asked_for) {
    const Machine machine;
    machine.put("/sys/class/dmi/id/product_serial", "BOX4711\n");
    machine.put("/sys/class/dmi/id/board_serial", "\n");
    const std::string port = "/sys/bus/pci/devices/0000:3b:00.0";
    machine.put(port + "/vpd", vpd_of("PN\x04P123SN\x0cSERIAL-4711 "));
    machine.put(port + "/config", config_of(4096));
    machine.put("/sys/class/net/nic7/device/config", config_of(64));
    const std::vector<FactGroup> all{{"", read_serials({"0000:3b:00.0", "nic7"}, machine.root)}};
    BOOST_TEST(find(all, "system serial number").value == "BOX4711");
    BOOST_TEST(find(all, "board serial number").value == "(empty)");
    BOOST_TEST((find(all, "chassis serial number").status == Fact::Status::kAbsent));
    BOOST_TEST(find(all, "0000:3b:00.0: serial number (VPD)").value == "SERIAL-4711");
    BOOST_TEST(find(all, "0000:3b:00.0: PCIe device serial number").value ==
               "00-11-22-ff-ff-33-44-55");
    BOOST_TEST((find(all, "nic7: serial number (VPD)").status == Fact::Status::kAbsent));
    // The kernel shows the first 64 bytes to anyone, and no more.
    BOOST_TEST((find(all, "nic7: PCIe device serial number").status == Fact::Status::kDenied));
    BOOST_TEST(
        (find(all, "nic7: serial number of the plugged module").status == Fact::Status::kAbsent));
}

BOOST_AUTO_TEST_CASE(what_is_no_serial_number_is_none) {
    for (const std::string& vpd : {std::string(), std::string("\x90\xff", 2), vpd_of("PN\x04P123"),
                                   vpd_of("SN\x7fshort"), std::string(64, '\xff')}) {
        BOOST_TEST(vpd_serial(bytes_of(vpd)).empty());
    }
    BOOST_TEST(device_serial_number(bytes_of(config_of(256))).empty());
    BOOST_TEST(device_serial_number(bytes_of(config_of(0x14b))).empty());
    // A capability that points at itself.
    std::string circle = config_of(4096);
    circle.replace(0x100, 4, std::string("\x01\x00\x01\x10", 4));
    BOOST_TEST(device_serial_number(bytes_of(circle)).empty());
}
