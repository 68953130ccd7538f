#include "harness/lab/lab_file.h"

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>

BOOST_AUTO_TEST_SUITE(lab_file)

using namespace pathproof;
using namespace pathproof::lab;

namespace {

const std::string kGood = R"(name = "rack 3"
hugepages_mib = 1024

[[tester.port]]
name = "client0"
pci = "0000:3b:00.0"
address = ["198.18.0.2/24", "2001:db8::2/64"]

[[tester.port]]
name = "server0"
vdev = "net_af_packet0,iface=ens1f1,blocksz=4096"

[dut]
ssh = "root@dut1"
program = "/opt/pathproof"

[[dut.device]]
name = "ens1f0"
port = "client0"
address = ["198.18.0.1/24"]
)";

// The good file with one piece of it replaced.
std::string with(const std::string& piece, const std::string& other) {
    std::string text = kGood;
    const std::size_t at = text.find(piece);
    BOOST_REQUIRE_MESSAGE(at != std::string::npos, piece);
    return text.replace(at, piece.size(), other);
}

struct Wrong {
    const char* piece;
    const char* other;
    const char* begins;    // FILE:LINE:COLUMN:
    const char* contains;  // what is wrong, or what is allowed
};

const Wrong kWrong[] = {
    {"name = \"rack 3\"", "name = 3", "x.toml:1:8: ", "must be a text"},
    {"name = \"rack 3\"\n", "", "x.toml:1:1: ", "has no 'name'"},
    {"name = \"rack 3\"", "name = \"rack 3", "x.toml:1:", "not TOML"},
    {"hugepages_mib = 1024", "hugepages = 1024", "x.toml:2:1: ",
     "unknown key 'hugepages' in a lab file; allowed are name, hugepages_mib, modules, service, "
     "report, tester, dut"},
    {"hugepages_mib = 1024", "report = 3", "x.toml:2:10: ", "there must be a table [report]"},
    {"[[tester.port]]", "[report]\nlab = \"x\"\n[[tester.port]]", "x.toml:5:1: ",
     "unknown key 'lab' in [report]; allowed are condition, customer, laboratory, operator, place, "
     "plan_id, plan_revision, received"},
    {"[[tester.port]]", "[report]\nplace = 7\n[[tester.port]]", "x.toml:5:9: ", "must be a text"},
    {"[[tester.port]]", "[report]\nreceived = \"soon\"\n[[tester.port]]",
     "x.toml:5:12: ", "is a day"},
    {"hugepages_mib = 1024", "modules = \"vfio\"", "x.toml:2:11: ", "must be a list"},
    {"hugepages_mib = 1024", "modules = [\"../x\"]", "x.toml:2:12: ", "names of kernel modules"},
    {"pci = \"0000:3b:00.0\"", "pci = \"0000:3b:00.0\"\ndriver = \"igb_uio\"",
     "x.toml:7:10: ", "there are vfio-pci"},
    {"vdev = \"net_af", "driver = \"vfio-pci\"\nvdev = \"net_af",
     "x.toml:11:10: ", "it goes with 'pci'"},
    {"= 1024", "= -1", "x.toml:2:17: ", "0 to 1048576"},
    {"= 1024", "= 1.5", "x.toml:2:17: ", "whole number"},
    {"= 1024", "= \"1024\"", "x.toml:2:17: ", "whole number"},
    {"blocksz=4096\"", "blocksz=4096\"\nqueues = 0",
     "x.toml:12:10: ", "'queues' must be a whole number, 1 to 16"},
    {"blocksz=4096\"", "blocksz=4096\"\nqueues = [2]", "x.toml:12:10: ", "'queues' must be"},
    {"blocksz=4096\"", "blocksz=4096\"\nnuma = -1",
     "x.toml:12:8: ", "'numa' must be a whole number, 0 to 1023"},
    {"blocksz=4096\"", "blocksz=4096\"\nlcores = 2",
     "x.toml:12:10: ", "'lcores' must be a list of one CPU or two, as [2, 3]"},
    {"blocksz=4096\"", "blocksz=4096\"\nlcores = []", "x.toml:12:10: ", "one CPU or two"},
    {"blocksz=4096\"", "blocksz=4096\"\nlcores = [1, 2, 3]", "x.toml:12:10: ", "one CPU or two"},
    {"blocksz=4096\"", "blocksz=4096\"\nlcores = [2, 2]", "x.toml:12:14: ", "CPU 2 is given twice"},
    {"blocksz=4096\"", "blocksz=4096\"\nlcores = [2, \"3\"]",
     "x.toml:12:14: ", "numbers of CPUs, 0 to 1023"},
    {"blocksz=4096\"", "blocksz=4096\"\nlcores = [1024]", "x.toml:12:11: ", "0 to 1023"},
    {"pci = \"0000:3b:00.0\"", "pci = \"3b:00.0\"", "x.toml:6:7: ", "lspci -D"},
    {"pci = \"0000:3b:00.0\"", "pci = \"0000:3b:00.8\"", "x.toml:6:7: ", "no PCI address"},
    {"pci = \"0000:3b:00.0\"\n", "",
     "x.toml:4:1: ", "needs 'pci' or 'vdev' or 'device', one of them"},
    {"pci = ", "vdev = \"net_null0\"\npci = ", "x.toml:4:1: ", "one of them"},
    {"pci = \"0000:3b:00.0\"", "device = \"a/b\"", "x.toml:6:10: ", "network device"},
    {"2001:db8::2/64\"]", "2001:db8::2/64\"]\nclients = \"198.18.0.0/24\"",
     "x.toml:8:11: ", "at least 4096"},
    {"2001:db8::2/64\"]", "2001:db8::2/64\"]\nclients = 7", "x.toml:8:11: ", "IPv4 network"},
    {"address = [\"198.18.0.2/24\", \"2001:db8::2/64\"]", "clients = \"198.18.0.0/17\"",
     "x.toml:7:11: ", "an IPv4 'address' of its own"},
    {"2001:db8::2/64\"]",
     "2001:db8::2/64\"]\nclients = \"198.18.0.0/17\"\nservers = [\"203.0.113.2\", \"203.0.113.3\"]",
     "x.toml:9:11: ", "clients or servers, not both"},
    {"blocksz=4096\"", "blocksz=4096\"\nservers = [\"203.0.113.2\"]",
     "x.toml:12:11: ", "two addresses or more"},
    {"blocksz=4096\"", "blocksz=4096\"\nservers = [\"203.0.113.2\", \"198.18.0.2\"]",
     "x.toml:12:27: ", "given twice"},
    {"hugepages_mib", "service = \"198.51.100.10\"\nhugepages_mib",
     "x.toml:2:11: ", "an IPv4 address and a port"},
    {"pci = ", "mac = \"02:00:00:00:00:01\"\npci = ", "x.toml:6:1: ", "unknown key 'mac'"},
    {"net_af_packet0", "af_packet0", "x.toml:11:8: ", "as EAL takes it"},
    {"name = \"server0\"", "name = \"client0\"", "x.toml:10:8: ", "'client0' is given twice"},
    {"[\"198.18.0.2/24\",", "[\"198.18.0.2\",", "x.toml:7:12: ", "prefix length"},
    {"198.18.0.2/24", "198.18.0.2/33", "x.toml:7:12: ", "prefix length"},
    {"198.18.0.2/24", "198.18.0.2/24x", "x.toml:7:12: ", "prefix length"},
    {"198.18.0.2/24", "224.0.0.1/24", "x.toml:7:12: ", "not the address of one machine"},
    {"198.18.0.2/24", "127.0.0.1/8", "x.toml:7:12: ", "not the address of one machine"},
    {"\"2001:db8::2/64\"", "7", "x.toml:7:29: ", "prefix length"},
    {"[\"198.18.0.1/24\"]", "\"198.18.0.1/24\"", "x.toml:20:11: ", "must be a list"},
    {"198.18.0.1/24", "198.18.0.2/24", "x.toml:20:12: ", "198.18.0.2 is given twice"},
    {"root@dut1", "-oProxyCommand=sh", "x.toml:14:7: ", "SSH destination"},
    {"root@dut1", "root@dut1; reboot", "x.toml:14:7: ", "SSH destination"},
    {"ssh = \"root@dut1\"", "netns = \"../dut\"", "x.toml:14:9: ", "network namespace"},
    {"ssh = \"root@dut1\"", "host = \"dut1\"", "x.toml:13:1: ", "needs 'ssh' or 'netns'"},
    {"ssh = \"root@dut1\"", "netns = \"dut\"", "x.toml:15:11: ", "'program'"},
    {"program = \"/opt/pathproof\"", "program = \"p*\"", "x.toml:15:11: ", "'program'"},
    {"ssh = \"root@dut1\"\nprogram = \"/opt/pathproof\"", "netns = \"dut\"\nssh_config = \"c\"",
     "x.toml:15:14: ", "goes with 'ssh'"},
    {"port = \"client0\"", "port = \"client1\"", "x.toml:19:8: ", "there are: client0, server0"},
    {"name = \"ens1f0\"", "name = \"a/b\"", "x.toml:18:8: ", "network device"},
    {"[[dut.device]]", "in_place = true\n\n[[dut.device]]",
     "x.toml:17:12: ", "'dedicated = true' beside it"},
    {"[[dut.device]]", "dedicated = \"yes\"\n\n[[dut.device]]",
     "x.toml:17:13: ", "'dedicated' is true or false, without quotes"},
    {"[[dut.device]]", "[[dut.devices]]", "x.toml:17:", "unknown key 'devices'"},
    {"[dut]", "[device]", "x.toml:13:", "unknown key 'device'"},
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_good_file_is_understood) {
    const auto lab = parse_lab_file(kGood, "x.toml");
    BOOST_REQUIRE_MESSAGE(lab, lab.error().message);
    BOOST_TEST(lab->name == "rack 3");
    BOOST_TEST(lab->hugepages_mib == 1024U);
    BOOST_REQUIRE(lab->ports.size() == 2U);
    BOOST_TEST((lab->ports[0].kind == TesterPort::Kind::kPci));
    BOOST_TEST(lab->ports[0].device == "0000:3b:00.0");
    BOOST_TEST(lab->ports[0].kernel_device() == "");
    BOOST_REQUIRE(lab->ports[0].addresses.size() == 2U);
    BOOST_TEST(to_string(lab->ports[0].addresses[1]) == "2001:db8::2/64");
    BOOST_TEST((lab->ports[1].kind == TesterPort::Kind::kVdev));
    BOOST_TEST(lab->ports[1].kernel_device() == "ens1f1");
    BOOST_TEST((lab->dut.kind == Dut::Kind::kSsh));
    BOOST_TEST(lab->dut.where == "root@dut1");
    BOOST_TEST(lab->dut.program == "/opt/pathproof");
    BOOST_REQUIRE(lab->dut.devices.size() == 1U);
    BOOST_TEST(lab->dut.devices[0].port == "client0");
}

BOOST_AUTO_TEST_CASE(who_has_what_tested_stands_in_the_file) {
    const auto lab =
        parse_lab_file(with("[[tester.port]]",
                            "[report]\nlaboratory = \"Lab 7\"\noperator = \"A. Operator\"\n"
                            "received = \"2026-11-23\"\nplan_id = \"NIC\"\n[[tester.port]]"),
                       "x.toml");
    BOOST_REQUIRE_MESSAGE(lab, lab.error().message);
    BOOST_TEST(lab->report.laboratory == "Lab 7");
    BOOST_TEST(lab->report.plan_id == "NIC");
    const verdict::Parties said{.operator_name = "E. Else"};
    const verdict::Parties both = verdict::merged(said, lab->report);
    BOOST_TEST(both.operator_name == "E. Else");
    BOOST_TEST(both.received == "2026-11-23");
    BOOST_TEST(both.place.empty());
}

BOOST_AUTO_TEST_CASE(queues_lcores_and_the_node_of_a_port_are_read) {
    const auto lab = parse_lab_file(
        with("blocksz=4096\"", "blocksz=4096\"\nqueues = 4\nlcores = [3, 2]\nnuma = 1"), "x.toml");
    BOOST_REQUIRE_MESSAGE(lab, lab.error().message);
    BOOST_TEST(lab->ports[0].queues == 1);
    BOOST_TEST(lab->ports[0].lcores.empty());
    BOOST_TEST(!lab->ports[0].numa.has_value());
    BOOST_TEST(lab->ports[1].queues == 4);
    BOOST_TEST((lab->ports[1].lcores == std::vector{3, 2}));
    BOOST_TEST(lab->ports[1].numa.value_or(-1) == 1);
}

BOOST_AUTO_TEST_CASE(the_configuration_of_ssh_is_found_from_the_folder_of_the_file) {
    for (const auto& [written, found] :
         {std::pair{"keys/ssh", "/labs/keys/ssh"}, {"/etc/ssh", "/etc/ssh"}}) {
        const auto lab = parse_lab_file(
            with("program = \"/opt/pathproof\"", fmt::format("ssh_config = \"{}\"", written)),
            "/labs/x.toml");
        BOOST_REQUIRE_MESSAGE(lab, lab.error().message);
        BOOST_TEST(lab->dut.ssh_config == found);
        BOOST_TEST((lab->dut.ssh_host() == process::SshHost{"root@dut1", found}));
        BOOST_TEST(lab->dut.program == "pathproof");
    }
}

BOOST_AUTO_TEST_CASE(every_error_names_file_line_and_column) {
    for (const Wrong& wrong : kWrong) {
        const auto lab = parse_lab_file(with(wrong.piece, wrong.other), "x.toml");
        BOOST_REQUIRE_MESSAGE(!lab, wrong.other);
        const std::string& said = lab.error().message;
        BOOST_TEST((lab.error().code == ErrorCode::kBadInput));
        BOOST_TEST(("\n" + said).find(std::string("\n") + wrong.begins) != std::string::npos,
                   "after '" << wrong.other << "' expected " << wrong.begins << ", got: " << said);
        BOOST_TEST(
            said.find(wrong.contains) != std::string::npos,
            "after '" << wrong.other << "' expected " << wrong.contains << ", got: " << said);
    }
}

BOOST_AUTO_TEST_CASE(all_errors_are_told_at_once_in_the_order_of_the_file) {
    std::string text = with("= 1024", "= -1");
    text.replace(text.find("0000:3b:00.0"), 12, "3b:00.0");
    text.replace(text.find("port = \"client0\""), 16, "port = \"nobody\"");
    const auto lab = parse_lab_file(text, "x.toml");
    BOOST_REQUIRE(!lab);
    const std::string& said = lab.error().message;
    BOOST_TEST(said.find("x.toml:2:") < said.find("x.toml:6:"));
    BOOST_TEST(said.find("x.toml:6:") < said.find("x.toml:19:"));
    BOOST_TEST(said.find("x.toml:19:") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(an_empty_file_and_binary_rubbish_are_errors_and_no_crash) {
    BOOST_TEST(!parse_lab_file("", "x.toml"));
    BOOST_TEST(!parse_lab_file(std::string(300, '\0'), "x.toml"));
    BOOST_TEST(!parse_lab_file("\xff\xfe\x00[[[", "x.toml"));
    // Every beginning of the good file is either understood or refused.
    for (std::size_t length = 0; length < kGood.size(); ++length) {
        const auto lab = parse_lab_file(kGood.substr(0, length), "x.toml");
        BOOST_TEST((lab || lab.error().message.starts_with("x.toml:")));
    }
}

BOOST_AUTO_TEST_CASE(a_file_that_is_not_there_is_not_found) {
    const auto lab = load_lab_file("/nowhere/lab.toml");
    BOOST_REQUIRE(!lab);
    BOOST_TEST((lab.error().code == ErrorCode::kNotFound));
    BOOST_TEST(lab.error().message.find("/nowhere/lab.toml") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_example_of_each_nic_is_a_lab_file) {
    const char* folder = std::getenv("LAB_EXAMPLES");
    BOOST_REQUIRE_MESSAGE(folder != nullptr, "meson test sets LAB_EXAMPLES");
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        const auto file = load_lab_file(entry.path().string());
        BOOST_REQUIRE_MESSAGE(file, (file ? "" : file.error().message));
        BOOST_TEST(file->ports.size() == 3u, entry.path());
        BOOST_TEST(file->modules.empty() == (entry.path().stem() == "mlx5"), entry.path());
        const bool protects = entry.path().stem() != "ena";
        BOOST_TEST((file->ports[0].driver == UserDriver::kVfio) == protects, entry.path());
        ++files;
    }
    BOOST_TEST(files == 6u);
}

BOOST_AUTO_TEST_SUITE_END()
