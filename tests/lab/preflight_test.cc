// Reports of a preflight about values, and the first lab file that it writes.
#include "harness/lab/preflight.h"

#include <boost/test/unit_test.hpp>
#include <filesystem>

#include "harness/lab/first_file.h"
#include "harness/lab/lcores.h"
#include "tests/lab/temp_folder.h"

BOOST_AUTO_TEST_SUITE(preflight)

using namespace pathproof;
using namespace pathproof::lab;
using Outcome = Check::Outcome;

namespace {

bool says(const std::string& text, const std::string& part) {
    BOOST_TEST(text.find(part) != std::string::npos, "'" << text << "' without '" << part << "'");
    return text.find(part) != std::string::npos;
}

LabFile two_cables() {
    return *parse_lab_file(
        "name = \"x\"\nmodules = [\"vfio-pci\"]\n[[tester.port]]\nname = \"a\"\npci = "
        "\"0000:00:03.0\"\n"
        "[[tester.port]]\nname = \"b\"\ndevice = \"tb\"\n[dut]\nnetns = \"dut\"\n"
        "[[dut.device]]\nname = \"d0\"\nport = \"a\"\n[[dut.device]]\nname = \"d1\"\nport = "
        "\"b\"\n",
        "x.toml");
}

const Check& check_of(const std::vector<Check>& checks, const std::string& what) {
    const auto found = std::ranges::find(checks, what, &Check::what);
    BOOST_REQUIRE_MESSAGE(found != checks.end(), what);
    return *found;
}

FoundDevice device(const std::string& name, const std::string& pci, bool linked) {
    return {.use = {.name = name, .pci = pci},
            .info = {.driver = "ice", .link_up = linked, .speed_mbps = linked ? 25'000 : -1}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_slower_link_than_device_and_slot_can_is_doubtful_and_says_what_limits_it) {
    const agent::PcieSpeed gen4{16, 8};
    const auto checked = [](agent::PcieLink link, std::int64_t mbps = -1) {
        return check_pcie("x", link, mbps);
    };
    Check check = checked({gen4, gen4, {16, 16}});
    BOOST_TEST((check.outcome == Outcome::kGood), check.found);
    check = checked({{8, 4}, gen4, {16, 16}});
    BOOST_TEST((check.outcome == Outcome::kDoubtful));
    says(check.found,
         "linked at 8 GT/s x4, and the device can 16 GT/s x8 and its slot 16 GT/s x16");
    check = checked({{8, 4}, gen4, {8, 4}});
    BOOST_TEST((check.outcome == Outcome::kDoubtful));
    says(check.found, "all that its slot can; the device can 16 GT/s x8");
    check = checked({{8, 8}, {8, 8}, {}}, 100'000);
    BOOST_TEST((check.outcome == Outcome::kDoubtful));
    says(check.found, "63 Gbit/s, less than the cable's 100");
    BOOST_TEST((checked({{8, 8}, {8, 8}, {}}, 25'000).outcome == Outcome::kGood));
    BOOST_TEST((agent::PcieSpeed{5, 8}.gbit_s() == 32));
}

BOOST_AUTO_TEST_CASE(links_are_read_from_the_folders_of_device_and_slot) {
    const TempFolder folder;
    const std::string slot = "sys/devices/pci0000:00/0000:00:01.0/";
    const std::string nic = slot + "0000:01:00.0/";
    folder.write(slot + "max_link_speed", "16.0 GT/s PCIe\n");
    folder.write(slot + "max_link_width", "16\n");
    folder.write(nic + "current_link_speed", "2.5 GT/s PCIe\n");
    folder.write(nic + "current_link_width", "1\n");
    folder.write(nic + "max_link_speed", "8.0 GT/s PCIe\n");
    folder.write(nic + "max_link_width", "8\n");
    folder.write(nic + "numa_node", "1\n");
    const auto link = agent::read_pcie_link(folder.path() + "/" + nic);
    BOOST_REQUIRE(link);
    BOOST_TEST((*link == agent::PcieLink{{2.5, 1}, {8, 8}, {16, 16}}));
    BOOST_TEST(agent::read_numa_node(folder.path() + "/" + nic) == 1);
    // A device that is linked to nothing, and one that is not PCI Express, have no link.
    folder.write(nic + "current_link_speed", "Unknown\n");
    folder.write(nic + "current_link_width", "255\n");
    BOOST_TEST(!agent::read_pcie_link(folder.path() + "/" + nic));
    BOOST_TEST(!agent::read_pcie_link(folder.path() + "/sys"));
    BOOST_TEST(!agent::read_pcie_link(folder.path() + "/none"));
    BOOST_TEST(agent::read_numa_node(folder.path()) == -1);
}

BOOST_AUTO_TEST_CASE(lcores_on_another_node_than_the_port_are_told_of) {
    BOOST_TEST((check_numa("x", 1, {{8, 9}, {1}}).outcome == Outcome::kGood));
    const Check far = check_numa("x", 1, {{0, 1}, {0}});
    BOOST_TEST((far.outcome == Outcome::kDoubtful));
    says(far.found, "on node 1, lcores on CPUs 0, 1 of node 0");
    BOOST_TEST((check_numa("x", 1, {{0, 8}, {0, 1}}).outcome == Outcome::kDoubtful));
    BOOST_TEST((check_numa("x", -1, {{0}, {0}}).outcome == Outcome::kGood));
    BOOST_TEST((check_numa("x", 1, {{0}, {-1}}).outcome == Outcome::kNotLooked));
}

BOOST_AUTO_TEST_CASE(what_the_file_says_of_a_node_is_held_against_the_kernel) {
    const Check other = check_numa("x", 0, {{0, 1}, {0}}, 1);
    BOOST_TEST((other.outcome == Outcome::kBad));
    says(other.found, "on node 0, and 'numa' of the file says 1");
    BOOST_TEST((check_numa("x", 1, {{8, 9}, {1}}, 1).outcome == Outcome::kGood));
    const Check alone = check_numa("x", -1, {{0, 1}, {0}}, 1);
    BOOST_TEST((alone.outcome == Outcome::kDoubtful));
    says(alone.found,
         "on node 1 by the file's 'numa' (the kernel tells none), lcores on CPUs 0, 1");
    BOOST_TEST((check_numa("x", -1, {{8, 9}, {1}}, 1).outcome == Outcome::kGood));
}

const std::vector<port::PlacedCpu> kTwoNodes{{0, 0}, {1, 0}, {2, 1}, {3, 1}};

BOOST_AUTO_TEST_CASE(ports_get_lcores_of_their_node_or_those_that_the_file_says) {
    const auto isolated = [](int cpu) { return cpu == 7; };
    LabFile lab = two_cables();
    const std::vector<int> usable{0, 1, 2, 3};
    BOOST_REQUIRE(place_lcores(lab, kTwoNodes, isolated));
    BOOST_TEST(lab.ports[0].lcores.empty());
    BOOST_TEST((lcores_of_run(lab, usable) == std::vector{0, 1}));
    lab.ports[0].numa = 1;
    BOOST_REQUIRE(place_lcores(lab, kTwoNodes, isolated));
    BOOST_TEST((lab.ports[0].lcores == std::vector{2, 3}));
    BOOST_TEST((lcores_of_run(lab, usable) == std::vector{2, 3}));
    // The servers' port is the second lcore's, wherever it stands in the file.
    lab.ports[0].servers = {*frame::parse_ip("203.0.113.2")};
    lab.ports[1].lcores = {7};
    BOOST_REQUIRE(place_lcores(lab, kTwoNodes, isolated));
    BOOST_TEST((lcores_of_run(lab, usable) == std::vector{7, 2}));
    lab.ports[0].lcores = {7};
    BOOST_TEST((lcores_of_run(lab, usable) == std::vector{7}));
    lab.ports[0].lcores.clear();
    BOOST_TEST((lcores_of_run(lab, usable) == std::vector{7, 0}));

    lab.ports[1].lcores = {9};
    Status refused = place_lcores(lab, kTwoNodes, isolated);
    BOOST_REQUIRE(!refused);
    says(refused.error().message,
         "'lcores' of tester port 'b': CPU 9 is not one that this process may use (0, 1, 2, 3)");
    lab.ports[1].lcores.clear();
    lab.ports[1].numa = 2;
    refused = place_lcores(lab, kTwoNodes, isolated);
    BOOST_REQUIRE(!refused);
    says(refused.error().message,
         "'numa' of tester port 'b': no CPU that this process may use is on "
         "node 2; theirs: 0, 1");
    lab.ports[0].lcores.clear();
    const std::vector<port::PlacedCpu> untold{{0, -1}};
    BOOST_TEST(static_cast<bool>(place_lcores(lab, untold, isolated)));
}

BOOST_AUTO_TEST_CASE(of_several_looks_at_a_clock_the_quickest_counts) {
    const ClockReading reading =
        best_of({{0, 500'000'000, 900'000'000},
                 {1'000'000'000, 1'201'000'000, 1'002'000'000},
                 {2'000'000'000, 5, 1'000'000'000}});  // set back meanwhile
    BOOST_TEST(reading.round_trip_ns == 2'000'000);
    BOOST_TEST(reading.ahead_ns == 200'000'000);
    BOOST_TEST((check_clock(reading).outcome == Outcome::kDoubtful));
    says(check_clock(reading).found, "200.0 ms ahead of ours, known to 1.0 ms");
    BOOST_TEST((check_clock({-50'000'000, 2'000'000}).outcome == Outcome::kGood));
    // A slow answer leaves the rest open.
    BOOST_TEST((check_clock({150'000'000, 200'000'000}).outcome == Outcome::kGood));
}

BOOST_AUTO_TEST_CASE(a_wrong_cable_is_told_of_with_what_was_seen_instead) {
    const LabFile lab = two_cables();
    const auto cable = [&](const Sightings& seen, std::size_t number) {
        const auto checks = check_cabling(lab, seen);
        BOOST_REQUIRE(checks.size() == 2u);
        return checks[number];
    };
    Sightings right{{{"d0", {"a"}}, {"d1", {"b"}}}, {{"a", {"d0"}}, {"b", {"d1"}}}};
    BOOST_TEST((cable(right, 0).outcome == Outcome::kGood), cable(right, 0).found);
    const Sightings crossed{{{"d0", {"b"}}, {"d1", {"a"}}}, {{"a", {"d1"}}, {"b", {"d0"}}}};
    for (const std::size_t number : {0u, 1u}) {
        BOOST_TEST((cable(crossed, number).outcome == Outcome::kBad));
    }
    says(cable(crossed, 0).found,
         "probe frames of d0 were seen at b of the tester ports, not at a");
    says(cable(crossed, 0).found, "probe frames of a were seen at d1 of the devices of the DUT");
    Sightings cut = right;
    cut.of_devices["d1"].clear();
    BOOST_TEST((cable(cut, 1).outcome == Outcome::kBad));
    says(cable(cut, 1).found, "probe frames of d1 were seen nowhere of the tester ports, not at b");
    cut.of_devices.erase("d1");
    says(cable(cut, 1).found, "nothing was sent from d1");
    Sightings bridged = right;
    bridged.of_ports["a"].insert("d1");
    BOOST_TEST((cable(bridged, 0).outcome == Outcome::kDoubtful));
    says(cable(bridged, 0).found, "a switch or bridge between?");
    BOOST_TEST((cable({}, 0).outcome == Outcome::kBad));
}

BOOST_AUTO_TEST_CASE(a_probe_frame_says_whose_it_is_to_those_who_know_its_mark) {
    const auto frame = probe_frame(*frame::parse_mac("02:00:00:00:00:07"), "mark-1", "client0");
    BOOST_TEST(frame.size() == 60u);
    BOOST_TEST(sender_of(frame, "mark-1") == "client0");
    BOOST_TEST(sender_of(frame, "mark-2") == "");
    BOOST_TEST(sender_of({}, "mark-1") == "");
    auto other = frame;
    other[13] = 0xb6;
    BOOST_TEST(sender_of(other, "mark-1") == "");
    const std::string name(70, 'x');
    BOOST_TEST(sender_of(probe_frame({}, "m", name), "m") == name);
}

BOOST_AUTO_TEST_CASE(the_testers_machine_is_looked_at_port_by_port) {
    const TempFolder folder;
    const LabFile lab = two_cables();
    const auto checks = [&] {
        return check_tester_machine(
            lab,
            [](const TesterPort&) {
                return PlacedCpus{{0}, {0}};
            },
            folder.files());
    };
    folder.write("proc/meminfo", "HugePages_Free: 4\nHugepagesize: 2048 kB\n");
    BOOST_TEST((check_of(checks(), "device").outcome == Outcome::kBad));
    const std::string nic = "sys/bus/pci/devices/0000:00:03.0";
    folder.write(nic + "/class", "0x020000\n");
    folder.write(nic + "/net/pp-no-such0/mtu", "1500\n");
    folder.write("sys/bus/pci/drivers/e1000e/bind", "");
    std::filesystem::create_symlink("../../drivers/e1000e", folder.path() + "/" + nic + "/driver");
    BOOST_TEST((check_of(checks(), "hugepages").outcome == Outcome::kFixable));
    says(check_of(checks(), "hugepages").found,
         "8 MiB free, 512 wanted; 'sysctl vm.nr_hugepages=256'");
    BOOST_TEST((check_of(checks(), "module vfio-pci").outcome == Outcome::kFixable));
    BOOST_TEST((check_of(checks(), "IOMMU").outcome == Outcome::kBad));
    std::filesystem::create_symlink("/sys/kernel/iommu_groups/3",
                                    folder.path() + "/" + nic + "/iommu_group");
    BOOST_TEST(check_of(checks(), "IOMMU").found == "group 3");
    // The module may be loaded, and is not yet.
    BOOST_TEST((check_of(checks(), "binding").outcome == Outcome::kFixable));
    folder.write("sys/module/vfio_pci/refcnt", "0\n");
    folder.write("sys/bus/pci/drivers/vfio-pci/bind", "");
    folder.write("proc/meminfo", "HugePages_Free: 256\nHugepagesize: 2048 kB\n");
    BOOST_TEST((check_of(checks(), "hugepages").outcome == Outcome::kGood));
    BOOST_TEST((check_of(checks(), "module vfio-pci").outcome == Outcome::kGood));
    says(check_of(checks(), "binding").found, "bound to e1000e; a run binds it to vfio-pci");
    std::filesystem::remove(folder.path() + "/" + nic + "/driver");
    std::filesystem::create_symlink("../../drivers/vfio-pci",
                                    folder.path() + "/" + nic + "/driver");
    BOOST_TEST((check_of(checks(), "binding").outcome == Outcome::kGood));
    BOOST_TEST((check_of(checks(), "PCIe").outcome == Outcome::kNotLooked));
}

BOOST_AUTO_TEST_CASE(a_first_lab_file_can_be_read_and_says_what_is_left_alone_and_why) {
    FoundHosts found{.tester_netns = "", .tester = {}, .dut = {}, .dut_devices = {}};
    found.tester = {device("eth0", "0000:00:01.0", true), device("ens2", "0000:3b:00.0", false),
                    device("ens3", "0000:3b:00.1", true), device("ens4", "0000:3b:00.2", true)};
    found.tester[0].objections = {"carries the default route"};
    found.tester[2].info.numa_node = 1;
    found.tester[3].use.addresses = {*parse_prefix("192.0.2.9/24")};
    found.dut.where = "root@dut1";
    found.dut.kind = Dut::Kind::kSsh;
    found.dut_devices = {device("ens5", "0000:01:00.0", true)};
    const auto text = first_lab_file(found);
    BOOST_REQUIRE(text);
    const auto file = parse_lab_file(*text, "x.toml");
    BOOST_REQUIRE_MESSAGE(file, (file ? "" : file.error().message + *text));
    BOOST_REQUIRE(file->ports.size() == 3u);
    BOOST_TEST(file->ports[0].device == "0000:3b:00.1");
    BOOST_TEST(file->ports[0].clients.has_value());
    BOOST_TEST(to_string(file->ports[1].addresses.at(0)) == "192.0.2.9/24");
    BOOST_TEST(file->ports[2].device == "0000:3b:00.0");
    BOOST_TEST(file->ports[2].servers.size() == 2u);
    BOOST_TEST(file->ports[0].numa.value_or(-1) == 1);
    BOOST_TEST(!file->ports[1].numa.has_value());
    BOOST_TEST((file->modules == std::vector<std::string>{"vfio-pci"}));
    BOOST_TEST(file->dut.where == "root@dut1");
    BOOST_TEST(file->dut.devices.at(0).name == "ens5");
    says(*text,
         "# eth0: ice at 0000:00:01.0, link at 25000 Mbit/s; left alone: it carries the default "
         "route");
    says(*text, "# ens2: ice at 0000:3b:00.0, no link now");
    // One and two ports, nobody's DUT, a namespace.
    for (const std::size_t ports : {2u, 1u}) {
        found.tester.resize(ports + 1);
        found.dut = {};
        found.dut_devices.clear();
        const auto fewer = parse_lab_file(*first_lab_file(found), "x.toml");
        BOOST_REQUIRE_MESSAGE(fewer, (fewer ? "" : fewer.error().message));
        BOOST_TEST(fewer->ports.size() == ports);
        BOOST_TEST((fewer->dut.kind == Dut::Kind::kSsh));
    }
    found.tester.resize(1);
    const auto none = first_lab_file(found);
    BOOST_REQUIRE(!none);
    says(none.error().message, "left alone: it carries the default route");
}

BOOST_AUTO_TEST_SUITE_END()
