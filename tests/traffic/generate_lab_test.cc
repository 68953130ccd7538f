// `pathproof generate` and `respond` as programs: what the peer's tcpdump and tshark say of what
// they send.
#define BOOST_TEST_MODULE generate_lab
#include <fmt/ranges.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/process/program.h"

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

    static std::string shell(const std::string& script) {
        const auto out = process::run_checked({"sh", "-ec", script});
        BOOST_REQUIRE_MESSAGE(out, out.error().message);
        return *out;
    }

    process::ProgramOutput generate(const std::string& options) const {
        const auto out =
            process::run_program({"sh", "-c",
                                  pathproof_binary() + " generate g0 --netns " + a +
                                      " --destination-mac 02:70:70:00:01:01 " + options});
        BOOST_REQUIRE_MESSAGE(out, out.error().message);
        return *out;
    }

    // Frames that the peer saw by tshark's judgement, "IPv4 status,UDP status" (inner last): 1
    // good, 0 bad, 3 not present.
    std::map<std::string, int> judged(const std::string& options) const {
        const std::string file = (folder / "sent.pcap").string();
        // The drain is tcpdump's time to write the last frame (-U: at once). In immediate mode it
        // can sleep through a SIGINT until the next frame.
        shell("ip netns exec " + b + " tcpdump -Z root --immediate-mode -i g1 -U -w " + file +
              " 2>" + file +
              ".err & t=$!; "
              "while ! grep -q 'listening on' " +
              file + ".err; do sleep 0.02; done; " + pathproof_binary() + " generate g0 --netns " +
              a + " --destination-mac 02:70:70:00:01:01 --rate 2000 --drain 0.3 " + options +
              " >/dev/null; kill -KILL $t; wait $t || true");
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

const std::string kTo4 = "--destination 203.0.113.2 ";
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
    expect(cable.judged("--destination 2001:db8::53 --count 300"), {{",1", 300}});
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
    const std::string json = (cable.folder / "respond.json").string();
    Cable::shell(pathproof_binary() + " respond g1 --netns " + cable.b +
                 " --cpu 1 --json "
                 "--rule type=A,address=192.0.2.1,loss=0.5 --rule address=2001:db8::1 >" +
                 json + " 2>" + json +
                 ".err & t=$!; "
                 "while ! grep -q 'answering on' " +
                 json + ".err; do sleep 0.02; done; " + pathproof_binary() +
                 " generate g0 --netns " + cable.a +
                 " --destination-mac 02:70:70:00:01:01 --count 500 --pairs --json " + kTo4 + ">" +
                 json + ".sent; kill -INT $t; wait $t");
    const auto server = nlohmann::json::parse(Cable::shell("cat " + json));
    const auto sent = nlohmann::json::parse(Cable::shell("cat " + json + ".sent"));
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

BOOST_AUTO_TEST_CASE(ctrl_c_ends_with_partial_counts) {
    const Cable cable;
    const auto out = cable.generate(
        kTo4 + "--rate 200 --duration 30 --json & t=$!; sleep 1; kill -INT $t; wait $t");
    BOOST_TEST(out.exit_status == 3);
    const auto sent = nlohmann::json::parse(out.out);
    BOOST_TEST(sent.at("partial").get<bool>());
    BOOST_TEST(sent.at("sent") > 10);
    BOOST_TEST(sent.at("sent") < 400);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_done_is_refused_with_exit_code_2) {
    const Cable cable;
    const auto refused = [&](const std::string& options, const std::string& word) {
        const auto out = cable.generate(options);
        BOOST_TEST(out.exit_status == 2, options);
        BOOST_TEST(out.err.find(word) != std::string::npos, out.err);
    };
    refused("--count 1", "--destination");
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
}
