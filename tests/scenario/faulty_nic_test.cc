// `offload check` of a NIC in user space: each planted fault found, located and named, with exit code
// 1, and a healthy one accused of nothing.
#define BOOST_TEST_MODULE faulty_nic
#include <fmt/format.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "harness/process/program.h"
#include "tests/scenario/lab_run.h"
#include "tests/scenario/user_nic.h"

using namespace pathproof;
using nlohmann::json;

namespace {

struct Planted {
    const char* name;
    UserFault fault;
    int status;                            // of `offload check`
    std::vector<const char*> says;         // in headline, cause or cure
    std::vector<const char*> spares = {};  // words that would accuse somebody else
    bool quick = false;                    // in the lab ring too
};

// Behind all tags.
std::size_t network_of(const UserFrame& frame) {
    std::size_t at = 14;
    while (frame[at - 2] == 0x81 || frame[at - 2] == 0x88) {
        if (frame[at - 1] != 0x00 && frame[at - 1] != 0xa8) {
            break;
        }
        at += 4;
    }
    return at;
}

bool is_long_tagged(const UserFrame& frame) {
    return frame.size() > 1514 && frame[12] == 0x81 && frame[13] == 0;
}

bool cut_long_tagged(UserFrame& frame, std::uint64_t) {
    frame.resize(is_long_tagged(frame) ? 1514 : frame.size());
    return true;
}

std::uint16_t plus(std::uint16_t value, std::uint16_t more) {
    const std::uint32_t sum = std::uint32_t{value} + more;
    return static_cast<std::uint16_t>((sum & 0xffff) + (sum >> 16));
}

const std::vector<Planted>& planted() {
    static const std::vector<Planted> all = {
        {"healthy", {}, 0, {"No defect found"}, {"UNKNOWN", "stops"}, true},
        // The path, with nothing left to the NIC.
        {"tagged frames of full size lose 4 bytes",
         {.out = cut_long_tagged, .in = cut_long_tagged},
         1,
         {"frames of more than 1514 bytes", "the last 4 bytes are missing"},
         {},
         true},
        {"tagged frames of full size are lost",
         {.out = [](UserFrame& frame, std::uint64_t) { return !is_long_tagged(frame); }},
         1,
         {"frames of more than 1514 bytes", "never came"}},
        {"tagged frames of full size are lost on receipt",
         {.in = [](UserFrame& frame, std::uint64_t) { return !is_long_tagged(frame); }},
         1,
         {"from wire0 to nic0 never came", "frames of more than 1514 bytes"}},
        {"two bytes more behind each frame above 1000",
         {.out =
              [](UserFrame& frame, std::uint64_t) {
                  frame.resize(frame.size() > 1000 ? frame.size() + 2 : frame.size());
                  return true;
              }},
         1,
         {"2 bytes more at its end", "more than"}},
        {"a bit of every 50th frame is turned over",
         {.out =
              [](UserFrame& frame, std::uint64_t number) {
                  frame.back() ^= number % 50 == 49 ? 1 : 0;
                  return true;
              }},
         1,
         {"now and then"}},
        {"frames of IPv6 above 1000 bytes are lost",
         {.out =
              [](UserFrame& frame, std::uint64_t) {
                  return frame.size() <= 1000 || frame[12] != 0x86 || frame[13] != 0xdd;
              }},
         1,
         {"never came", "network ipv6", "bytes of data"}},
        {"frames above 1400 bytes lose 2 bytes on receipt",
         {.in =
              [](UserFrame& frame, std::uint64_t) {
                  frame.resize(frame.size() > 1400 ? frame.size() - 2 : frame.size());
                  return true;
              }},
         1,
         {"from wire0 to nic0", "the last 2 bytes are missing", "more than"}},
        {"a bit of every 50th frame is turned over on receipt",
         {.in =
              [](UserFrame& frame, std::uint64_t number) {
                  frame.back() ^= number % 50 == 49 ? 1 : 0;
                  return true;
              }},
         1,
         {"now and then"}},
        // Checksums that are left to it.
        {"every second checksum is that of the frame before",
         {.checksum =
              [](const UserWork& work, std::uint16_t right) {
                  return work.checksums % 2 == 1 ? work.last : right;
              }},
         1,
         {"FRAME_BEFORE", "every 2nd of", "frames whose checksum is left to it"},
         {"Looks like"}},
        {"every third checksum is 0x0200 too much",
         {.checksum = [](const UserWork& work, std::uint16_t right) -> std::uint16_t {
             return work.checksums % 3 == 2 ? plus(right, 0x0200) : right;
         }},
         1,
         {"OFFSET(+0x0200)", "every 3rd of"}},
        {"one checksum in 200 has its bytes swapped",
         {.checksum = [](const UserWork& work, std::uint16_t right) -> std::uint16_t {
             return work.checksums % 200 == 199
                        ? static_cast<std::uint16_t>(right << 8 | right >> 8)
                        : right;
         }},
         1,
         {"SWAP", "In time, frames whose checksum is left to it"}},
        {"no checksum above 1498 bytes",
         {.checksum = [](const UserWork& work, std::uint16_t right) -> std::uint16_t {
             return work.frame.size() > 1498 ? 0 : right;
         }},
         1,
         {"more than 1498 bytes"},
         {},
         true},
        {"checksums of IPv6 have their bytes swapped",
         {.checksum = [](const UserWork& work, std::uint16_t right) -> std::uint16_t {
             return work.ipv6() ? static_cast<std::uint16_t>(right << 8 | right >> 8) : right;
         }},
         1,
         {"SWAP", "ipv6"}},
        {"checksums of TCP are inverted",
         {.checksum = [](const UserWork& work, std::uint16_t right) -> std::uint16_t {
             return static_cast<std::uint16_t>(work.tcp() ? ~right : right);
         }},
         1,
         {"COMPLEMENT", "transport tcp"}},
        {"checksums are always 0x5a17 in tagged frames",
         {.checksum = [](const UserWork& work, std::uint16_t right) -> std::uint16_t {
             return work.tagged() ? 0x5a17 : right;
         }},
         1,
         {"CONSTANT(0x5a17)", "VLAN"}},
        {"UDP is left unfinished",
         {.leaves_unfinished = [](const UserWork& work) { return !work.tcp(); }},
         1,
         {"PSEUDO", "transport"}},
        {"every 5th checksum is left unfinished",
         {.leaves_unfinished = [](const UserWork& work) { return work.frames % 5 == 4; }},
         1,
         {"PSEUDO", "In time, "}},
        {"the last byte of odd lengths is left out",
         {.checksum = [](const UserWork& work, std::uint16_t right) -> std::uint16_t {
             const bool odd = work.frame.size() % 2 == 1;
             return odd ? plus(right, static_cast<std::uint16_t>(work.frame.back() << 8)) : right;
         }},
         1,
         {"ODD_LAST_DROPPED"}},
        {"the checksum of TCP over IPv6 is left 0",
         {.checksum = [](const UserWork& work, std::uint16_t right) -> std::uint16_t {
             return work.ipv6() && work.tcp() ? 0 : right;
         }},
         1,
         {"FIELD_ZERO", "ipv6"}},
        {"the complement of the pseudo-header's sum is written",
         {.checksum = [](const UserWork& work, std::uint16_t) -> std::uint16_t {
             return static_cast<std::uint16_t>(~work.held);
         }},
         1,
         {"PSEUDO_INV"}},
        {"the pseudo-header is summed twice",
         {.checksum = [](const UserWork& work, std::uint16_t right) -> std::uint16_t {
             return plus(right, static_cast<std::uint16_t>(~work.held));
         }},
         1,
         {"DOUBLE"}},
        {"all checksums are 1 too much",
         {.checksum = [](const UserWork&, std::uint16_t right) { return plus(right, 1); }},
         1,
         {"CARRY"}},
        {"two bits of all checksums are turned over",
         {.checksum = [](const UserWork&, std::uint16_t right) -> std::uint16_t {
             return right ^ 0x0810;
         }},
         1,
         {"BITS(0x0810)"}},
        {"checksums of tagged TCP have their bytes swapped",
         {.checksum = [](const UserWork& work, std::uint16_t right) -> std::uint16_t {
             return work.tagged() && work.tcp()
                        ? static_cast<std::uint16_t>(right << 8 | right >> 8)
                        : right;
         }},
         1,
         {"SWAP", "VLAN", "tcp"}},
        {"checksums of UDP are inverted",
         {.checksum = [](const UserWork& work, std::uint16_t right) -> std::uint16_t {
             return static_cast<std::uint16_t>(work.tcp() ? right : ~right);
         }},
         1,
         {"COMPLEMENT", "transport udp"}},
        {"checksums of UDP are always 0xffff",
         {.checksum = [](const UserWork& work, std::uint16_t right) -> std::uint16_t {
             return work.tcp() ? right : 0xffff;
         }},
         1,
         {"CONSTANT(0xffff)", "transport udp"}},
        {"every 7th checksum is left 0",
         {.checksum = [](const UserWork& work, std::uint16_t right) -> std::uint16_t {
             return work.checksums % 7 == 6 ? 0 : right;
         }},
         1,
         {"FIELD_ZERO", "every 7th of"}},
        {"IPv6 is left unfinished",
         {.leaves_unfinished = [](const UserWork& work) { return work.ipv6(); }},
         1,
         {"PSEUDO", "ipv6"}},
        {"frames above 1000 bytes are left unfinished",
         {.leaves_unfinished = [](const UserWork& work) { return work.frame.size() > 1000; }},
         1,
         {"PSEUDO", "more than 1000 bytes"}},
        // Super-frames.
        {"super-frames are lost",
         {.loses = [](const UserWork& work) { return work.super_frame; }},
         1,
         {"MISSING", "segmentation"}},
        {"super-frames of UDP are lost",
         {.loses = [](const UserWork& work) { return work.super_frame && !work.tcp(); }},
         1,
         {"MISSING", "segmentation udp"}},
        {"segments beyond eight leave in the wrong order",
         {.segments =
              [](std::vector<UserFrame>& segments) {
                  if (segments.size() > 8) {
                      std::swap(segments[7], segments[8]);
                  }
              }},
         1,
         {"MISORDERED", "more than 8 segments"}},
        {"the last segment leaves twice",
         {.segments =
              [](std::vector<UserFrame>& segments) { segments.push_back(segments.back()); }},
         1,
         {"DOUBLED"}},
        {"the first segment leaves twice",
         {.segments =
              [](std::vector<UserFrame>& segments) {
                  segments.insert(segments.begin(), segments.front());
              }},
         1,
         {"DOUBLED"}},
        {"the last segment is lost",
         {.segments = [](std::vector<UserFrame>& segments) { segments.pop_back(); }},
         1,
         {"MISSING", "segmentation"}},
        {"segments beyond the 16th are lost",
         {.segments =
              [](std::vector<UserFrame>& segments) {
                  segments.resize(std::min<std::size_t>(segments.size(), 16));
              }},
         1,
         {"MISSING", "more than 16 segments"}},
        {"super-frames of more than 40 segments are lost",
         {.loses =
              [](const UserWork& work) {
                  return work.super_frame && !work.ipv6() && work.frame.size() > 60'000;
              }},
         1,
         {"MISSING", "bytes of data"}},
        {"a last segment of an odd number of bytes is lost",
         {.segments =
              [](std::vector<UserFrame>& segments) {
                  const UserFrame& last = segments.back();
                  const std::size_t network = network_of(last);
                  const bool tcp = last[network] >> 4 == 4 && last[network + 9] == 6;
                  if (tcp && last[network + 3] % 2 != 0) {  // its headers have an even length
                      segments.pop_back();
                  }
              }},
         1,
         {"MISSING", "an odd number of bytes in the last segment"}},
        {"the last two segments change places",
         {.segments =
              [](std::vector<UserFrame>& segments) {
                  if (segments.size() > 1) {
                      std::swap(segments[segments.size() - 1], segments[segments.size() - 2]);
                  }
              }},
         1,
         {"MISORDERED"}},
        {"super-frames of IPv6 are lost",
         {.loses = [](const UserWork& work) { return work.super_frame && work.ipv6(); }},
         1,
         {"MISSING", "ipv6"}},
        {"tagged super-frames are lost",
         {.loses = [](const UserWork& work) { return work.super_frame && work.tagged(); }},
         1,
         {"MISSING", "VLAN"}},
        {"every segment has PSH",
         {.segments =
              [](std::vector<UserFrame>& segments) {
                  for (UserFrame& segment : segments) {
                      if (segment[14 + 9] == 6) {
                          segment[14 + 20 + 13] |= 0x08;
                      }
                  }
              }},
         1,
         {"SEG_HDR"}},
        // In time.
        {"it stalls for a second at every 60th super-frame",
         {.stalls =
              [](const UserWork& work) {
                  return work.super_frame && work.super_frames % 60 == 59 ? 1000 : 0;
              }},
         1,
         {"stops sending", "each began with a super-frame", " off"},
         {"far end of this device's cable"},
         true},
        {"it stalls for half a second at every 900th frame",
         {.stalls = [](const UserWork& work) { return work.frames % 900 == 899 ? 500 : 0; }},
         1,
         {"stops sending"}},
        {"every 40th frame whose checksum is left to it is lost",
         {.loses =
              [](const UserWork& work) {
                  static std::uint64_t taken = 0;
                  return work.super_frame && ++taken % 10 == 0;
              }},
         1,
         {"lost", "super-frames"}},
    };
    return all;
}

class Ends {
  public:
    Ends()
        : dut(fmt::format("pp-user-nic-{}", getpid())),
          far(fmt::format("pp-user-far-{}", getpid())) {
        for (const std::string& netns : {dut, far}) {
            BOOST_REQUIRE(process::run_program({"ip", "netns", "add", netns}).has_value());
        }
    }
    ~Ends() {
        for (const std::string& netns : {dut, far}) {
            static_cast<void>(process::run_program({"ip", "netns", "delete", netns}));
        }
    }
    const std::string dut;
    const std::string far;
};

std::string text_in(const json& scenario) {
    std::string text;
    for (const char* key : {"headline", "cause", "cure"}) {
        text += scenario.value(key, "") + "\n";
    }
    return text;
}

void check(const Planted& row) {
    const Ends ends;
    UserNic nic(ends.dut, "nic0", ends.far, "wire0", row.fault);
    const auto done =
        pathproof_run({"offload", "check", "nic0", "--netns", ends.dut, "--tester", "wire0",
                       "--tester-netns", ends.far, "--quick", "--seed", "7", "--json"});
    const std::uint64_t acted = nic.stop();
    const json report = json::parse(done.out, nullptr, false);
    BOOST_REQUIRE_MESSAGE(report.is_object(), row.name << ": " << done.err);
    const std::string text = text_in(scenario_named(report, "offload-truth"));
    BOOST_TEST(done.exit_status == row.status, row.name << ": " << text);
    BOOST_TEST((acted != 0) == (row.status != 0), row.name << ": acted " << acted << " times");
    for (const char* words : row.says) {
        BOOST_TEST(text.find(words) != std::string::npos,
                   row.name << ": lacks '" << words << "': " << text);
    }
    for (const char* words : row.spares) {
        BOOST_TEST(text.find(words) == std::string::npos,
                   row.name << ": has '" << words << "': " << text);
    }
    fmt::print("{:<52} exit {}, acted {}\n", row.name, done.exit_status, acted);
    std::fflush(stdout);
}

// nic0 and q0 of the DUT's namespace on a bridge, behind which a second NIC in user space is the rest of the
// path to the tester's t0.
struct BridgedPath {
    const Ends ends;
    const std::string between = fmt::format("pp-user-mid-{}", getpid());
    std::unique_ptr<UserNic> nic, rest;

    BridgedPath(const UserFault& of_nic, const UserFault& of_rest) {
        run("ip netns add " + between);
        nic = std::make_unique<UserNic>(ends.dut, "nic0", between, "wire0", of_nic);
        rest = std::make_unique<UserNic>(between, "p0", ends.far, "t0", of_rest);
        run(fmt::format("ip -n {0} link add q0 type veth peer name wq netns {1}", ends.dut,
                        between));
        run(fmt::format("ip -n {} link add br0 type bridge", between));
        // Netfilter's bridge hooks cut what lies behind an IP packet.
        for (const char* tables : {"iptables", "ip6tables"}) {
            static_cast<void>(
                process::run_program({"ip", "netns", "exec", between, "sysctl", "-qw",
                                      fmt::format("net.bridge.bridge-nf-call-{}=0", tables)}));
        }
        for (const char* port : {"wire0", "wq", "p0"}) {
            run(fmt::format("ip -n {0} link set {1} master br0; ip -n {0} link set {1} up", between,
                            port));
        }
        run(
            fmt::format("for f in br0 wq; do ip netns exec {0} sysctl -qw "
                        "net.ipv6.conf.$f.disable_ipv6=1; done; ip -n {0} link set br0 up; "
                        "ip netns exec {1} sysctl -qw net.ipv6.conf.q0.disable_ipv6=1; "
                        "ip -n {1} link set q0 arp off up",
                        between, ends.dut));
    }
    ~BridgedPath() {
        nic.reset();
        rest.reset();
        static_cast<void>(process::run_program({"ip", "netns", "delete", between}));
    }
    static void run(const std::string& commands) {
        const auto done = process::run_checked({"sh", "-ec", commands});
        BOOST_REQUIRE_MESSAGE(done, commands << ": " << done.error().message);
    }
    process::ProgramOutput check(const std::vector<std::string>& options) const {
        std::vector<std::string> words = {
            "offload",        "check",  "nic0",    "--netns", ends.dut, "--tester", "t0",
            "--tester-netns", ends.far, "--quick", "--seed",  "7",      "--json"};
        words.insert(words.end(), options.begin(), options.end());
        return pathproof_run(words);
    }
};

void check_each(bool quick_only) {
    const char* only = std::getenv("PATHPROOF_FAULT");  // those with this word in their name
    for (const Planted& row : planted()) {
        const bool wanted = only == nullptr ? !quick_only || row.quick
                                            : std::string(row.name).find(only) != std::string::npos;
        if (wanted) {
            check(row);
        }
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(few) {
    check_each(true);
}

BOOST_AUTO_TEST_CASE(all) {
    BOOST_TEST(planted().size() > 40U);
    check_each(false);
}

BOOST_AUTO_TEST_CASE(another_device_tells_the_nic_from_the_path) {
    const UserFault cuts{.out = cut_long_tagged};
    struct Case {
        UserFault nic, rest;
        int status;
        const char* says;
    };
    const std::vector<Case> cases = {
        {cuts, {}, 1, "The same frames by another device come right"},
        {{}, cuts, 3, "The same frames by another device come wrong too"},
        {{}, {}, 0, "No defect found"},
    };
    for (const Case& each : cases) {
        const BridgedPath path(each.nic, each.rest);
        const auto done = path.check({"--path-proven-by", "q0"});
        const json report = json::parse(done.out, nullptr, false);
        BOOST_REQUIRE_MESSAGE(report.is_object(), done.err);
        const std::string text = text_in(scenario_named(report, "offload-truth"));
        BOOST_TEST(done.exit_status == each.status, text);
        BOOST_TEST(text.find(each.says) != std::string::npos, text);
        BOOST_TEST(report["options"]["path_proven_by"] == "q0");
    }
    const BridgedPath path({}, {});
    for (const auto& [device, says] :
         {std::pair("nic0", "the device under test"), {"nowhere", "--path-proven-by nowhere"}}) {
        const auto done = path.check({"--path-proven-by", device});
        BOOST_TEST(done.exit_status == 2, done.err);
        BOOST_TEST(done.err.find(says) != std::string::npos, done.err);
    }
}
