// Answers of the data plane's commands to input that makes no sense: a sentence that names it, exit
// code 2, and nothing on standard output. The ports are DPDK's own; no privileges are needed.
#define BOOST_TEST_MODULE bad_input
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "harness/process/program.h"
#include "tests/load/capture_bytes.h"

using namespace pathproof;
using load::Octets;

namespace {

const std::string kPort = "net_null0,no-rx=1 ";
const std::string kGenerate =
    "generate " + kPort +
    "--destination 203.0.113.2 --destination-mac 02:70:70:00:01:01 --count 5 ";
const std::string kRespond = "respond " + kPort + "--duration 0.1 --rule address=192.0.2.1 ";
const std::string kWire = "wire " + kPort + "net_null1,no-rx=1 --duration 0.1 ";

// `exec`: how a shell starts the binary.
void refused(const std::string& words, const std::string& sentence,
             const std::string& exec = "exec timeout 10 ",
             const char* binary = std::getenv("PATHPROOF_BINARY")) {
    BOOST_REQUIRE_MESSAGE(binary != nullptr, "PATHPROOF_BINARY must name the binary");
    const auto out = process::run_program({"sh", "-c", exec + std::string(binary) + " " + words});
    BOOST_REQUIRE_MESSAGE(out, (out ? "" : out.error().message));
    BOOST_TEST_CONTEXT(words << "\n" << out->err) {
        BOOST_TEST(out->exit_status == 2);
        BOOST_TEST(out->out == "");
        BOOST_TEST(out->err.starts_with("pathproof: "));
        BOOST_TEST(out->err.find(sentence) != std::string::npos);
        BOOST_TEST(out->err.size() < 400U);
    }
}

class CaptureFile {
  public:
    explicit CaptureFile(const Octets& bytes)
        : path_(std::filesystem::temp_directory_path() /
                ("pp-bad-input-" + std::to_string(getpid()) + ".pcap")) {
        std::ofstream(path_, std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()),
                   static_cast<std::streamsize>(bytes.size()));
    }
    CaptureFile(const CaptureFile&) = delete;
    CaptureFile& operator=(const CaptureFile&) = delete;
    ~CaptureFile() { std::filesystem::remove(path_); }

    std::string replay() const { return "generate " + kPort + "--replay " + path_.string() + " "; }
    std::string named(const std::string& sentence) const {
        return "--replay: capture file " + path_.string() + sentence;
    }

  private:
    std::filesystem::path path_;
};

Octets three_frames() {
    Octets file = load::pcap_file();
    for (std::uint32_t second = 1; second <= 3; ++second) {
        load::add_frame(file, second, 0, Octets(60, 2));
    }
    return file;
}

Octets without_last(Octets file, std::size_t bytes) {
    file.resize(file.size() - bytes);
    return file;
}

}  // namespace

BOOST_AUTO_TEST_CASE(rates_that_no_clock_can_keep_are_refused) {
    refused(kGenerate + "--rate 0", "'0' is not a number above 0");
    refused(kGenerate + "--rate -1", "'-1' is not a number above 0");
    refused(kGenerate + "--rate nan", "'nan' is not a number above 0");
    refused(kGenerate + "--rate 1e300", "is not between 0.001 and 1000000000");
    refused(kGenerate + "--rate 1e-300", "is not between 0.001 and 1000000000");
    refused(kGenerate + "--rate 10Gbitt", "'10Gbitt' is none of");
    refused(kGenerate + "--rate 5%", "no speed that is known");
}

BOOST_AUTO_TEST_CASE(frames_that_no_buffer_holds_are_refused) {
    refused(kGenerate + "--size 9000",
            "frames of 9000 bytes (with FCS) do not fit the buffers of port net_null0, which hold "
            "at most 2308");
    refused(kGenerate + "--size nan", "'nan' bytes is not in 64..");
    refused(kGenerate + "--size 1e9", "'1e9' bytes is not in 64..");
}

BOOST_AUTO_TEST_CASE(times_and_counts_are_numbers_that_a_clock_holds) {
    refused(kGenerate + "--duration nan", "--duration: 'nan' is not a number above 0");
    refused(kGenerate + "--drain nan", "--drain: 'nan' is not a number from 0 to 3600");
    refused(kGenerate + "--drain 1e300", "--drain: '1e300' is not a number from 0 to 3600");
    refused(kGenerate + "--timeout nan", "--timeout: 'nan' is not a number above 0");
    refused(kGenerate + "--count 99999999999999999999", "is not a whole number above 0");
    refused(kGenerate + "--pair-skew -1", "--pair-skew: '-1' is not a whole number");
    refused(kRespond + "--duration nan", "--duration: 'nan' is not a number above 0");
    refused("inspect watch --duration nan", "--duration: 'nan' is not a number above 0");
    refused("inspect drops --interval nan", "--interval: 'nan' is not a number from 0.01 to 86400");
    for (const std::string number : {"nan", "1e300", "0"}) {
        refused("inspect stats --interval " + number,
                "--interval: '" + number + "' is not a number from 0.001 to 86400");
    }
}

BOOST_AUTO_TEST_CASE(tags_beyond_two_are_refused_however_many) {
    for (const unsigned many : {3U, 4U, 60U, 4000U}) {
        std::string tags;
        for (unsigned n = 0; n < many; ++n) {
            tags += "--vlan " + std::to_string(n) + " ";
        }
        refused(kGenerate + tags, "--vlan was given " + std::to_string(many) +
                                      " times; a frame has two tags at most");
    }
}

BOOST_AUTO_TEST_CASE(numbers_are_taken_as_typed_or_not_at_all) {
    for (const std::string wrong : {"-1", "99999999999999999999", "010", "0x10", "1.5", "nan"}) {
        refused(kGenerate + "--seed " + wrong, "--seed: '" + wrong + "' is not a whole number");
        refused("qualify --only x --seed " + wrong, "--seed");
        refused("repro x --seed " + wrong, "--seed");
        refused("offload calibrate --seed " + wrong, "--seed");
        refused("offload check --software-nic --seed " + wrong, "--seed");
        refused("bench dataplane --only verify --seed " + wrong, "--seed");
        refused("lab up nat-box --backends " + wrong, "--backends");
    }
    refused("inspect stats --interval 1e300", "--interval: '1e300' is not a number from 0.0");
}

BOOST_AUTO_TEST_CASE(an_empty_value_is_no_way_to_leave_an_option_out) {
    for (const std::string command :
         {"inspect dump", "inspect watch", "inspect clashes", "inspect backends", "inspect stats",
          "inspect drops", "inspect top", "inspect export", "offload show lo",
          "offload set lo tx=on", "offload check lo", "profile probe lo", "search mlr lo"}) {
        refused(command + " --netns ''", "(behind '--netns') is empty");
        refused(command + " --netns=", "is empty");
    }
    for (const std::string& command : {kGenerate, kRespond, kWire}) {
        refused(command + "--netns ''", "(behind '--netns') is empty");
    }
    refused(kGenerate + "--suffix ''", "(behind '--suffix') is empty");
    refused(kGenerate + "--mix ''", "(behind '--mix') is empty");
    refused("respond " + kPort + "--rule cname=", "there is no value behind 'cname'");
}

BOOST_AUTO_TEST_CASE(addresses_of_no_one_machine_are_refused) {
    const std::string to = "generate " + kPort + "--destination-mac 02:70:70:00:01:01 --count 5 ";
    for (const std::string address : {"0.0.0.0", "127.0.0.1", "224.0.0.1", "255.255.255.255"}) {
        refused(to + "--destination " + address,
                "destination " + address + " is not the address of one machine");
        refused(kGenerate + "--source " + address,
                "source " + address + " is not the address of one machine");
    }
    for (const std::string address : {"::", "::1", "ff02::1"}) {
        refused(to + "--destination " + address, "is not the address of one machine");
    }
    refused("generate " + kPort +
                "--destination 203.0.113.2 --destination-mac 00:00:00:00:00:00 --count 5",
            "--destination-mac 00:00:00:00:00:00 is no station's");
    refused(kGenerate + "--source-mac 01:00:5e:00:00:01", "is a group's");
    refused("respond " + kPort + "--rule type=A,address=2001:db8::1",
            "none of its addresses can be in an answer of type A");
}

BOOST_AUTO_TEST_CASE(lengths_are_said_as_they_are_typed_with_fcs) {
    refused(kGenerate + "--size 64",
            "bytes at least with these headers and its FCS; 64 is too few");
}

BOOST_AUTO_TEST_CASE(the_word_that_is_no_command_is_named_with_those_there_are) {
    refused("foo", "unknown command 'foo'; there are: qualify, repro, inspect");
    refused("inspect foo", "unknown command 'inspect foo'; there are: dump, watch");
    refused("offload foo", "unknown command 'offload foo'; there are: show, set");
    refused("search foo c0", "unknown command 'search foo'; there are: ");
    refused("lab up foo", "unknown command 'lab up foo'; there are: overlay, nat-box");
    refused("qualfiy", "unknown command 'qualfiy'; did you mean qualify? There are: qualify, ");
    refused("inspect wacth", "unknown command 'inspect wacth'; did you mean watch? There are: ");
    refused("qualify x --onyl dns-race", "'qualify' has no option '--onyl'; did you mean --only?");
    refused("inspect dump --jsno", "'inspect dump' has no option '--jsno'; did you mean --json?");
    refused("--verison", "pathproof has no option '--verison'; did you mean --version?");
    refused("qualify x",
            "'qualify' takes no further argument: 'x'\nTry 'pathproof qualify --help'");
    refused("repro dns-rcae", "unknown scenario 'dns-rcae'; did you mean dns-race? There are: ");
    refused("help qualfiy", "unknown command 'qualfiy'; did you mean qualify?");
    refused("offload check c0 --tester-netns nosuch", "--tester-netns requires --tester");
}

BOOST_AUTO_TEST_CASE(cpus_queues_ports_and_seeds_are_whole_numbers) {
    for (const std::string& command : {kGenerate, kRespond, kWire}) {
        refused(command + "--cpu -1", "--cpu: '-1' is not the number of a CPU");
        refused(command + "--cpu ''", "(behind '--cpu') is empty");
        refused(command + "--cpu 1e9", "--cpu: '1e9' is not the number of a CPU");
        refused(command + "--cpu 60000", "CPU 60000 is not one this process may use");
    }
    refused(kGenerate + "--queues 65536", "--queues: '65536' is not a whole number of 1 to 65535");
    refused(kGenerate + "--queues 17", "--queues 17: a run has at most 16");
    refused(kRespond + "--queues -1", "--queues: '-1' is not a whole number of 1 to 1024");
    refused(kGenerate + "--source-port 70000", "--source-port: '70000' is not a whole number");
    refused(kGenerate + "--source-ports -1", "--source-ports: '-1' is not a whole number");
    refused(kRespond + "--vxlan-port -1", "--vxlan-port: '-1' is not a whole number of 1 to 65535");
    refused(kWire + "--vxlan-port 0", "--vxlan-port: '0' is not a whole number of 1 to 65535");
    refused(kGenerate + "--seed -1", "--seed: '-1' is not a whole number");
    refused(kRespond + "--seed -1", "--seed: '-1' is not a whole number");
}

BOOST_AUTO_TEST_CASE(devices_that_dpdk_cannot_make_are_named) {
    const std::string to = " --destination 203.0.113.2 --destination-mac 02:70:70:00:01:01";
    refused("generate net_foo0" + to, "DPDK has no driver for 'net_foo0'");
    refused("wire net_foo0 net_null1,no-rx=1", "DPDK has no driver for 'net_foo0'");
    refused("wire net_null0 net_null0", "port 'net_null0' is named twice");
    refused("generate net_ring0 --receive net_ring0,foo=1" + to, "is named twice");
    refused("generate net_null0,foo=1" + to,
            "DPDK could not make the device 'net_null0'; look at its arguments");
    refused("respond net_ring0 --rule address=192.0.2.1 --queues 17",
            "has 16 receive and 16 transmit queues; 17 and 17 were asked for");
    refused(kGenerate + "--checksum udp=offload", "lacks the transmit offload UDP_CKSUM");
}

#ifndef __SANITIZE_ADDRESS__  // which needs terabytes of addresses itself
BOOST_AUTO_TEST_CASE(too_little_memory_is_called_so) {
    refused(kGenerate, "there is not enough memory for it; 'ulimit -v'", "ulimit -v 200000; exec ");
}
#endif

BOOST_AUTO_TEST_CASE(captures_that_cannot_be_replayed_are_told_of_by_file_frame_and_byte) {
    {
        const CaptureFile empty({});
        refused(empty.replay(), empty.named(" is empty"));
    }
    {
        const CaptureFile cut(without_last(load::pcap_file(), 14));
        refused(cut.replay(), cut.named(": truncated dump file"));
    }
    {
        const CaptureFile none(load::pcap_file());
        refused(none.replay(), none.named(": there is no frame in it"));
    }
    {
        const CaptureFile cut(without_last(three_frames(), 7));
        refused(cut.replay(), cut.named(": frame 3, at byte 176, cannot be read"));
        refused(cut.replay(), "--replay-cut sends the 2 frames before it");
    }
    {
        const CaptureFile raw(load::pcap_file(load::kMicroseconds, 101));
        refused(raw.replay(), raw.named(": its frames are of link type"));
    }
    {
        Octets file = load::pcapng_file();
        load::add_block(file, 1, Octets(60, 2));
        const CaptureFile cut(without_last(file, 5));
        refused(cut.replay(), cut.named(": frame 1, at byte"));
    }
    refused("generate " + kPort + "--replay /nowhere.pcap",
            "--replay: capture file /nowhere.pcap: No such file or directory");
}

BOOST_AUTO_TEST_CASE(options_that_a_replay_would_pass_over_are_refused) {
    const CaptureFile whole(three_frames());
    refused(whole.replay() + "--size 100", "--size excludes --replay");
    refused(whole.replay() + "--mix dns-a=1", "--mix excludes --replay");
    refused(whole.replay() + "--destination 203.0.113.2", "--destination excludes --replay");
    refused(whole.replay() + "--rate 5 --replay-timing", "--rate excludes --replay-timing");
    refused(whole.replay() + "--loop -1", "--loop: '-1' is not a whole number");
    refused(whole.replay() + "--queues 8", "3 frames of a capture are too few for 8 senders");
    refused(whole.replay() + "--expect answers", "--expect answers excludes --replay");
    refused(whole.replay() + "--allow router",
            "--allow router with --replay needs --expect frames");
    refused(whole.replay() + "--expect frames --allow ttl", "--allow ttl: there are router, nat");
    refused(whole.replay() + "--expect frames --queues 2", "give --queues 1");
    refused(whole.replay() + "--expect frames --loop 0 --duration 1", "needs a --count");
    refused(whole.replay() + "--expect frames --loop 200000000",
            "are more than is held in memory until they are judged");
}

BOOST_AUTO_TEST_CASE(options_that_would_change_nothing_are_refused) {
    refused("offload check lo --mtu 9000", "DEV excludes --mtu");
    refused("offload check lo --frames 20", "DEV excludes --frames");
    refused("offload check --software-nic --tester c0", "--tester requires DEV");
    for (const std::string command :
         {"repro dns-race --json --ktap", "offload check --software-nic --json --ktap",
          "qualify --ktap --summary-md -", "qualify --summary-md - --netdev-json -"}) {
        refused(command,
                "standard output takes one of --json, --ktap, --summary-md -, "
                "--netdev-json - and --ocp -");
    }
    for (const std::string view : {"--baseline", "--ktap", "--summary-md", "--netdev-json"}) {
        refused("qualify --bisect dns-race " + view + (view == "--ktap" ? "" : " x"),
                "--bisect excludes " + view);
    }
    refused("profile errata match tx.outer.udp.NAT0 --kernel newest",
            "--kernel: 'newest' is not a version");
    refused("profile errata match tx.outer.udp.NAT0 --dpdk 22", "--dpdk: '22' is not a version");
    refused("restore --forget --json", "--json excludes --forget");
    refused("inspect dump --count -o id", "--output excludes --count");
    refused("inspect export --interval 3", "--interval requires --file");
    refused("inspect export --format openmetrics", "--format requires --file");
    refused(kGenerate + "--pairs --type AAAA", "--pairs excludes --type");
    refused("respond " + kPort + "--rule loss=0.5,address=192.0.2.1,loss=0", "it has 'loss' twice");
    refused("search mlr net_null0 --goal loss=0,loss=1",
            "--goal loss=0,loss=1: it has 'loss' twice");
}

BOOST_AUTO_TEST_CASE(benchmarks_that_were_not_built_are_said_to_be_missing) {
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("pp-bad-input-" + std::to_string(getpid()));
    std::filesystem::create_directory(folder);
    const std::string alone = folder / "pathproof";
    std::filesystem::copy_file(std::getenv("PATHPROOF_BINARY"), alone);
    refused("bench dataplane", alone + "-bench cannot be started (No such file or directory)",
            "exec ", alone.c_str());
    refused("bench", "ninja -C build pathproof-bench", "exec ", alone.c_str());
    std::filesystem::remove_all(folder);
}

BOOST_AUTO_TEST_CASE(reports_and_baselines_that_are_not_there_are_named) {
    refused("compare /nowhere /etc", "there is no report '/nowhere'");
    refused("compare /etc /nowhere", "folder /etc has no report.json");
    refused("compare /etc/passwd /nowhere", "/etc/passwd is no JSON");
    refused("report sign /nowhere --key /etc/passwd --approver x", "there is no report '/nowhere'");
    refused("report verify /nowhere --signers /etc/passwd", "there is no report '/nowhere'");
    refused("report amend /nowhere --out /tmp/x --reason x", "there is no report '/nowhere'");
    refused("report bundle /nowhere /tmp/x.tar.zst", "there is no report '/nowhere'");
    refused("report sign /etc --key /nowhere --approver x", "--key");
    refused("qualify --received soon", "it is no day, as 2026-11-23");
    refused("qualify --bundle /nowhere/x.tar.zst", "/nowhere");
    refused("repro dns-race --bundle /tmp/x.tar.zst", "name its folder with --out");
    refused("qualify --ocp /nowhere/x.jsonl", "cannot write /nowhere/x.jsonl");
    refused("qualify --ocp /dev/null", "/dev/null is not a regular file");
    refused("qualify --ocp - --ktap", "standard output takes one of");
    refused("baseline write /nowhere", "there is no report '/nowhere'");
    refused("baseline check /nowhere", "cannot read the baseline /nowhere");
    for (const char* run : {"qualify", "repro dns-race", "offload check lo",
                            "offload check --software-nic", "compare /nowhere /nowhere"}) {
        refused(std::string(run) + " --baseline /etc", std::string(run).starts_with("compare")
                                                           ? "no report '/nowhere'"
                                                           : "cannot read the baseline /etc");
    }
}
