// PCI devices given to user space and back, on a recorded folder in the place of the kernel's.
#include "harness/lab/pci_binding.h"

#include <boost/test/unit_test.hpp>
#include <filesystem>

#include "harness/lab/interface_settings.h"
#include "harness/lab/kernel_module.h"
#include "harness/lab/netns_identity.h"
#include "harness/lab/recovery.h"
#include "tests/lab/temp_folder.h"

BOOST_AUTO_TEST_SUITE(pci_binding)

using namespace pathproof;
using namespace pathproof::lab;
using Kind = UndoAction::Kind;
using Lines = std::vector<std::string>;

namespace {

constexpr const char* kNic = "0000:00:03.0";
constexpr const char* kNeighbour = "0000:00:03.1";

// As a machine with an IOMMU shows a NIC of e1000e: the folders and links of a guest of QEMU.
class Machine {
  public:
    Machine() {
        add_device(kNic, "e1000e", "0x020000");
        for (const char* driver : {"e1000e", "vfio-pci", "nvme"}) {
            folder_.write(std::string("sys/bus/pci/drivers/") + driver + "/bind", "");
            folder_.write(std::string("sys/bus/pci/drivers/") + driver + "/unbind", "");
        }
        folder_.write(device(kNic) + "/net/pp-no-such0/mtu", "1500\n");
        group(kNic, "7");
    }

    void add_device(const std::string& address, const std::string& driver, const char* code) {
        folder_.write(device(address) + "/class", std::string(code) + "\n");
        folder_.write(device(address) + "/driver_override", "(null)\n");
        bind(address, driver);
    }
    // Binds as the kernel does.
    void bind(const std::string& address, const std::string& driver) {
        const std::filesystem::path link = path(device(address) + "/driver");
        std::filesystem::remove(link);
        if (!driver.empty()) {
            std::filesystem::create_symlink("../../drivers/" + driver, link);
        }
    }
    void group(const std::string& address, const std::string& number) {
        const std::string groups = "sys/kernel/iommu_groups/" + number + "/devices";
        std::filesystem::create_directories(path(groups));
        std::filesystem::create_symlink(path(device(address)), path(groups + "/" + address));
        std::filesystem::create_symlink(path("sys/kernel/iommu_groups/" + number),
                                        path(device(address) + "/iommu_group"));
    }
    void remove(const std::string& name) { std::filesystem::remove_all(path(name)); }

    static std::string device(const std::string& address) {
        return "sys/bus/pci/devices/" + address;
    }
    std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
    const TempFolder& folder() const { return folder_; }
    KernelFiles files() const { return folder_.files(); }

  private:
    TempFolder folder_;
};

std::string refusal(const Machine& machine, const std::string& address = kNic,
                    UserDriver driver = UserDriver::kVfio) {
    const Status may = check_bindable(address, driver, machine.files());
    return may ? "" : may.error().message;
}

bool says(const std::string& text, const std::string& part) {
    BOOST_TEST(text.find(part) != std::string::npos, "'" << text << "' without '" << part << "'");
    return text.find(part) != std::string::npos;
}

Note note_of(const PciBinding& was) {
    return {{.kind = Kind::kBinding, .name = kNic, .value = to_string(was), .set = "vfio-pci"},
            {"vfio-pci"}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_device_is_read_as_it_is_bound) {
    Machine machine;
    const auto found = read_binding(kNic, machine.files());
    BOOST_REQUIRE(found);
    BOOST_TEST(found->driver == "e1000e");
    BOOST_TEST(found->preferred.empty());
    BOOST_TEST(found->interface == "pp-no-such0");
    // An interface of virtio is a folder further below.
    machine.remove(Machine::device(kNic) + "/net");
    machine.folder().write(Machine::device(kNic) + "/virtio1/net/pp-no-such1/mtu", "1500\n");
    BOOST_TEST(read_binding(kNic, machine.files())->interface == "pp-no-such1");
    const auto none = read_binding("0000:00:04.0", machine.files());
    BOOST_REQUIRE(!none);
    BOOST_TEST((none.error().code == ErrorCode::kNotFound));
    const auto back = parse_binding(to_string(*found));
    BOOST_REQUIRE(back);
    BOOST_TEST((*back == *found));
    BOOST_TEST(!parse_binding("e1000e"));
}

BOOST_AUTO_TEST_CASE(what_must_not_be_bound_is_refused_with_the_reason) {
    Machine machine;
    BOOST_TEST(refusal(machine) == "");
    machine.add_device("0000:00:05.0", "nvme", "0x010802");
    says(refusal(machine, "0000:00:05.0"), "no network device (its class is 0x010802)");
    says(refusal(machine, "0000:00:09.0"), "no PCI device 0000:00:09.0");
    // The whole group goes, or nothing.
    machine.add_device(kNeighbour, "e1000e", "0x020000");
    machine.group(kNeighbour, "7");
    says(refusal(machine), "shares its IOMMU group 7 with 0000:00:03.1, which is bound to e1000e");
    machine.bind(kNeighbour, "vfio-pci");
    BOOST_TEST(refusal(machine) == "");
    machine.bind(kNeighbour, "");
    BOOST_TEST(refusal(machine) == "");
    machine.bind(kNic, "mlx5_core");
    says(refusal(machine), "stays with mlx5_core");
    machine.bind(kNic, "uio_pci_generic");
    says(refusal(machine), "is bound to uio_pci_generic already");
    machine.bind(kNic, "e1000e");
    machine.remove(Machine::device(kNic) + "/net");
    says(refusal(machine), "has no interface in this network namespace");
    machine.bind(kNic, "");
    BOOST_TEST(refusal(machine) == "");
    machine.remove("sys/bus/pci/drivers/vfio-pci");
    says(refusal(machine), "modules = [\"vfio-pci\"]");
}

BOOST_AUTO_TEST_CASE(without_an_iommu_only_what_the_file_says_so_of_is_bound) {
    Machine machine;
    machine.remove(Machine::device(kNic) + "/iommu_group");
    says(refusal(machine), "intel_iommu=on");
    BOOST_TEST(refusal(machine, kNic, UserDriver::kVfioNoIommu) == "");
    says(refusal(machine, kNic, UserDriver::kUioGeneric), "uio_pci_generic is not loaded");
    BOOST_TEST((*parse_user_driver("vfio-noiommu") == UserDriver::kVfioNoIommu));
    BOOST_TEST(!parse_user_driver("e1000e"));
}

BOOST_AUTO_TEST_CASE(the_steps_there_and_back_name_the_driver_that_is_preferred) {
    const Machine machine;
    const std::string drivers = machine.files().sys + "/bus/pci/drivers/";
    const std::string preferred =
        machine.files().sys + "/bus/pci/devices/0000:00:03.0/driver_override";
    using Steps = std::vector<SysfsWrite>;
    const PciBinding as_found{.driver = "e1000e"};
    const PciBinding bound{.driver = "vfio-pci", .preferred = "vfio-pci"};
    BOOST_TEST((steps_between(kNic, as_found, "vfio-pci", "vfio-pci", machine.files()) ==
                Steps{{drivers + "e1000e/unbind", kNic},
                      {preferred, "vfio-pci\n"},
                      {drivers + "vfio-pci/bind", kNic}}));
    BOOST_TEST((steps_between(kNic, bound, "e1000e", "", machine.files()) ==
                Steps{{drivers + "vfio-pci/unbind", kNic},
                      {preferred, "\n"},
                      {drivers + "e1000e/bind", kNic}}));
    // Killed between two steps.
    BOOST_TEST((steps_between(kNic, {.driver = "", .preferred = "vfio-pci"}, "e1000e", "",
                              machine.files()) ==
                Steps{{preferred, "\n"}, {drivers + "e1000e/bind", kNic}}));
    BOOST_TEST(steps_between(kNic, as_found, "e1000e", "", machine.files()).empty());
    // A device that had no driver gets none.
    BOOST_TEST((steps_between(kNic, bound, "", "", machine.files()) ==
                Steps{{drivers + "vfio-pci/unbind", kNic}, {preferred, "\n"}}));
}

BOOST_AUTO_TEST_CASE(what_somebody_else_bound_since_is_left_and_a_device_that_is_gone_is_done) {
    Machine machine;
    machine.bind(kNic, "nvme");
    UndoReport report;
    BOOST_TEST((undo_binding(note_of({.driver = "e1000e"}), machine.files(), report).has_value()));
    BOOST_TEST((report.left_alone == Lines{"the driver of PCI device 0000:00:03.0 is nvme, set by "
                                           "somebody else since: left"}));
    BOOST_TEST(machine.folder().read("sys/bus/pci/drivers/nvme/unbind") == "");
    machine.remove(Machine::device(kNic));
    UndoReport gone;
    BOOST_TEST((undo_binding(note_of({.driver = "e1000e"}), machine.files(), gone).has_value()));
    BOOST_TEST(gone.done.empty());
    BOOST_TEST(gone.left_alone.empty());
}

BOOST_AUTO_TEST_CASE(a_device_that_a_process_holds_is_not_taken_from_it) {
    Machine machine;
    machine.bind(kNic, "vfio-pci");
    machine.folder().write("proc/4242/comm", "testpmd\n");
    std::filesystem::create_directories(machine.path("proc/4242/fd"));
    std::filesystem::create_symlink("/dev/vfio/7", machine.path("proc/4242/fd/9"));
    UndoReport report;
    const Status undone = undo_binding(note_of({.driver = "e1000e"}), machine.files(), report);
    BOOST_REQUIRE(!undone);
    says(undone.error().message, "is in use by process 4242 (testpmd): end that first");
    BOOST_TEST(machine.folder().read("sys/bus/pci/drivers/vfio-pci/unbind") == "");
}

BOOST_AUTO_TEST_CASE(an_interface_is_described_by_the_commands_that_make_it_so) {
    const std::string addresses =
        R"([{"ifname":"eth1","flags":["BROADCAST","MULTICAST","PROMISC","UP"],
        "mtu":9000,"address":"02:00:00:00:00:07","permaddr":"52:54:00:12:34:56","addr_info":[
        {"family":"inet","local":"198.18.0.1","prefixlen":24,"broadcast":"198.18.0.255","scope":"global","valid_life_time":4294967295},
        {"family":"inet","local":"198.18.1.1","prefixlen":24,"scope":"global","dynamic":true,"valid_life_time":3600},
        {"family":"inet6","local":"2001:db8::1","prefixlen":64,"scope":"global","valid_life_time":4294967295},
        {"family":"inet6","local":"fe80::1","prefixlen":64,"scope":"link","valid_life_time":4294967295}]}])";
    const std::string routes = R"([{"dst":"198.18.0.0/24","protocol":"kernel","scope":"link"},
        {"dst":"203.0.113.0/24","gateway":"198.18.0.2","protocol":"static","metric":50,
         "flags":["onlink"],"metrics":[{"mtu":1400}]},
        {"dst":"198.18.7.0/24","scope":"link","prefsrc":"198.18.0.1","table":"100","flags":[]}])";
    const std::string neighbours =
        R"([{"dst":"198.18.0.9","lladdr":"02:00:00:00:00:09","state":["PERMANENT"]}])";
    const Lines lines = settings_in(
        {.addresses = addresses, .neighbours = neighbours, .routes = routes, .routes6 = ""});
    const Lines expected = {
        "link set dev eth1 mtu 9000",
        "link set dev eth1 address 02:00:00:00:00:07",
        "link set dev eth1 promisc on",
        "link set dev eth1 up",
        "address add 198.18.0.1/24 broadcast 198.18.0.255 dev eth1",
        "address add 2001:db8::1/64 nodad dev eth1",
        "neigh replace 198.18.0.9 lladdr 02:00:00:00:00:09 nud permanent dev eth1",
        "route add 198.18.7.0/24 dev eth1 scope link src 198.18.0.1 table 100",
        "route add 203.0.113.0/24 via 198.18.0.2 dev eth1 metric 50 proto static "
        "onlink mtu 1400"};
    BOOST_TEST(lines == expected, boost::test_tools::per_element());
    BOOST_TEST((settings_in({.addresses = R"([{"ifname":"eth1","flags":["NOARP"]}])"}) ==
                Lines{"link set dev eth1 arp off", "link set dev eth1 down"}));
    for (const char* rubbish : {"", "[]", "{}", "[7]", "no json"}) {
        BOOST_TEST(settings_in({rubbish, rubbish, rubbish, rubbish}).empty(), rubbish);
    }
}

BOOST_AUTO_TEST_CASE(modules_that_are_there_are_neither_loaded_nor_taken_out) {
    const TempFolder folder;
    folder.write("sys/module/vfio/refcnt", "0\n");
    folder.write("sys/module/irqbypass/refcnt", "0\n");
    const std::string shown =
        "insmod /lib/modules/6.1/kernel/virt/lib/irqbypass.ko.xz \n"
        "insmod /lib/modules/6.1/kernel/drivers/vfio/vfio.ko \n"
        "builtin iommufd\n"
        "insmod /lib/modules/6.1/kernel/drivers/vfio/pci/vfio-pci-core.ko \n"
        "insmod /lib/modules/6.1/kernel/drivers/vfio/pci/vfio-pci.ko ids=1 \n";
    BOOST_TEST((modules_to_load(shown, folder.files()) == Lines{"vfio_pci_core", "vfio_pci"}));
    BOOST_TEST((module_state("vfio-pci", folder.files()) == ModuleState::kMissing));
    UndoReport report;
    BOOST_TEST(
        (undo_module({{.kind = Kind::kModule, .name = "pp_no_such"}, {}}, folder.files(), report)
             .has_value()));
    BOOST_TEST(report.done.empty());
}

BOOST_AUTO_TEST_CASE(a_parameter_goes_back_unless_somebody_else_set_it) {
    const TempFolder folder;
    const Note note{
        {.kind = Kind::kParameter, .name = "vfio/parameters/x", .value = "N", .set = "Y"}, {"Y"}};
    for (const auto& [now, then] : {std::pair{"Y\n", "N\n"}, {"N\n", "N\n"}, {"2\n", "2\n"}}) {
        folder.write("sys/module/vfio/parameters/x", now);
        UndoReport report;
        BOOST_TEST((undo_parameter(note, folder.files(), report).has_value()));
        BOOST_TEST(folder.read("sys/module/vfio/parameters/x") == then);
        BOOST_TEST(report.done.size() == (now[0] == 'Y' ? 1u : 0u));
        BOOST_TEST(report.left_alone.size() == (now[0] == '2' ? 1u : 0u));
    }
}

BOOST_AUTO_TEST_CASE(bindings_modules_and_parameters_are_lines_of_a_journal) {
    for (const UndoAction& action :
         {UndoAction{.kind = Kind::kBinding,
         .name = kNic,
         .value = to_string(PciBinding{.driver = "e1000e", .settings = {"link set dev a up"}}),
         .set = "vfio-pci",
         .place = "1:2"},
          UndoAction{.kind = Kind::kModule, .name = "vfio_pci"},
          UndoAction{
              .kind = Kind::kParameter, .name = "vfio/parameters/x", .value = "N", .set = "Y"}}) {
        JournalContent content;
        read_lines(action_line(action), content);
        BOOST_REQUIRE(content.actions.size() == 1u);
        BOOST_TEST((content.actions.front() == action));
        BOOST_TEST(!undo_kind(action.kind).describe(action).empty());
        read_lines(done_line(action), content);
        BOOST_TEST(content.actions.empty());
    }
}

BOOST_AUTO_TEST_SUITE_END()
