// A guest boots, its emulated NIC finishes a checksum, and what goes wrong in it is told.
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <fstream>

#include "harness/agent/device_info.h"
#include "harness/agent/offload_frames.h"
#include "harness/guest/guest.h"
#include "harness/lab/namespaces.h"
#include "harness/verdict/result.h"
#include "tests/lab/support.h"
#include "tests/lab/temp_folder.h"

using namespace pathproof;
using namespace pathproof::guest;
using lab::contains;

namespace {

constexpr const char* kNetns = "pp-guest-test";

class Netns {
  public:
    Netns() { lab::shell("", std::string("ip netns add ") + kNetns); }
    ~Netns() { lab::shell_status("", std::string("ip netns del ") + kNetns); }
};

const Kernel& kernel() {
    static const Kernel kFound = [] {
        auto found = find_kernel("", "");
        BOOST_REQUIRE_MESSAGE(found, (found ? "" : found.error().message));
        return *found;
    }();
    return kFound;
}

// UDP in IPv4 with the sum of the pseudo header where the checksum is to be.
agent::OffloadFrame half_finished() {
    agent::OffloadFrame frame;
    frame.bytes = {0x02, 0x70, 0x70, 0x01, 0x0a, 0x02, 0x02, 0x70, 0x70, 0x01, 0x0a,
                   0x01, 0x08, 0x00, 0x45, 0x00, 0x00, 0x2e, 0x00, 0x01, 0x00, 0x00,
                   0x40, 0x11, 0xee, 0x96, 0xc6, 0x12, 0x00, 0x01, 0xc6, 0x12, 0x00,
                   0x02, 0x10, 0x00, 0x20, 0x00, 0x00, 0x1a, 0x8c, 0x53};
    for (std::uint8_t i = 0; i < 18; ++i) {
        frame.bytes.push_back(i);
    }
    frame.request.flags = 1;  // VIRTIO_NET_HDR_F_NEEDS_CSUM
    frame.request.csum_start = 34;
    frame.request.csum_offset = 6;
    return frame;
}

// RFC 1071 over pseudo header and datagram: 0xffff where the checksum is right.
std::uint32_t udp_sum(const std::vector<std::uint8_t>& bytes) {
    constexpr std::size_t kAddresses = 26;
    std::uint32_t sum = 17 + 26;
    for (std::size_t at = kAddresses; at < 60; at += 2) {
        sum += static_cast<std::uint32_t>(bytes.at(at) << 8 | bytes.at(at + 1));
    }
    while (sum > 0xffff) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return sum;
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_emulated_nic_finishes_what_its_driver_leaves_to_it) {
    const Netns netns;
    auto booted = Guest::boot({kernel(), parse_nics("e1000e")->front(), "", kNetns});
    BOOST_REQUIRE_MESSAGE(booted, (booted ? "" : booted.error().message));
    Guest& guest = **booted;
    BOOST_TEST_MESSAGE("boot to the agent's answer: " << guest.boot_seconds() << " s");
    BOOST_TEST(contains(guest.agent()->hello().kernel, kernel().release));
    const auto info = guest.agent()->device(device_of(0));
    BOOST_REQUIRE_MESSAGE(info, (info ? "" : info.error().message));
    BOOST_TEST(info->driver == "e1000e");
    BOOST_REQUIRE(info->pci);
    BOOST_TEST(info->pci->vendor == "0x8086");
    BOOST_TEST(info->pci->device == "0x10d3");
    const auto settings = guest.agent()->nic_facts(device_of(0));
    BOOST_REQUIRE_MESSAGE(settings, (settings ? "" : settings.error().message));
    const auto told = [](const std::vector<verdict::Fact>& facts, const char* name) {
        const auto found = std::ranges::find(facts, name, &verdict::Fact::name);
        return found == facts.end() ? "" : found->value;
    };
    BOOST_TEST(told(*settings, "rings") == "rx 256, tx 256; at most rx 4096, tx 4096");
    BOOST_TEST(contains(told(*settings, "interrupt coalescing"), "rx-usecs "));
    BOOST_TEST(!told(*settings, "CPUs of its interrupts").empty());
    const auto host = guest.agent()->host_facts();
    BOOST_REQUIRE_MESSAGE(host, (host ? "" : host.error().message));
    BOOST_TEST(contains(told(host->at(1).facts, "system"), "PC"));
    BOOST_TEST(contains(told(host->at(0).facts, "command line"), "net.ifnames=0"));
    BOOST_REQUIRE(lab::run_ip_in(kNetns, "link set " + tap_of(0) + " up"));
    lab::RawPort port(kNetns, tap_of(0));
    const agent::OffloadFrame frame = half_finished();
    BOOST_TEST(udp_sum(frame.bytes) != 0xffffu);
    const auto sent = guest.agent()->send_frames(device_of(0), {frame});
    BOOST_REQUIRE_MESSAGE(sent, (sent ? "" : sent.error().message));
    BOOST_TEST(sent->refusals.empty());
    auto frames = port.receive(2000);
    std::erase_if(frames, [&](const auto& bytes) {
        return bytes.size() < 60 ||
               !std::equal(bytes.begin(), bytes.begin() + 12, frame.bytes.begin());
    });
    BOOST_REQUIRE(frames.size() == 1u);
    BOOST_TEST(udp_sum(frames.front()) == 0xffffu);
    // The agent's own journal keeps the changes made on its host.
    const auto trial = guest.agent()->try_feature(device_of(0), "tx-checksum-ip-generic", false);
    BOOST_REQUIRE_MESSAGE(trial, (trial ? "" : trial.error().message));
    const auto is_on = [&] {
        const auto features = guest.agent()->features(device_of(0));
        BOOST_REQUIRE(features);
        return std::ranges::find(*features, "tx-checksum-ip-generic", &agent::Feature::name)
            ->active;
    };
    BOOST_TEST(!is_on());
    const auto left = guest.agent()->put_back();
    BOOST_REQUIRE_MESSAGE(left, (left ? "" : left.error().message));
    BOOST_TEST(left->empty());
    BOOST_TEST(is_on());
    // A guest that is gone is told of at once.
    BOOST_REQUIRE(kill(guest.agent()->pid(), SIGKILL) == 0);
    const auto gone = guest.agent()->features(device_of(0));
    BOOST_REQUIRE(!gone);
    BOOST_TEST(contains(gone.error().message, "the guest with e1000e"), gone.error().message);
    booted->reset();
    BOOST_TEST(lab::shell_status(kNetns, "ip link show " + tap_of(0) + " 2>/dev/null") != 0);
}

BOOST_AUTO_TEST_CASE(a_guest_that_does_not_come_up_says_why_and_is_gone) {
    const Netns netns;
    const lab::TempFolder folder;
    folder.write("rtl8139/8139cp.ko", "\177ELF, and no module");
    auto booted = Guest::boot(
        {kernel(), parse_nics("rtl8139")->front(), folder.path() + "/rtl8139/8139cp.ko", kNetns});
    BOOST_REQUIRE(!booted);
    const std::string& why = booted.error().message;
    BOOST_TEST((booted.error().code == ErrorCode::kUnavailable));
    BOOST_TEST(contains(why, "the guest with rtl8139"), why);
    BOOST_TEST(contains(why, "the kernel does not take the module /modules/8139cp.ko"), why);
    BOOST_TEST(lab::shell("", std::string("ip netns pids ") + kNetns) == "");
}
