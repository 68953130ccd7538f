// `pathproof generate` and `respond` as programs: what the peer's tcpdump and tshark say of what
// they send.
#define BOOST_TEST_MODULE generate_lab
#include <fmt/ranges.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "tests/frame/raw.h"
#include "tests/load/capture_bytes.h"
#include "tests/process/shell.h"

using namespace pathproof;

namespace {

std::string pathproof_binary() {
    const char* path = std::getenv("PATHPROOF_BINARY");
    BOOST_REQUIRE(path != nullptr);
    return path;
}

// Two namespaces joined by a veth pair g0 - g1, and a folder for captures.
struct Cable {
    const std::string a = "pp-gl" + std::to_string(getpid()) + "-a";
    const std::string b = "pp-gl" + std::to_string(getpid()) + "-b";
    const std::filesystem::path folder = std::filesystem::temp_directory_path() / a;

    Cable() {
        std::filesystem::create_directory(folder);
        shell("ip netns add " + a + "; ip netns add " + b + R"(
            for ns in )" +
              a + " " + b + R"(; do
                ip netns exec $ns sysctl -qw net.ipv6.conf.all.disable_ipv6=1 \
                    net.ipv6.conf.default.disable_ipv6=1
            done
            ip -n )" +
              a + R"( link add g0 address 02:70:70:00:01:00 type veth \
                peer name g1 address 02:70:70:00:01:01 netns )" +
              b + R"(
            ip -n )" +
              a + " link set g0 up; ip -n " + b + " link set g1 up");
    }
    ~Cable() {
        for (const std::string& name : {a, b}) {
            process::run_program({"ip", "netns", "del", name}).has_value();
        }
        std::filesystem::remove_all(folder);
    }

    static std::string shell(const std::string& script) { return pathproof::shell("", script); }

    process::ProgramOutput generate(const std::string& options) const {
        const auto out = process::run_program(
            {"sh", "-c", pathproof_binary() + " generate g0 --netns " + a + " " + options});
        BOOST_REQUIRE_MESSAGE(out, out.error().message);
        return *out;
    }

    // Frames that the peer saw by tshark's judgement, "IPv4 status,UDP status" (inner last): 1
    // good, 0 bad, 3 not present.
    std::map<std::string, int> judged(const std::string& options) const {
        const std::string file = (folder / "sent.pcap").string();
        // The drain is tcpdump's time to write the last frame (-U: at once). In immediate mode it
        // can sleep through a SIGINT until the next frame. Short slots make room for many frames: a
        // busy machine lets tcpdump wait.
        shell("ip netns exec " + b +
              " tcpdump -Z root --immediate-mode -s 2048 -B 8192 -i g1 -U -w " + file + " 2>" +
              file +
              ".err & t=$!; "
              "while ! grep -q 'listening on' " +
              file + ".err; do sleep 0.02; done; " + pathproof_binary() + " generate g0 --netns " +
              a + " --rate 2000 --drain 0.8 " + options +
              " >/dev/null || test $? = 3; kill -KILL $t; wait $t || true");
        std::istringstream lines(
            shell("tshark -r " + file +
                  " -o udp.check_checksum:TRUE -o ip.check_checksum:TRUE "
                  "-T fields -E separator=, -E aggregator=+ -e ip.checksum.status "
                  "-e udp.checksum.status 2>/dev/null"));
        std::map<std::string, int> counts;
        for (std::string line; std::getline(lines, line);) {
            ++counts[line];
        }
        return counts;
    }
};

using Counts = std::map<std::string, int>;
using nlohmann::json;

std::vector<json> json_lines(const std::string& text) {
    std::vector<json> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(json::parse(line));
    }
    BOOST_REQUIRE(!lines.empty());
    return lines;
}
json result_of(const std::string& text) {
    const json last = json_lines(text).back();
    BOOST_TEST(last.at("type") == "result");
    return last;
}

std::uint64_t frames_that_left(const Cable& cable) {
    return std::stoull(
        Cable::shell("ip netns exec " + cable.a + " cat /sys/class/net/g0/statistics/tx_packets"));
}

const std::string kMac = "--destination-mac 02:70:70:00:01:01 ";
const std::string kTo4 = "--destination 203.0.113.2 " + kMac;
const std::string kTo6 = "--destination 2001:db8::53 " + kMac;
const std::string kTunnel =
    "--vxlan-vni 42 --outer-source 198.51.100.1 --outer-destination 198.51.100.2 "
    "--outer-source-mac 02:70:70:00:01:00 --outer-destination-mac 02:70:70:00:01:01 ";

std::string text(const Counts& counts) {
    return fmt::format("{}", fmt::join(counts, " "));
}

void expect(const Counts& found, const Counts& wanted) {
    BOOST_TEST((found == wanted), "found " << text(found) << ", wanted " << text(wanted));
}

}  // namespace

BOOST_AUTO_TEST_CASE(tshark_finds_no_wrong_checksum_in_what_is_sent_right) {
    const Cable cable;
    expect(cable.judged(kTo4 + "--count 300"), {{"1,1", 300}});
    expect(cable.judged(kTo4 + "--count 150 --pairs --vlan 7"), {{"1,1", 300}});
    expect(cable.judged(kTo6 + "--count 300"), {{",1", 300}});
    expect(cable.judged(kTo4 + kTunnel + "--count 300 --outer-source-port 5000,5001"),
           {{"1+1,1+1", 300}});
    expect(cable.judged(kTo4 + kTunnel + "--count 300 --checksum outer.udp=zero"),
           {{"1+1,3+1", 300}});
}

BOOST_AUTO_TEST_CASE(tshark_finds_exactly_the_checksums_that_are_sent_wrong) {
    const Cable cable;
    expect(cable.judged(kTo4 + "--count 200 --checksum udp=plus-one"), {{"1,0", 200}});
    expect(cable.judged(kTo4 + "--count 200 --checksum udp=pseudo"), {{"1,0", 200}});
    expect(cable.judged(kTo4 + "--count 200 --checksum udp=stale-source-port"), {{"1,0", 200}});
    expect(cable.judged(kTo4 + "--count 200 --checksum ipv4=complement"), {{"0,1", 200}});
    expect(cable.judged(kTo4 + kTunnel + "--count 200 --checksum outer.udp=random"),
           {{"1+1,0+1", 200}});
    expect(cable.judged(kTo4 + kTunnel + "--count 200 --checksum udp=plus-one"),
           {{"1+1,1+0", 200}});
}

BOOST_AUTO_TEST_CASE(queries_are_answered_by_the_responder_command_and_the_counts_agree) {
    const Cable cable;
    const std::string file = (cable.folder / "respond.json").string();
    Cable::shell(pathproof_binary() + " respond g1 --netns " + cable.b +
                 " --cpu 1 --json "
                 "--rule type=A,address=192.0.2.1,loss=0.5 --rule address=2001:db8::1 >" +
                 file + " 2>" + file +
                 ".err & t=$!; "
                 "while ! grep -q 'answering on' " +
                 file + ".err; do sleep 0.02; done; " + pathproof_binary() +
                 " generate g0 --netns " + cable.a + " --count 500 --pairs --drain 0.5 --json " +
                 kTo4 + ">" + file + ".sent || true; kill -INT $t; wait $t");
    const auto server = json::parse(Cable::shell("cat " + file));
    const auto sent = result_of(Cable::shell("cat " + file + ".sent"));
    BOOST_TEST(sent.at("sent") == 1000);
    BOOST_TEST(server.at("queries").at("received") == 1000);
    const int lost = server.at("queries").at("lost_on_purpose");
    BOOST_TEST(lost > 150);
    BOOST_TEST(lost < 350);
    BOOST_TEST(sent.at("answers").at("answered") == 1000 - lost);
    BOOST_TEST(sent.at("answers").at("none") == lost);
    BOOST_TEST(sent.at("checksums").at("plain.udp").at("good") == 1000 - lost);
    BOOST_TEST(!sent.at("partial").get<bool>());
}

// The far end is a kernel that routes to a responder behind it: it knows none of the addresses and has
// to ask for each, while the run goes on as well.
BOOST_AUTO_TEST_CASE(a_router_finds_the_way_by_asking_and_is_found_so) {
    const Cable cable;
    const std::string end = cable.a + "-r";
    Cable::shell("ip netns add " + end + "; ip -n " + end +
                 " link add r0 type veth peer name r1 netns " + cable.b + "; ip netns exec " + end +
                 " sysctl -qw net.ipv6.conf.r0.disable_ipv6=1; ip -n " + end +
                 " link set r0 up; ip netns exec " + cable.b +
                 " sysctl -qw net.ipv6.conf.all.disable_ipv6=0 net.ipv6.conf.g1.disable_ipv6=0"
                 " net.ipv6.conf.r1.disable_ipv6=0 net.ipv4.ip_forward=1"
                 " net.ipv6.conf.all.forwarding=1; ip -n " +
                 cable.b + " link set r1 up");
    const std::string b = "ip -n " + cable.b;
    Cable::shell(b + " address add 198.18.0.1/24 dev g1; " + b +
                 " address add 198.19.0.1/24 dev r1; " + b +
                 " address add 2001:2:0:1::1/64 dev g1 nodad; " + b +
                 " address add 2001:2:0:2::1/64 dev r1 nodad");
    const std::string file = (cable.folder / "respond").string();
    for (const std::string& ends :
         {std::string("--gateway 198.18.0.1 --source 198.18.0.2 --destination 198.19.0.53"),
          std::string("--gateway 2001:2:0:1::1 --source 2001:2:0:1::2 --destination "
                      "2001:2:0:2::53")}) {
        Cable::shell(pathproof_binary() + " respond r0 --netns " + end +
                     " --json --address 198.19.0.50-198.19.0.60 --address 2001:2:0:2::53"
                     " --rule address=192.0.2.1,address=2001:db8::1 >" +
                     file + " 2>" + file + ".err & t=$!; while ! grep -q 'answering on' " + file +
                     ".err; do sleep 0.02; done; (while kill -0 $t; do sleep 0.25; " + b +
                     " neigh flush all; " + b + " -6 neigh flush all; done) 2>/dev/null & " +
                     pathproof_binary() + " generate g0 --netns " + cable.a +
                     " --cpu 0,1 --queues 1 --rate 500 --count 700 --flows 3000 --json " + ends +
                     " >" + file + ".sent || true; kill -INT $t; wait $t || true");
        const json sent = result_of(Cable::shell("cat " + file + ".sent"));
        const json server = json::parse(Cable::shell("cat " + file));
        BOOST_TEST(sent.at("sent") == 700);
        // A kernel that is told to forget a neighbour while it asks for it may lose some time.
        BOOST_TEST(sent.at("answers").at("answered") >= 350);
        BOOST_TEST(sent.at("neighbours").at("answered") >= 1);
        BOOST_TEST(sent.at("neighbours").at("not_sent") == 0);
        BOOST_TEST(server.at("neighbours").at("answered") >= 2);
        BOOST_TEST(server.at("neighbours").at("not_sent") == 0);
    }
    const auto nobody = cable.generate(
        "--count 1 --source 198.18.0.2 --destination 198.19.0.53 --gateway 198.18.0.77");
    BOOST_TEST(nobody.err.find("3 ARP requests for 198.18.0.77") != std::string::npos, nobody.err);
    Cable::shell("ip netns del " + end);
}

BOOST_AUTO_TEST_CASE(ctrl_c_ends_with_partial_counts) {
    const Cable cable;
    const auto out = cable.generate(
        kTo4 +
        "--rate 200 --duration 30 --json & t=$!; "
        "while kill -0 $t && [ $(ip netns exec " +
        cable.a +
        " cat /sys/class/net/g0/statistics/tx_packets) -lt 50 ]; do sleep 0.05; done; "
        "kill -INT $t; wait $t");
    BOOST_TEST(out.exit_status == 3);
    const json sent = result_of(out.out);
    BOOST_TEST(sent.at("partial").get<bool>());
    BOOST_TEST(sent.at("sent") > 40);
    BOOST_TEST(sent.at("sent") < 200 * 30);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_done_is_refused_with_exit_code_2) {
    const Cable cable;
    const auto refused = [&](const std::string& options, const std::string& word) {
        const auto out = cable.generate(options);
        BOOST_TEST(out.exit_status == 2, options);
        BOOST_TEST(out.err.find(word) != std::string::npos, out.err);
    };
    refused(kMac + "--count 1", "--destination is missing");
    refused("--count 1 --destination 203.0.113.2 --no-arp", "--destination-mac is missing");
    refused(kTo4 + "--gateway 198.18.0.1", "was typed already");
    refused("--destination 203.0.113.2 --gateway 2001:db8::1", "one family");
    refused("--destination 203.0.113.2 --gateway here", "--gateway");
    refused(kTo4 + "--checksum udp=offload", "UDP_CKSUM");
    refused(kTo4 + "--checksum udp=nonsense", "stale-source-port");
    refused(kTo4 + "--checksum outer.udp=zero", "--vxlan-vni");
    refused(kTo4 + "--rate 1e12", "rate");
    refused(kTo4 + "--rate 0", "above 0");
    refused(kTo4 + "--source 2001:db8::1", "famil");
    refused(kTo4 + "--source-port 65000", "65535");
    refused(kTo4 + "--vlan 70000", "--vlan");
    refused(kTo4 + "--suffix a..b", "a..b");
    refused(kTo4 + "--vxlan-vni 1", "--outer-source");
    refused(kTo4 + "--rate inf", "--rate inf");
    refused(kTo4 + "--rate 10%", "no speed that is known");
    refused(kTo4 + "--rate fast", "'fast' is none of");
    refused(kTo4 + "--mix http=1", "'http' is no traffic class");
    refused(
        kTo4 + "--mix udp=1 --size 9000",
        "frames of 9000 bytes (with FCS) are above the MTU 1500 of port g0, which sends at most "
        "1518");
    refused(kTo4 + "--size 20", "'20' bytes");
    Cable::shell("ip -n " + cable.a + " link set g0 mtu 9000; ip -n " + cable.b +
                 " link set g1 mtu 9000");
    refused(kTo4 + "--size 2277",
            "frames of 2277 bytes (with FCS) do not fit the buffers of port g0, which hold at most "
            "2276");
    refused(kTo4 + "--size 9000", "do not fit the buffers of port g0");
    Cable::shell("ip -n " + cable.a + " link set g0 mtu 1500; ip -n " + cable.b +
                 " link set g1 mtu 1500");
    refused(kTo4 + "--queues 17", "--queues 17");
    refused(kTo4 + "--cpu 0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0",
            "CPUs");
    refused(kTo4 + "--pair-skew 5", "pairs");
    refused(kTo4 + "--pairs --pair-skew 5000000 --rate 1000", "skew");
    refused(kTo4 + "--hw-rate-limit", "--hw-rate-limit");
    refused(kTo4 + "--flows 0", "--flows");
    refused(kTo4 + "--evidence /proc/no", "--evidence");
    refused(kTo4 + "--metrics nowhere", "--metrics");
    refused("--replay " + (cable.folder / "none.pcap").string(), "none.pcap");
    BOOST_TEST(frames_that_left(cable) == 0u);
}

BOOST_AUTO_TEST_CASE(a_mix_at_20_kpps_is_answered_and_every_frame_accounted_for) {
    const Cable cable;
    const std::string file = (cable.folder / "respond").string();
    const std::string text = Cable::shell(
        pathproof_binary() + " respond g1 --netns " + cable.b +
        " --cpu 1 --reflect --rule address=192.0.2.1 >" + file + " 2>" + file +
        ".err & t=$!; while ! grep -q 'answering on' " + file + ".err; do sleep 0.02; done; " +
        pathproof_binary() + " generate g0 --netns " + cable.a +
        " --rate 20k --count 40000 --drain 1 --json "
        "--mix dns-a=6,tcp-syn=2,icmp-echo=1,udp=1 --size udp=256 " +
        kTo4 + " || true; kill -INT $t; wait $t || true");
    const json sent = result_of(text);
    BOOST_TEST(sent.at("sent") == 40'000);
    BOOST_TEST(sent.at("received").at("bad_checksum") == 0);
    const std::map<std::string, int> shares = {
        {"dns-a", 24'000}, {"tcp-syn", 8'000}, {"icmp-echo", 4'000}, {"udp", 4'000}};
    std::uint64_t unique = 0;
    for (const auto& [name, frames] : shares) {
        const json& one = sent.at("classes").at(name);
        BOOST_TEST(one.at("sent") == frames);
        BOOST_TEST(one.at("unique").get<int>() > 0, name);
        BOOST_TEST(one.at("unique").get<int>() + one.at("missing").get<int>() == frames, name);
        BOOST_TEST(one.at("wrong") == 0, name);
        unique += one.at("unique").get<std::uint64_t>();
    }
    BOOST_TEST(sent.at("latency_us").at("count") == unique);
    // A machine that was busy elsewhere lost frames in the kernel's queues: then the run says so.
    if (sent.at("objections").empty()) {
        BOOST_TEST(unique == 40'000u);
    }
}

BOOST_AUTO_TEST_CASE(the_longest_frames_that_the_buffers_hold_leave) {
    const Cable cable;
    Cable::shell("ip -n " + cable.a + " link set g0 mtu 9000; ip -n " + cable.b +
                 " link set g1 mtu 9000");
    const json sent =
        result_of(cable.generate(kTo4 + "--size 2276 --count 20 --drain 0.1 --json").out);
    BOOST_TEST(sent.at("sent") == 20);
    BOOST_TEST(frames_that_left(cable) == 20u);
}

BOOST_AUTO_TEST_CASE(frames_that_wait_for_room_on_the_way_out_leave_before_the_run_ends) {
    const Cable cable;
    // 40 frames a millisecond, and the socket's send buffer holds some 280 of them.
    BOOST_REQUIRE(process::run_checked({"tc", "qdisc", "add", "dev", "g0", "root", "tbf", "rate",
                                        "20mbit", "burst", "1600", "limit", "1000000"},
                                       {.netns = cable.a}));
    const auto out = process::run_program(
        {"sh", "-c",
         pathproof_binary() + " generate net_af_packet0,iface=g0,framecnt=2048,qdisc_bypass=0 " +
             "--netns " + cable.a + " " + kTo4 + "--rate max --count 2000 --drain 0.1 --json"});
    BOOST_REQUIRE_MESSAGE(out, out.error().message);
    const json sent = result_of(out->out);
    BOOST_TEST(sent.at("sent") == 2000);
    BOOST_TEST(sent.at("tester_limit") == "");
    BOOST_TEST(frames_that_left(cable) == 2000u);
}

BOOST_AUTO_TEST_CASE(each_second_has_a_json_line_and_the_last_line_is_the_result) {
    const Cable cable;
    const auto out = cable.generate(kTo4 + "--duration 2.5 --drain 0.1 --json");
    const std::vector<json> lines = json_lines(out.out);
    BOOST_TEST(lines.size() == 3u);
    std::uint64_t before = 0;
    for (std::size_t n = 0; n + 1 < lines.size(); ++n) {
        BOOST_TEST(lines[n].at("type") == "progress");
        BOOST_TEST(lines[n].at("sent").get<std::uint64_t>() > before);
        before = lines[n].at("sent").get<std::uint64_t>();
    }
    BOOST_TEST(lines.back().at("type") == "result");
    BOOST_TEST(lines.back().at("sent").get<std::uint64_t>() >= before);
    BOOST_TEST(lines.back().at("departures").at("seconds_judged") == 2);
    BOOST_TEST(lines.back().at("repeat").get<std::string>().starts_with("pathproof generate g0"));
}

BOOST_AUTO_TEST_CASE(metrics_can_be_scraped_while_it_runs_from_outside_its_namespace) {
    const Cable cable;
    const std::string file = (cable.folder / "generate").string();
    const std::string text = Cable::shell(
        pathproof_binary() + " generate g0 --netns " + cable.a +
        " --duration 30 --metrics 127.0.0.1:0 " + kTo4 + ">" + file + " 2>" + file +
        ".err & t=$!; while ! grep -q ' sent ' " + file +
        ".err; do sleep 0.05; done; url=$(sed -n 's/.*metrics at //p' " + file +
        ".err); curl -s -H 'Accept: application/openmetrics-text' $url; kill -INT $t; wait $t || "
        "true");
    BOOST_TEST(text.find("# TYPE pathproof_generate_frames_sent counter") != std::string::npos);
    BOOST_TEST(text.find("pathproof_generate_running 1\n") != std::string::npos);
    BOOST_TEST(text.ends_with("# EOF\n"), text);
    const std::size_t at = text.find("\npathproof_generate_frames_sent_total ");
    BOOST_REQUIRE_MESSAGE(at != std::string::npos, text);
    BOOST_TEST(std::stoull(text.substr(text.find(' ', at))) > 0u);
}

BOOST_AUTO_TEST_CASE(a_capture_is_sent_again_as_often_as_asked_and_cut_files_are_refused) {
    const Cable cable;
    const std::string file = (cable.folder / "sent.pcap").string();
    const std::string short_file = (cable.folder / "cut.pcap").string();
    BOOST_REQUIRE((cable.judged(kTo4 + "--count 50") == Counts{{"1,1", 50}}));
    Cable::shell("head -c $(($(stat -c %s " + file + ") - 7)) " + file + " >" + short_file);
    const auto refused = cable.generate("--replay " + short_file);
    BOOST_TEST(refused.exit_status == 2);
    BOOST_TEST(refused.err.find("50") != std::string::npos, refused.err);
    const std::uint64_t before = frames_that_left(cable);
    const json sent =
        result_of(cable.generate("--replay " + file + " --loop 3 --rate max --drain 0 --json").out);
    BOOST_TEST(sent.at("sent") == 150);
    BOOST_TEST(!sent.at("tracked").get<bool>());
    BOOST_TEST(frames_that_left(cable) - before == 150u);
    const json timed =
        result_of(cable.generate("--replay " + file + " --replay-timing --drain 0 --json").out);
    BOOST_TEST(timed.at("sent") == 50);
    // 50 queries were captured at 2000 per second.
    BOOST_TEST(timed.at("seconds").get<double>() > 0.015);
}

// A capture of 50 datagrams, 50 TCP segments and an LLDP frame through a forwarder of nftables: whole, and with
// each of two faults.
BOOST_AUTO_TEST_CASE(a_capture_is_held_against_all_that_comes_back_of_it) {
    const Cable cable;
    const std::string file = (cable.folder / "mixed.pcap").string();
    {
        load::Octets pcap = load::pcap_file();
        const auto add = [&](std::uint32_t number, const raw::Octets& frame) {
            load::add_frame(pcap, 1, number * 1000, frame);
        };
        for (std::uint32_t n = 0; n < 50; ++n) {
            const raw::Octets data(100, static_cast<std::uint8_t>(n + 1));
            raw::Octets segment = raw::tcp(4001, 80, data);
            raw::put(segment, 6, static_cast<std::uint16_t>(n * 100));  // of the sequence number
            add(2 * n,
                raw::ethernet(0x0800, raw::ipv4({.protocol = 17}, raw::udp(4000, 53, data))));
            add(2 * n + 1, raw::ethernet(0x0800, raw::ipv4({.protocol = 6}, segment)));
        }
        add(100, raw::ethernet(0x88cc, raw::Octets(60, 7)));
        std::ofstream(file, std::ios::binary)
            .write(reinterpret_cast<const char*>(pcap.data()),
                   static_cast<std::streamsize>(pcap.size()));
    }
    const std::string forward = "add rule netdev lab in fwd to h1";
    const auto nft = [&](const std::string& command) {
        Cable::shell("ip netns exec " + cable.b + " nft '" + command + "'");
    };
    Cable::shell("ip -n " + cable.a + " link add h0 type veth peer name h1 netns " + cable.b +
                 "; ip -n " + cable.a + " link set h0 up; ip -n " + cable.b + " link set h1 up");
    nft("add table netdev lab");
    nft("add chain netdev lab in { type filter hook ingress device g1 priority 0 ; }");
    nft(forward);
    const auto followed = [&](int status) {
        // A sender that moves to another CPU overtakes itself on veth.
        const auto ran =
            cable.generate("--receive h0 --replay " + file +
                           " --expect frames --allow reorder --rate 500 --drain 0.3 --json");
        // 3: the tester waited for its CPU, on a busy machine.
        BOOST_TEST((ran.exit_status == status || ran.exit_status == 3), ran.out << ran.err);
        return result_of(ran.out).at("followed").at("forward").at("classes");
    };
    BOOST_TEST(followed(0).at("as_sent") == 101);
    nft("insert rule netdev lab in ip protocol udp @th,160,8 set 0x77");
    json classes = followed(1);
    BOOST_TEST(classes.at("damaged") == 50);
    BOOST_TEST(classes.at("as_sent") == 51);
    nft("flush chain netdev lab in");
    nft("add rule netdev lab in ip protocol tcp drop");
    nft(forward);
    classes = followed(1);
    BOOST_TEST(classes.at("missing") == 50);
    BOOST_TEST(classes.at("as_sent") == 51);
}

BOOST_AUTO_TEST_CASE(a_link_that_goes_down_ends_the_run_and_keeps_its_counts) {
    const Cable cable;
    const auto out = cable.generate(kTo4 + "--duration 30 --json & t=$!; sleep 1; ip -n " +
                                    cable.b + " link set g1 down; wait $t");
    BOOST_TEST(out.exit_status == 3);
    const json sent = result_of(out.out);
    BOOST_TEST(sent.at("partial").get<bool>());
    BOOST_TEST(sent.at("sent") > 10);
    BOOST_TEST(sent.at("objections").dump().find("g0") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(frames_with_wrong_checksums_are_kept_as_evidence) {
    const Cable cable;
    const std::filesystem::path folder = cable.folder / "evidence";
    const std::vector<std::string> earlier = {"anomaly-1-late.pcapng", "wrong.pcapng"};
    std::filesystem::create_directory(folder);
    for (const std::string& file : earlier) {
        std::ofstream(folder / file) << "of an earlier run";
    }
    const auto out = process::run_program(
        {"sh", "-c",
         pathproof_binary() +
             " generate net_ring --expect frames --checksum udp=plus-one --count 30 --json " +
             kTo4 + "--evidence " + folder.string()});
    BOOST_REQUIRE_MESSAGE(out, out.error().message);
    const json sent = result_of(out->out);
    BOOST_TEST(sent.at("sent") == 30);
    BOOST_TEST(sent.at("received").at("bad_checksum") == 30);
    BOOST_TEST(sent.at("answers").at("damaged") == 30);
    BOOST_TEST(sent.at("answers").at("none") == 0);
    const std::string bad =
        Cable::shell("tshark -r " + (folder / "bad.pcapng").string() +
                     " -o udp.check_checksum:TRUE -Y udp.checksum.status==0 2>/dev/null | wc -l");
    BOOST_TEST(std::stoi(bad) == 30);
    for (const std::string& file : earlier) {
        BOOST_TEST(!std::filesystem::exists(folder / file), file);
    }
}
