// `pathproof generate` over two veth pairs with a machine between them that changes known frames:
// what the command says is what was done.
#define BOOST_TEST_MODULE middlebox_lab
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/process/shell.h"

using namespace pathproof;
using nlohmann::json;

namespace {

// Writes a capture of datagrams of all lengths, with and without a tag.
constexpr const char* kCapture = R"(
import random, struct, sys
random.seed(5)
def total(data):
    s = sum(struct.unpack('!%dH' % (len(data) // 2), data))
    while s >> 16: s = (s & 0xffff) + (s >> 16)
    return s
with open(sys.argv[1], 'wb') as out:
    out.write(struct.pack('<IHHIIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
    for i in range(300):
        n = random.randrange(20, 1300)
        ip = bytearray(struct.pack('!BBHHHBBH4s4s', 69, 0, 28 + n, i + 1, 0, 64, 17, 0,
                                   bytes([198, 18, 0, 1]), bytes([203, 0, 113, 2])))
        ip[10:12] = struct.pack('!H', 0xffff - total(bytes(ip)))
        f = bytes.fromhex('027070000101027070000100') + b'\x08\0' + bytes(ip)
        f += struct.pack('!HHHH', 40000, 9, 8 + n, 0) + struct.pack('!I', i) + bytes(n - 4)
        out.write(struct.pack('<IIII', 1700000000, i, len(f), len(f)) + f)
)";

// Hands frames from m0 to m1 and does one thing to each 50th: packet sockets, sums put right.
constexpr const char* kMiddlebox = R"(
import os, socket, struct, sys
fault, count = sys.argv[1], 0
def port(name):
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    s.setsockopt(socket.SOL_SOCKET, 33, 1 << 26)
    s.bind((name, 0))
    return s
def total(data):
    if len(data) % 2: data += b'\0'
    s = sum(struct.unpack('!%dH' % (len(data) // 2), data))
    while s >> 16: s = (s & 0xffff) + (s >> 16)
    return s
def seal(f):
    f[24:26] = b'\0\0'
    f[24:26] = struct.pack('!H', 0xffff - total(bytes(f[14:34])))
    end = 14 + struct.unpack('!H', f[16:18])[0]
    f[40:42] = b'\0\0'
    c = 0xffff - total(bytes(f[26:34]) + struct.pack('!HH', 17, end - 34) + bytes(f[34:end]))
    f[40:42] = struct.pack('!H', c or 0xffff)
def flip(f, at, bits): f[at] ^= bits
faults = {
    'dscp': lambda f: flip(f, 15, 0x20), 'mac': lambda f: flip(f, 5, 1), 'id': lambda f: flip(f, 19, 1),
    'port': lambda f: flip(f, 35, 1), 'address': lambda f: flip(f, 29, 1), 'payload': lambda f: flip(f, 90, 4),
    'number': lambda f: flip(f, 63, 1), 'case': lambda f: flip(f, 82, 0x20),
    'trailer': lambda f: f.extend(b'\0\0\0')}
a, b = port('m0'), port('m1')
print('ready', flush=True)
while True:
    f, where = a.recvfrom(4096)
    f = bytearray(f)
    if where[2] == socket.PACKET_OUTGOING or f[12:14] != b'\x08\0': continue
    count += 1
    if fault == 'long':
        if len(f) > 700: del f[-20:]
    elif fault == 'odd':
        if len(f) % 2: continue
    elif count % 50 == 7:
        if fault == 'lose': continue
        if fault == 'bit': f[90] ^= 4
        elif fault == 'cut': del f[-20:]
        elif fault == 'shift': f[14:14] = b'\x5a' * 4
        elif fault != 'nothing':
            faults[fault](f)
            seal(f)
    b.send(f)
)";

// g0 and h0 in one namespace, their peers m0 and m1 in another.
struct Bench {
    const std::string a = "pp-mb" + std::to_string(getpid()) + "-a";
    const std::string m = "pp-mb" + std::to_string(getpid()) + "-m";
    const std::filesystem::path folder = std::filesystem::temp_directory_path() / a;

    Bench() {
        std::filesystem::create_directory(folder);
        std::ofstream(folder / "middlebox.py") << kMiddlebox;
        shell("", "for ns in " + a + " " + m + R"(; do
                ip netns add $ns
                ip netns exec $ns sysctl -qw net.ipv6.conf.all.disable_ipv6=1 \
                    net.ipv6.conf.default.disable_ipv6=1
            done
            for pair in 'g0 m0' 'h0 m1'; do
                set -- $pair
                ip -n )" +
                      a + " link add $1 type veth peer name $2 netns " + m + R"(
                ip -n )" +
                      a + " link set $1 up; ip -n " + m + R"( link set $2 up promisc on
            done)");
    }
    ~Bench() {
        for (const std::string& name : {a, m}) {
            process::run_program({"ip", "netns", "del", name}).has_value();
        }
        std::filesystem::remove_all(folder);
    }

    // The result, with the exit code as "exit".
    json generate(const std::string& options) const {
        const char* const binary = std::getenv("PATHPROOF_BINARY");
        BOOST_REQUIRE(binary != nullptr);
        // A capture's frames go where they went before.
        const bool replays = options.find("--replay") != std::string::npos;
        const char* const to =
            replays ? "" : "--destination 203.0.113.2 --destination-mac 02:70:70:00:01:01";
        const auto out = process::run_program(
            {"sh", "-c",
             fmt::format("{} generate g0 --netns {} --json {} {}", binary, a, to, options)});
        BOOST_REQUIRE_MESSAGE(out, out.error().message);
        std::istringstream lines(out->out);
        json last;
        for (std::string line; std::getline(lines, line);) {
            last = json::parse(line);
        }
        BOOST_REQUIRE_MESSAGE(last.contains("compared") || last.contains("followed"),
                              out->out << out->err);
        last["exit"] = out->exit_status;
        return last;
    }
    // As generate(), through the middlebox with a fault.
    json changed(const std::string& fault, const std::string& options) const {
        shell("",
              fmt::format("ip netns exec {} python3 {}/middlebox.py {} >{}/ready 2>&1 & echo $! "
                          ">{}/pid; while ! grep -q ready {}/ready; do sleep 0.05; done",
                          m, folder.string(), fault, folder.string(), folder.string(),
                          folder.string()));
        const json result = generate(options);
        shell("", fmt::format("kill $(cat {}/pid)", folder.string()));
        return result;
    }
    // Frames are handed through by a bridge, as they are.
    void hand_through() const {
        shell("", fmt::format("ip -n {0} link add name bridge0 type bridge; "
                              "ip -n {0} link set bridge0 up; for port in m0 m1; do "
                              "ip -n {0} link set $port master bridge0; done",
                              m));
    }
    void check_clean(const std::string& options, std::uint64_t frames) const {
        const json result = generate("--receive h0 --expect frames " + options);
        BOOST_TEST_CONTEXT(result.at("verdict").get<std::string>()
                           << result.at("compared").dump()) {
            BOOST_TEST(result.at("sent") == frames);
            BOOST_TEST(result.at("compared").at("wrong") == 0);
            BOOST_TEST(result.at("compared").at("fields").empty());
            BOOST_TEST(result.at("answers").at("damaged") == 0);
            BOOST_TEST(result.at("received").at("bad_checksum") == 0);
            BOOST_TEST(result.at("received").at("malformed") == 0);
        }
    }
};

// Exit code 1 and the word for it, unless the tester was short of CPU.
void check_not_as_sent(const json& result) {
    const std::string verdict = result.at("verdict");
    if (result.at("objections").empty()) {
        BOOST_TEST(verdict.starts_with("NOT AS SENT: "), verdict);
        BOOST_TEST(result.at("exit") == 1);
    }
}

// The classes of all frames that were sent.
std::uint64_t sum_of_classes(const json& result) {
    std::uint64_t sum = 0;
    for (const json& one : result.at("classes")) {
        for (const char* each : {"as_sent", "late", "wrong", "damaged", "missing"}) {
            sum += one.at(each).get<std::uint64_t>();
        }
    }
    return sum;
}

}  // namespace

BOOST_AUTO_TEST_CASE(frames_that_a_middlebox_changes_are_counted_and_named) {
    const Bench bench;
    struct Fault {
        const char* name;
        const char* field;
    };
    const Fault faults[] = {
        {"dscp", "ip.tos"},          {"mac", "eth.destination"}, {"id", "ip.id"},
        {"port", "udp.source_port"}, {"address", "ip.source"},   {"payload", "dns.name"},
        {"number", "dns.name"},      {"case", "dns.name"},       {"trailer", "frame.length"}};
    for (const Fault& fault : faults) {
        const json fields = {{fault.field, 10}};
        const json result = bench.changed(
            fault.name, "--receive h0 --expect frames --count 500 --rate 1000 --drain 0.5");
        BOOST_TEST_CONTEXT(fault.name << result.at("compared").dump()) {
            BOOST_TEST(result.at("compared").at("wrong") == 10);
            BOOST_TEST(result.at("compared").at("fields") == fields);
            BOOST_TEST(result.at("answers").at("none") == 0);
            BOOST_TEST(result.at("answers").at("further") == 0);
            BOOST_TEST(sum_of_classes(result) == 500);
            check_not_as_sent(result);
        }
    }
    const json bit =
        bench.changed("bit", "--receive h0 --expect frames --count 500 --rate 1000 --drain 0.5");
    BOOST_TEST(bit.at("answers").at("damaged") == 10);
    BOOST_TEST(bit.at("answers").at("none") == 0);
    const json lost =
        bench.changed("lose", "--receive h0 --expect frames --count 500 --rate 1000 --drain 0.5");
    BOOST_TEST(lost.at("answers").at("none") == 10);
    BOOST_TEST(lost.at("remarks").dump().find("--drain 5") != std::string::npos);
    for (const json& result : {bit, lost}) {
        BOOST_TEST(sum_of_classes(result) == 500);
        check_not_as_sent(result);
    }
    const json allowed = bench.changed(
        "dscp",
        "--receive h0 --expect frames --count 500 --rate 1000 --drain 0.5 --allow router,dscp");
    BOOST_TEST(allowed.at("compared").at("wrong") == 0);
    BOOST_TEST(allowed.at("compared").at("allowed") == "mac,ttl,dscp");
}

BOOST_AUTO_TEST_CASE(frames_that_cannot_be_read_to_their_end_are_damaged_and_not_missing) {
    const Bench bench;
    for (const std::string fault : {"cut", "shift"}) {
        const std::filesystem::path evidence = bench.folder / fault;
        const json result =
            bench.changed(fault,
                          "--receive h0 --expect frames --count 500 --rate 1000 --drain 0.5 "
                          "--evidence " +
                              evidence.string());
        BOOST_TEST_CONTEXT(fault << ": " << result.at("verdict") << result.at("compared").dump()) {
            BOOST_TEST(result.at("received").at("malformed") == 10);
            BOOST_TEST(result.at("answers").at("damaged") == 10);
            BOOST_TEST(result.at("answers").at("none") == 0);
            BOOST_TEST(sum_of_classes(result) == 500);
            BOOST_TEST(result.at("compared").at("damaged").size() == 10);
            check_not_as_sent(result);
            // The file has the frames as sent and as received, one behind the other, with comments.
            const std::string file = (evidence / "damaged.pcapng").string();
            const auto read = process::run_checked(
                {"tshark", "-r", file, "-T", "fields", "-e", "frame.len", "-e", "frame.comment"});
            BOOST_REQUIRE_MESSAGE(read, read.error().message);
            BOOST_TEST(std::ranges::count(*read, '\n') >= 20);
            BOOST_TEST(read->find("frame 10 as it was sent") != std::string::npos, *read);
            BOOST_TEST(read->find("frame 10 as it was received: ") != std::string::npos, *read);
        }
    }
}

BOOST_AUTO_TEST_CASE(frames_that_are_handed_through_as_they_are_raise_no_alarm) {
    const Bench bench;
    bench.hand_through();
    bench.check_clean(
        "--count 5000 --rate 10000 --mix dns-a=4,dns-aaaa=2,udp=2,tcp-syn=1,icmp-echo=1", 5000);
    bench.check_clean(
        "--count 2000 --rate 5000 --mix udp=7,tcp-syn=2,icmp-echo=1 --checksum udp=zero", 2000);
    bench.check_clean("--count 2500 --rate 5000 --pairs --vlan 7 --vlan 9", 5000);
    bench.check_clean(
        "--count 5000 --rate 10000 --size 512 --vxlan-vni 42 --outer-source "
        "198.51.100.1 --outer-destination 198.51.100.2 --outer-source-mac "
        "02:70:70:00:01:00 --outer-destination-mac 02:70:70:00:01:01 "
        "--outer-source-port 5000,5001",
        5000);
}

// Answers that are still to come are waited for; who does not wait is told.
BOOST_AUTO_TEST_CASE(answers_that_come_late_are_no_missing_ones_and_say_what_they_have_to) {
    const Bench bench;
    const auto answered = [&](int delay_ms, const std::string& options) {
        shell("",
              fmt::format("{} respond m0 --netns {} --rule "
                          "type=A,address=192.0.2.1,delay-ms={} --duration 30 >{}/respond 2>&1 & "
                          "echo $! >{}/pid; sleep 0.7",
                          std::getenv("PATHPROOF_BINARY"), bench.m, delay_ms, bench.folder.string(),
                          bench.folder.string()));
        const json result = bench.generate("--count 200 --rate 1000 " + options);
        shell("", fmt::format("pid=$(cat {}/pid); kill $pid; while kill -0 $pid 2>/dev/null; do "
                              "sleep 0.05; done",
                              bench.folder.string()));
        return result;
    };
    const json waited = answered(1500, "--expect-answer type=A,address=192.0.2.1");
    BOOST_TEST(waited.at("answers").at("none") == 0);
    BOOST_TEST(waited.at("answers").at("wrong") == 0);
    BOOST_TEST(waited.at("remarks").dump().find("held back: 200 of 200") != std::string::npos);
    const json early = answered(1500, "--drain 0.3");
    BOOST_TEST(early.at("answers").at("none") == 200);
    BOOST_TEST(early.at("remarks").dump().find("200 unanswered within the wait of 0.3 s") !=
               std::string::npos);
    const json other = answered(0, "--expect-answer type=A,address=192.0.2.7");
    BOOST_TEST(other.at("answers").at("wrong") == 200);
    const json records = {{"dns.records", 200}};
    BOOST_TEST(other.at("compared").at("fields") == records);
}

// Run by its name: it takes a minute.
BOOST_AUTO_TEST_CASE(a_million_clean_frames_raise_no_alarm, *boost::unit_test::disabled()) {
    const Bench bench;
    bench.hand_through();
    bench.check_clean("--count 500000 --rate 20000", 500'000);
    bench.check_clean(
        "--count 500000 --rate 20000 --mix dns-a=4,dns-aaaa=2,udp=2,tcp-syn=1,icmp-echo=1",
        500'000);
}

BOOST_AUTO_TEST_CASE(frames_made_for_a_finding_show_where_its_border_lies) {
    const Bench bench;
    // Returns whether a line about a finding contains the text.
    const auto says = [](const json& findings, const std::string& text) {
        for (const json& finding : findings) {
            for (const json& line : finding.at("made_for_it")) {
                if (line.get<std::string>().find(text) != std::string::npos) {
                    return true;
                }
            }
        }
        return false;
    };
    const std::string border = "of 700 bytes: 3 of 3 right; of 701 bytes: 3 of 3 wrong";
    const json made = bench.changed(
        "long",
        "--receive h0 --expect frames --mix dns-a=1,udp=1 --size dns=128,udp=1204 --count 300 "
        "--rate 1000 --drain 0.5");
    BOOST_TEST_CONTEXT(made.dump(1)) {
        BOOST_TEST_REQUIRE(made.contains("studied"));
        const json& findings = made.at("studied").at("findings");
        BOOST_TEST_REQUIRE(!findings.empty());
        BOOST_TEST(says(findings, border));
        BOOST_TEST(says(findings, "not 'to port 7'"));
        BOOST_TEST(
            findings[0].at("located").get<std::string>().starts_with("frames of more than 700 "));
    }
    const std::string file = (bench.folder / "all.pcap").string();
    std::ofstream(bench.folder / "capture.py") << kCapture;
    shell("", "python3 " + (bench.folder / "capture.py").string() + " " + file);
    const std::string replay =
        "--receive h0 --expect frames --rate 1000 --drain 0.5 --replay " + file;
    const json replayed = bench.changed("long", replay);
    BOOST_TEST_CONTEXT(replayed.dump(1)) {
        const json& findings = replayed.at("followed").at("findings");
        BOOST_TEST(says(findings, border));
        check_not_as_sent(replayed);
    }
    const json odd = bench.changed("odd", replay);
    BOOST_TEST_CONTEXT(odd.dump(1)) {
        const json& findings = odd.at("followed").at("findings");
        BOOST_TEST_REQUIRE(findings.size() == 1U);
        BOOST_TEST(
            findings[0].at("located").get<std::string>().starts_with("frames with an odd length"));
        BOOST_TEST(says(findings, "bytes: 3 of 3 right"));
    }
    // No frames are made for a finding where nothing is wrong, or with --no-study.
    const json clean = bench.changed("nothing", replay);
    BOOST_TEST(clean.at("followed").at("findings").empty());
    const json unstudied = bench.changed("long", replay + " --no-study");
    BOOST_TEST(!says(unstudied.at("followed").at("findings"), "bytes: 3 of 3"));
}
