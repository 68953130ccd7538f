#include "harness/fingerprint/item.h"

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "harness/fingerprint/optics.h"
#include "harness/fingerprint/serials.h"

using namespace pathproof::fingerprint;
using pathproof::verdict::Fact;
using pathproof::verdict::Item;
using pathproof::verdict::Reading;

BOOST_AUTO_TEST_SUITE(items)

namespace {

using Bytes = std::vector<std::uint8_t>;

void put_word(Bytes& at, std::size_t place, unsigned word) {
    at[place] = static_cast<std::uint8_t>(word >> 8);
    at[place + 1] = static_cast<std::uint8_t>(word);
}

double value_of(const std::vector<ModuleMonitor>& all, const std::string& name) {
    for (const ModuleMonitor& monitor : all) {
        if (monitor.name == name) {
            return monitor.value;
        }
    }
    BOOST_FAIL("no monitor named " << name);
    return 0;
}

constexpr const char* kPciIds =
    "# comment\n"
    "1022  Advanced Micro Devices\n"
    "8086  Intel Corporation\n"
    "\t1591  Another one\n"
    "\t\t8086 0001  Not this one\n"
    "\t1592  Ethernet Controller E810-C for QSFP\n"
    "\t\t8086 0001  Ethernet Network Adapter E810-C-Q1\n"
    "\t\t8086 0002  Ethernet Network Adapter E810-C-Q2\n"
    "8087  Somebody else\n"
    "\t1592  Not this one either\n";

}  // namespace

BOOST_AUTO_TEST_CASE(pci_ids_name_maker_device_and_adapter) {
    const auto names = find_pci_names(kPciIds, "8086", "1592", "8086", "0002");
    BOOST_TEST(names.vendor == "Intel Corporation");
    BOOST_TEST(names.device == "Ethernet Controller E810-C for QSFP");
    BOOST_TEST(names.subsystem == "Ethernet Network Adapter E810-C-Q2");
    const auto unknown = find_pci_names(kPciIds, "8086", "ffff", "8086", "0001");
    BOOST_TEST(unknown.vendor == "Intel Corporation");
    BOOST_TEST(unknown.device.empty());
    BOOST_TEST(unknown.subsystem.empty());
    BOOST_TEST(find_pci_names(kPciIds, "", "", "", "").vendor.empty());
    BOOST_TEST(find_pci_names("", "8086", "1592", "8086", "0001").vendor.empty());
}

BOOST_AUTO_TEST_CASE(vital_product_data_gives_part_number_and_change_level) {
    // Product name, then PN and EC and SN, then the end tag.
    const std::string fields =
        std::string("PN\x06") + "K12345" + "EC\x02" + "A7" + "SN\x03" + "XYZ";
    std::string vpd = std::string("\x82\x08\x00", 3) + "ACME NIC" + '\x90' +
                      static_cast<char>(fields.size()) + std::string("\0", 1) + fields + "\x78";
    const Bytes bytes(vpd.begin(), vpd.end());
    BOOST_TEST(vpd_name(bytes) == "ACME NIC");
    BOOST_TEST(vpd_field(bytes, 'P', 'N') == "K12345");
    BOOST_TEST(vpd_field(bytes, 'E', 'C') == "A7");
    BOOST_TEST(vpd_serial(bytes) == "XYZ");
    BOOST_TEST(vpd_field(bytes, 'V', '0').empty());
    for (std::size_t length = 0; length < bytes.size(); ++length) {
        const auto cut = std::span(bytes).first(length);
        BOOST_TEST((vpd_name(cut).empty() || vpd_name(cut) == "ACME NIC"));
        BOOST_TEST((vpd_field(cut, 'P', 'N').empty() || vpd_field(cut, 'P', 'N') == "K12345"));
    }
}

BOOST_AUTO_TEST_CASE(pcie_settings_come_from_the_configuration_space) {
    Bytes config(256, 0);
    config[0x34] = 0x40;
    config[0x40] = 0x01;  // power management first
    config[0x41] = 0xa0;
    config[0xa0] = 0x10;
    config[0xa8] = 0x20;  // payload 256
    config[0xa9] = 0x20;  // read request 512
    config[0xb0] = 0x02;  // L1
    BOOST_TEST(pcie_settings(config) == "payload 256 B, read request 512 B, ASPM L1");
    config[0x41] = 0x40;  // a circle
    BOOST_TEST(pcie_settings(config).empty());
    BOOST_TEST(pcie_settings(std::span(config).first(64)).empty());
    BOOST_TEST(pcie_settings({}).empty());
}

BOOST_AUTO_TEST_CASE(modules_tell_what_they_measure) {
    Bytes sfp(256, 0);
    Bytes monitors(128, 0);
    sfp[0] = 0x03;
    BOOST_TEST(!monitor_page(sfp).has_value());
    sfp[92] = 0x68;  // monitoring, calibrated inside
    const auto page = monitor_page(sfp);
    BOOST_REQUIRE(page.has_value());
    BOOST_TEST(page->address == 0x51);
    put_word(monitors, 96, 0xff80);  // -0.5 °C
    put_word(monitors, 98, 33'000);
    put_word(monitors, 100, 3'000);
    put_word(monitors, 102, 5'000);
    put_word(monitors, 104, 1);
    const auto seen = module_monitors(sfp, monitors);
    BOOST_TEST(value_of(seen, "module temperature") == -0.5);
    BOOST_TEST(value_of(seen, "module supply voltage") == 3.3);
    BOOST_TEST(value_of(seen, "laser bias") == 6.0);
    BOOST_TEST(value_of(seen, "Tx power") == 0.5);
    BOOST_TEST(value_of(seen, "Rx power") == 0.0001);
    BOOST_TEST(module_monitors(sfp, {}).empty());

    Bytes qsfp(256, 0);
    qsfp[0] = 0x11;
    put_word(qsfp, 22, 40 * 256);
    put_word(qsfp, 34 + 6, 10'000);
    const auto lanes = module_monitors(qsfp, {});
    BOOST_TEST(lanes.size() == 2u + 4 * 3);
    BOOST_TEST(value_of(lanes, "module temperature") == 40.0);
    BOOST_TEST(value_of(lanes, "Rx power of lane 4") == 1.0);
    qsfp[147] = 0xa0;  // a copper cable measures nothing
    qsfp[146] = 3;
    BOOST_TEST(module_monitors(qsfp, {}).empty());
    BOOST_TEST(module_identity(qsfp).back().first == std::string("cable length"));
    BOOST_TEST(module_identity(qsfp).back().second == "3 m");

    Bytes cmis(256, 0);
    cmis[0] = 0x18;
    cmis[88] = 0x44;
    cmis[202] = 0x45;  // 5 times 1 m
    put_word(cmis, 14, 55 * 256);
    put_word(monitors, 186 - 128, 20'000);
    const auto eight = module_monitors(cmis, monitors);
    BOOST_TEST(eight.size() == 2u + 4 * 3);
    BOOST_TEST(value_of(eight, "Rx power of lane 1") == 2.0);
    BOOST_TEST(module_identity(cmis).back().second == "5 m");
    cmis[2] = 0x80;
    BOOST_TEST(!monitor_page(cmis).has_value());
}

BOOST_AUTO_TEST_CASE(modinfo_is_read_by_its_names) {
    const auto all = parse_modinfo(
        "filename:       /lib/modules/6.1.0/kernel/drivers/net/veth.ko\nalias: a\nalias: b\n"
        "signer:         Debian Secure Boot CA\nno colon\nempty:\n");
    BOOST_REQUIRE(all.size() == 4u);
    BOOST_TEST(all[0].second == "/lib/modules/6.1.0/kernel/drivers/net/veth.ko");
    BOOST_TEST(all[1].second == "a");
    BOOST_TEST(all[2].second == "Debian Secure Boot CA");
    BOOST_TEST(all[3].second.empty());
    BOOST_TEST(parse_modinfo("").empty());
}

BOOST_AUTO_TEST_CASE(temperatures_are_named_by_chip_and_label) {
    std::string folder = std::filesystem::temp_directory_path() / "pp-hwmon-XXXXXX";
    BOOST_REQUIRE(mkdtemp(folder.data()) != nullptr);
    std::filesystem::create_directories(folder + "/hwmon0");
    std::ofstream(folder + "/hwmon0/name") << "ice\n";
    std::ofstream(folder + "/hwmon0/temp1_input") << "41500\n";
    std::ofstream(folder + "/hwmon0/temp1_label") << "sensor 1\n";
    std::ofstream(folder + "/hwmon0/temp2_input") << "";
    std::ofstream(folder + "/hwmon0/fan1_input") << "1200\n";
    const auto all = read_temperatures(folder);
    std::filesystem::remove_all(folder);
    BOOST_REQUIRE(all.size() == 2u);
    BOOST_TEST(all[0].name == "ice sensor 1");
    BOOST_TEST(*all[0].begin == 41.5);
    BOOST_TEST(!all[1].begin.has_value());
    BOOST_TEST(read_temperatures(folder).empty());
}

BOOST_AUTO_TEST_CASE(a_device_without_hardware_is_an_item_of_absent_facts) {
    for (const char* device : {"lo", "no-such-nic"}) {
        const Item item = read_item(device, Serials::kAsked);
        BOOST_TEST(item.device == device);
        BOOST_TEST(item.firmware.empty());
        BOOST_TEST(item.module.empty() == false);  // the serial number that was asked for, absent
        BOOST_TEST(item.readings.empty());
        std::set<std::string> names;
        for (const auto* facts : {&item.identity, &item.driver, &item.module}) {
            for (const Fact& fact : *facts) {
                BOOST_TEST(fact.value.empty() == (fact.status != Fact::Status::kRead), fact.name);
                BOOST_TEST(!fact.source.empty(), fact.name);
            }
        }
    }
    for (const Fact& fact : read_item("lo", Serials::kLeftOut).identity) {
        BOOST_TEST(fact.name != "serial number");
    }
}

BOOST_AUTO_TEST_CASE(readings_end_with_those_of_the_same_name) {
    std::vector<Reading> begin = {{"a", "", 1.0, std::nullopt, ""},
                                  {"b", "", 2.0, std::nullopt, ""}};
    pathproof::verdict::end_readings(begin, {{"a", "", 5.0, std::nullopt, ""}});
    BOOST_TEST(*begin[0].end == 5.0);
    BOOST_TEST(!begin[1].end.has_value());
}

BOOST_AUTO_TEST_SUITE_END()
