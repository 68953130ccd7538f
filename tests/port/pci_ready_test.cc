#include "dataplane/port/pci_ready.h"

#include <stdlib.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>

#include "tests/contains.h"

using namespace pathproof;
using namespace pathproof::port;
namespace fs = std::filesystem;

namespace {

constexpr const char* kAddress = "0000:3b:00.0";

// A machine with one NIC, in a folder.
class Machine {
  public:
    Machine() {
        std::string name = (fs::temp_directory_path() / "pp-pci-XXXXXX").string();
        BOOST_REQUIRE(mkdtemp(name.data()) != nullptr);
        root_ = name;
        fs::create_directories(device());
        fs::create_directories(root_ / "dev/vfio");
        pages(512);
        of_class("0x020000");
    }
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;
    ~Machine() {
        std::error_code ignored;
        fs::remove_all(root_, ignored);
    }

    Machine& of_class(const std::string& code) {
        std::ofstream(device() / "class") << code << "\n";
        return *this;
    }
    Machine& with_interface(const std::string& path) {
        fs::create_directories(device() / path);
        return *this;
    }
    Machine& bound_to(const std::string& driver) {
        fs::create_symlink("../../drivers/" + driver, device() / "driver");
        return *this;
    }
    Machine& in_group(const std::string& number) {
        fs::create_symlink("../../kernel/iommu_groups/" + number, device() / "iommu_group");
        return *this;
    }
    Machine& with_group_file(const std::string& name) {
        std::ofstream(root_ / "dev/vfio" / name) << "";
        return *this;
    }
    Machine& pages(unsigned free) {
        const fs::path folder = root_ / "sys/kernel/mm/hugepages/hugepages-2048kB";
        fs::create_directories(folder);
        std::ofstream(folder / "free_hugepages") << free << "\n";
        return *this;
    }
    std::string trouble(const std::string& address = kAddress) const {
        const Status ready =
            pci_ready(address, {.sys = (root_ / "sys").string(), .dev = (root_ / "dev").string()});
        return ready ? "" : ready.error().message;
    }

  private:
    fs::path device() const { return root_ / "sys/bus/pci/devices" / kAddress; }
    fs::path root_;
};

using pathproof::test::contains;

}  // namespace

BOOST_AUTO_TEST_SUITE(pci)

BOOST_AUTO_TEST_CASE(a_device_bound_to_vfio_in_a_group_of_its_own_is_ready) {
    Machine ready;
    ready.bound_to("vfio-pci").in_group("17").with_group_file("17");
    BOOST_TEST(ready.trouble() == "");
}

BOOST_AUTO_TEST_CASE(without_an_iommu_the_unsafe_mode_counts) {
    Machine machine;
    machine.bound_to("vfio-pci").in_group("3").with_group_file("noiommu-3");
    BOOST_TEST(machine.trouble() == "");
}

BOOST_AUTO_TEST_CASE(a_device_that_is_not_there_or_still_the_kernels_is_refused_with_its_cure) {
    Machine machine;
    BOOST_TEST(contains(machine.trouble("0000:99:00.0"), "no PCI device 0000:99:00.0"));
    BOOST_TEST(contains(machine.trouble(), "no driver"));
    machine.bound_to("i40e").with_interface("net/ens1");
    BOOST_TEST(contains(machine.trouble(), "the kernel's driver i40e"));
    BOOST_TEST(contains(machine.trouble(), "pathproof lab bind 0000:3b:00.0"));
}

BOOST_AUTO_TEST_CASE(what_is_no_network_device_is_never_given_over) {
    for (const char* code : {"0x010000", "0x010802", "0x060000", "0x030000", "0x120000", ""}) {
        for (const char* driver : {"", "virtio-pci", "nvme", "vfio-pci", "mlx5_core"}) {
            Machine machine;
            machine.of_class(code).with_interface("net/ens1");
            if (*driver != '\0') {
                machine.bound_to(driver);
            }
            BOOST_TEST(contains(machine.trouble(), "no network device"), code << " " << driver);
            BOOST_TEST(!contains(machine.trouble(), "lab bind"), code << " " << driver);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_device_whose_interface_is_elsewhere_is_not_given_over) {
    Machine elsewhere;
    elsewhere.bound_to("i40e").with_interface("net");
    BOOST_TEST(contains(elsewhere.trouble(), "cannot be seen from here"));
    BOOST_TEST(!contains(elsewhere.trouble(), "lab bind"));
    Machine on_a_bus;
    on_a_bus.bound_to("virtio-pci").with_interface("virtio1/net/ens2");
    BOOST_TEST(contains(on_a_bus.trouble(), "lab bind 0000:3b:00.0"));
}

BOOST_AUTO_TEST_CASE(drivers_that_share_the_device_need_no_binding) {
    Machine machine;
    machine.bound_to("mlx5_core");
    BOOST_TEST(machine.trouble() == "");
}

BOOST_AUTO_TEST_CASE(vfio_without_iommu_or_with_a_shared_group_is_named) {
    Machine machine;
    machine.bound_to("vfio-pci");
    BOOST_TEST(contains(machine.trouble(), "no IOMMU group"));
    machine.in_group("17");
    BOOST_TEST(contains(machine.trouble(), "another device of IOMMU group 17"));
}

BOOST_AUTO_TEST_CASE(hugepages_must_be_free) {
    Machine machine;
    machine.bound_to("uio_pci_generic").pages(0);
    BOOST_TEST(contains(machine.trouble(), "vm.nr_hugepages"));
    machine.pages(1);
    BOOST_TEST(machine.trouble() == "");
}

BOOST_AUTO_TEST_SUITE_END()
