#include "harness/agent/counters.h"

#include <stdlib.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <random>

BOOST_AUTO_TEST_SUITE(counters)

using namespace pathproof;
using namespace pathproof::agent;
namespace fs = std::filesystem;

namespace {

constexpr const char* kSnmp =
    "Ip: Forwarding DefaultTTL InReceives\n"
    "Ip: 1 64 18446744073709551615\n"
    "Tcp: RtoAlgorithm MaxConn InCsumErrors\n"
    "Tcp: 1 -1 4\n"
    "IcmpMsg: InType0 OutType8\n"
    "IcmpMsg: 3 3\n"
    "Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors \n"
    "Udp: 17 0 4 21 0 0 4 \n";

struct Folder {
    Folder() {
        std::string name = (fs::temp_directory_path() / "pp-counters-XXXXXX").string();
        BOOST_REQUIRE(mkdtemp(name.data()) != nullptr);
        path = name;
    }
    ~Folder() { fs::remove_all(path); }
    void write(const std::string& name, const std::string& text) const {
        fs::create_directories((path / name).parent_path());
        std::ofstream(path / name) << text;
    }
    fs::path path;
};

}  // namespace

BOOST_AUTO_TEST_CASE(pairs_of_lines_become_named_values) {
    const CounterSet read = parse_paired_counters(kSnmp);
    BOOST_TEST(read.at("Udp.InCsumErrors") == 4U);
    BOOST_TEST(read.at("Udp.OutDatagrams") == 21U);
    BOOST_TEST(read.at("Ip.InReceives") == 18446744073709551615U);
    BOOST_TEST(read.at("IcmpMsg.OutType8") == 3U);
}

BOOST_AUTO_TEST_CASE(a_value_that_is_no_count_is_left_out) {
    const CounterSet read = parse_paired_counters(kSnmp);
    BOOST_TEST(!read.contains("Tcp.MaxConn"));
    BOOST_TEST(read.at("Tcp.InCsumErrors") == 4U);
}

BOOST_AUTO_TEST_CASE(lines_that_do_not_fit_each_other_give_no_value) {
    BOOST_TEST(parse_paired_counters("Udp: A B C\nUdp: 1 2\n").empty());
    BOOST_TEST(parse_paired_counters("Udp: A B\n").empty());
    BOOST_TEST(parse_paired_counters("Udp: A\nTcp: 1\n").empty());
    BOOST_TEST(parse_paired_counters("").empty());
    BOOST_TEST(parse_paired_counters(":\n:\n").empty());
    BOOST_TEST(parse_paired_counters("Udp:\nUdp:\n").empty());
}

BOOST_AUTO_TEST_CASE(an_odd_line_does_not_spoil_its_neighbours) {
    const CounterSet read = parse_paired_counters(
        "garbage\nUdp: A B\nUdp: 1\nTcp: A B\nTcp: 7 x\nmore garbage\nIp: C\nIp: 9");
    BOOST_TEST(read.size() == 2U);
    BOOST_TEST(read.at("Tcp.A") == 7U);
    BOOST_TEST(read.at("Ip.C") == 9U);
}

BOOST_AUTO_TEST_CASE(listed_counters_are_read_line_by_line) {
    const CounterSet read = parse_listed_counters(
        "Udp6InDatagrams                 \t12\nUdp6InCsumErrors 3\nbroken\ntoo many words\nUdp6X "
        "-1\n");
    BOOST_TEST(read.size() == 2U);
    BOOST_TEST(read.at("Udp6InCsumErrors") == 3U);
}

BOOST_AUTO_TEST_CASE(socket_counts_are_named_by_their_line) {
    const CounterSet expected{{"TCP.inuse", 3}, {"TCP.tw", 5}, {"FRAG.memory", 17}};
    BOOST_TEST(
        (parse_socket_counts("sockets: used\nTCP: inuse 3 tw 5 alloc\nFRAG: inuse x memory 17\n"
                             "nothing 4 5\n") == expected));
}

BOOST_AUTO_TEST_CASE(a_neighbour_table_is_added_up_over_cpus) {
    const CounterSet expected{{"entries", 8}, {"table_fulls", 0x12}};
    BOOST_TEST((parse_neighbour_table("entries  table_fulls\n00000008 00000010\n00000008 00000002\n"
                                      "00000008\n0000000g 00000000 1\n") == expected));
    BOOST_TEST(parse_neighbour_table("").empty());
    BOOST_TEST(parse_neighbour_table("entries").empty());
}

BOOST_AUTO_TEST_CASE(limits_of_the_first_namespace_alone_are_left_out_elsewhere) {
    const Folder folder;
    folder.write("net/snmp", kSnmp);
    folder.write("net/sockstat", "TCP: inuse 3 tw 5\n");
    const auto elsewhere = read_limits((folder.path / "net").string());
    BOOST_REQUIRE(elsewhere);
    BOOST_TEST(elsewhere->at("TCP.tw") == 5U);
    BOOST_TEST(elsewhere->at("Udp.NoPorts") == 0U);
    BOOST_TEST(!elsewhere->contains("arp.table_fulls"));
    folder.write("net/stat/arp_cache", "entries table_fulls\n00000008 00000001\n");
    const auto first = read_limits((folder.path / "net").string());
    BOOST_REQUIRE(first);
    BOOST_TEST(first->at("arp.table_fulls") == 1U);
}

BOOST_AUTO_TEST_CASE(random_text_is_survived) {
    std::mt19937 random(1);
    const std::string alphabet = "Ud: \n\t09-x";
    for (int round = 0; round < 20'000; ++round) {
        std::string text(random() % 60, ' ');
        for (char& letter : text) {
            letter = alphabet[random() % alphabet.size()];
        }
        for (const auto& [name, value] : parse_paired_counters(text)) {
            BOOST_REQUIRE(name.find('.') != std::string::npos);
        }
        parse_listed_counters(text);
        parse_socket_counts(text);
        parse_neighbour_table(text);
    }
}

BOOST_AUTO_TEST_CASE(files_that_the_kernel_lacks_are_left_out) {
    const Folder folder;
    folder.write("net/snmp", kSnmp);
    const auto read = read_protocol_counters((folder.path / "net").string());
    BOOST_REQUIRE(read);
    BOOST_TEST(read->at("Udp.NoPorts") == 0U);
}

BOOST_AUTO_TEST_CASE(no_counters_at_all_is_an_error) {
    const Folder folder;
    const auto read = read_protocol_counters(folder.path.string());
    BOOST_REQUIRE(!read);
    BOOST_TEST((read.error().code == ErrorCode::kKernelLacks));
}

BOOST_AUTO_TEST_CASE(a_delta_holds_what_grew) {
    const CounterSet before{{"same", 5}, {"grew", 5}, {"fell", 5}, {"gone", 5}};
    const CounterSet after{{"same", 5}, {"grew", 8}, {"fell", 2}, {"fresh", 4}};
    const CounterSet expected{{"grew", 3}, {"fresh", 4}};
    BOOST_TEST((delta(before, after) == expected));
}

BOOST_AUTO_TEST_SUITE_END()
