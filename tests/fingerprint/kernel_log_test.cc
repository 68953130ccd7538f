#include "harness/fingerprint/kernel_log.h"

#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

using namespace pathproof::fingerprint;
using pathproof::verdict::Fact;
using pathproof::verdict::HostWatch;
using pathproof::verdict::Item;
using pathproof::verdict::KernelMessage;
using Kind = KernelMessage::Kind;

BOOST_AUTO_TEST_SUITE(kernel_log)

namespace {

// As Linux 6.1 and 6.18 write them.
constexpr const char* kLog =
    "6,100,1000000,-;e1000e 0000:00:02.0 eth1: NIC Link is Up 1000 Mbps Full Duplex\n"
    " SUBSYSTEM=pci\n"
    " DEVICE=+pci:0000:00:02.0\n"
    "12,101,1500000,-;WARNING: CPU: 0 PID: 1 at drivers/net/veth.c:1 from a program [veth]\n"
    "4,102,2000000,-;------------[ cut here ]------------\n"
    "4,103,2000001,-;WARNING: CPU: 1 PID: 4711 at drivers/net/ethernet/intel/ice/ice_txrx.c:262 "
    "ice_clean_tx+0x1e5/0x2a0 [ice]\n"
    "4,104,2000002,-;Modules linked in: ice\n"
    "4,105,2000003,-;RIP: 0010:ice_clean_tx+0x1e5/0x2a0 [ice]\n"
    "4,106,2000004,-;---[ end trace 0000000000000000 ]---\n"
    "4,107,3000000,-;WARNING: net/core/dev.c:4700 at skb_warn_bad_offload+0x9c/0xe0, CPU#1: "
    "ping/42\n"
    "4,108,3000001,-; ? nf_hook_slow+0x40/0xb0\n"
    "4,109,3000002,-;---[ end trace 0000000000000000 ]---\n"
    "2,110,4000000,-;NETDEV WATCHDOG: eth1 (e1000e): transmit queue 0 timed out\n"
    "2,111,4500000,-;ice 0000:3b:00.0 ens1f0: NETDEV WATCHDOG: CPU: 2: transmit queue 1 timed out "
    "5120 ms\n"
    "4,112,5000000,-;WARNING: CPU: 0 PID: 9 at fs/ext4/inode.c:1234 ext4_x+0x1/0x2\n"
    "1,113,6000000,-;BUG: kernel NULL pointer dereference, address: 0000000000000010\n"
    "1,114,6000001,-;Oops: 0000 [#1] PREEMPT SMP\n"
    "1,115,6000002,-;RIP: 0010:nft_do_chain+0x12/0x600 [nf_tables]\n"
    "1,116,6000003,-;---[ end trace 0000000000000000 ]---\n"
    "3,117,7000000,-;ice 0000:3b:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=X\n"
    "6,118,8000000,-;e1000e 0000:00:02.0 eth1: NIC Link is Down\n"
    "6,119,9000000,-;audit: nothing of ours\n";

Item item_of(const std::string& driver, const std::string& device, const std::string& bus) {
    Item item{.device = device};
    item.driver = {{"name", driver, Fact::Status::kRead, ""}};
    item.identity = {{"bus", bus, Fact::Status::kRead, ""}};
    return item;
}

HostWatch watch_of(const std::string& text) {
    auto records = parse_kmsg(text);
    std::erase_if(records, [](const LogRecord& record) { return !record.of_kernel; });
    return {.host = "h", .messages = find_messages(records, 1.0)};
}

// The first words of those that speak against what is tested.
std::vector<std::string> against(const std::vector<Item>& items, bool kernel_is_tested) {
    HostWatch watch = watch_of(kLog);
    mark_against(watch, items, kernel_is_tested);
    std::vector<std::string> kinds;
    for (const KernelMessage& message : watch.messages) {
        if (message.against) {
            kinds.push_back(std::string(name(message.kind)) + " " + message.subject);
        }
    }
    return kinds;
}

struct LogFile {
    std::string path = std::filesystem::temp_directory_path() / "pp-kmsg-XXXXXX";
    LogFile() { close(mkstemp(path.data())); }
    ~LogFile() { std::filesystem::remove(path); }
    void put(const std::string& text) const { std::ofstream(path) << text; }
};

}  // namespace

BOOST_AUTO_TEST_CASE(messages_are_named_with_their_subject_and_trace) {
    const auto messages = watch_of(kLog).messages;
    const std::vector<std::pair<Kind, std::string>> wanted = {
        {Kind::kLinkUp, "e1000e 0000:00:02.0 eth1"},
        {Kind::kWarning, "ice"},
        {Kind::kWarning, "net/core/dev.c"},
        {Kind::kTxTimeout, "e1000e"},
        {Kind::kTxTimeout, "ice 0000:3b:00.0 ens1f0"},
        {Kind::kWarning, "fs/ext4/inode.c"},
        {Kind::kOops, "nf_tables"},
        {Kind::kPcieError, "ice 0000:3b:00.0"},
        {Kind::kLinkDown, "e1000e 0000:00:02.0 eth1"}};
    BOOST_REQUIRE(messages.size() == wanted.size());
    for (std::size_t n = 0; n < wanted.size(); ++n) {
        BOOST_TEST((messages[n].kind == wanted[n].first), messages[n].text);
        BOOST_TEST(messages[n].subject == wanted[n].second);
    }
    BOOST_TEST(messages[1].trace.size() == 3u);
    BOOST_TEST(messages[1].seconds == 1.000001, boost::test_tools::tolerance(1e-9));
    // A warning without a trace does not take the next one's.
    BOOST_TEST(messages[5].trace.empty());
    BOOST_TEST(messages[6].trace.size() == 3u);
}

BOOST_AUTO_TEST_CASE(what_speaks_against_a_device_is_told_from_what_does_not) {
    using Kinds = std::vector<std::string>;
    const Item ice = item_of("ice", "ens1f0", "0000:3b:00.0");
    BOOST_TEST((against({}, false) == Kinds{}));
    BOOST_TEST((against({ice}, true) == Kinds{"warning ice", "warning net/core/dev.c",
                                              "tx-timeout ice 0000:3b:00.0 ens1f0",
                                              "oops nf_tables", "pcie-error ice 0000:3b:00.0"}));
    BOOST_TEST((against({item_of("e1000e", "eth1", "0000:00:02.0")}, true) ==
                Kinds{"warning net/core/dev.c", "tx-timeout e1000e", "oops nf_tables"}));
    BOOST_TEST((against({item_of("veth", "eth0", "")}, false) == Kinds{}));
}

BOOST_AUTO_TEST_CASE(the_window_is_what_was_logged_since_and_says_what_was_lost) {
    const LogFile log;
    const std::string text = kLog;
    log.put(text.substr(0, text.find("4,102")));
    const HostMoment moment = read_moment(log.path);
    BOOST_TEST(moment.newest == 101u);
    BOOST_TEST(moment.log_error == 0);
    log.put(text);
    const HostWatch watch = watch_since(moment, log.path);
    BOOST_TEST((watch.log == Fact::Status::kRead));
    BOOST_TEST(watch.lines == 18u);
    BOOST_TEST(watch.lost == 0u);
    BOOST_TEST(watch.messages.size() == 8u);
    log.put(text.substr(text.find("4,107")));
    BOOST_TEST(watch_since(moment, log.path).lost == 5u);
    log.put("no log, whatever it is;\n,;\n7,x,1,-;\n6,99999999999999999999,1,-;x\n");
    BOOST_TEST(watch_since(moment, log.path).lines == 0u);
    const HostMoment none = read_moment(log.path + ".none");
    BOOST_TEST(none.log_error == ENOENT);
    BOOST_TEST((watch_since(none, log.path).log == Fact::Status::kAbsent));
}

BOOST_AUTO_TEST_CASE(taint_is_spelt_as_the_kernel_does) {
    BOOST_TEST(pathproof::verdict::taint_letters(0).empty());
    BOOST_TEST(pathproof::verdict::taint_letters(512 | 4096 | 8192) == "WOE");
    BOOST_TEST(pathproof::verdict::taint_letters(1 | 128) == "PD");
}

BOOST_AUTO_TEST_SUITE_END()
