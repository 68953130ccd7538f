#include "harness/lab/nat_box.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <map>
#include <optional>

#include "harness/lab/path_settings.h"
#include "tests/lab/support.h"

BOOST_AUTO_TEST_SUITE(nat_box)

using namespace pathproof;
using namespace pathproof::lab;
using Bytes = std::vector<std::uint8_t>;
using Clock = std::chrono::steady_clock;

namespace {

void put16(Bytes& bytes, unsigned value) {
    bytes.push_back(static_cast<std::uint8_t>(value >> 8));
    bytes.push_back(static_cast<std::uint8_t>(value));
}

unsigned get16(const Bytes& bytes, std::size_t at) {
    return bytes.at(at) << 8U | bytes.at(at + 1);
}

// RFC 1071 over a stretch of bytes.
unsigned sum16(const Bytes& bytes, std::size_t begin, std::size_t end, unsigned sum = 0) {
    for (std::size_t i = begin; i < end; i += 2) {
        sum += bytes.at(i) << 8U | (i + 1 < end ? bytes.at(i + 1) : 0U);
    }
    while (sum > 0xffff) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return sum;
}

Bytes udp_frame(const frame::MacAddress& from_mac, const frame::MacAddress& to_mac,
                const frame::Endpoint& from, const frame::Endpoint& to, const Bytes& payload) {
    Bytes frame(to_mac.bytes.begin(), to_mac.bytes.end());
    frame.insert(frame.end(), from_mac.bytes.begin(), from_mac.bytes.end());
    put16(frame, 0x0800);
    const auto length = static_cast<unsigned>(payload.size());
    for (unsigned word : {0x4500U, 28 + length, 0U, 0x4000U, 0x4011U, 0U}) {
        put16(frame, word);
    }
    for (const frame::Endpoint& end : {from, to}) {
        frame.insert(frame.end(), end.address.bytes.begin(), end.address.bytes.begin() + 4);
    }
    const unsigned checksum = ~sum16(frame, 14, 34) & 0xffff;
    frame[24] = static_cast<std::uint8_t>(checksum >> 8);
    frame[25] = static_cast<std::uint8_t>(checksum);
    for (unsigned word : {unsigned{from.port}, unsigned{to.port}, 8 + length, 0U}) {
        put16(frame, word);  // no UDP checksum (RFC 768 allows it)
    }
    frame.insert(frame.end(), payload.begin(), payload.end());
    return frame;
}

struct Udp {
    frame::MacAddress to_mac;
    frame::Endpoint from, to;
    Bytes payload;
    bool good_checksum = false;  // present and right
};

frame::Endpoint end_at(const Bytes& frame, std::size_t address, std::size_t port) {
    return {frame::IpAddress::v4(get16(frame, address) << 16 | get16(frame, address + 2)),
            static_cast<std::uint16_t>(get16(frame, port))};
}

std::optional<Udp> parse(const Bytes& frame) {
    if (frame.size() < 42 || get16(frame, 12) != 0x0800 || frame[23] != 17) {
        return std::nullopt;
    }
    Udp udp;
    std::copy_n(frame.begin(), 6, udp.to_mac.bytes.begin());
    udp.from = end_at(frame, 26, 34);
    udp.to = end_at(frame, 30, 36);
    const std::size_t end = 34 + get16(frame, 38);
    udp.payload.assign(frame.begin() + 42, frame.begin() + static_cast<std::ptrdiff_t>(end));
    const unsigned pseudo = sum16(frame, 26, 34, 17 + get16(frame, 38));
    udp.good_checksum = get16(frame, 40) != 0 && sum16(frame, 34, end, pseudo) == 0xffff;
    return udp;
}

std::vector<Udp> received(RawPort& port) {
    std::vector<Udp> all;
    for (const Bytes& frame : port.receive(150)) {
        if (auto udp = parse(frame)) {
            all.push_back(std::move(*udp));
        }
    }
    return all;
}

Bytes in_vxlan(const Bytes& inner, std::uint32_t vni) {
    Bytes payload{0x08, 0, 0, 0};
    put16(payload, vni >> 8);
    put16(payload, (vni & 0xff) << 8);
    payload.insert(payload.end(), inner.begin(), inner.end());
    return payload;
}

struct Lab {
    std::unique_ptr<Journal> journal;
    std::unique_ptr<NatBox> box;
    const NatBoxNames& names() const { return box->names(); }

    Lab() {
        auto opened = Journal::open("pathproof test");
        BOOST_REQUIRE_MESSAGE(opened, (opened ? "" : opened.error().message));
        journal = std::move(*opened);
        auto built = NatBox::build(*journal);
        BOOST_REQUIRE_MESSAGE(built, (built ? "" : built.error().message));
        box = std::move(*built);
    }
    setting::Setting service(unsigned backends) const {
        const auto service = box->service(backends);
        BOOST_REQUIRE_MESSAGE(service, (service ? "" : service.error().message));
        return *service;
    }
    void set(const Settings& settings) const {
        const Status done = box->set(settings);
        BOOST_REQUIRE_MESSAGE(done, (done ? "" : done.error().message));
    }
    RawPort client(std::size_t i) const { return {names().tester, names().client_ports[i]}; }
    RawPort server() const { return {names().tester, names().server_port}; }

    // A query from a client behind c0 or c1 to the service.
    Bytes query(std::size_t i, const frame::IpAddress& client, std::uint16_t port) const {
        return udp_frame(names().tester_client_mac[i], names().dut_client_mac[i], {client, port},
                         names().service, {'q', 'u', 'e', 'r', 'y'});
    }
    // The answer of the server that got `query`.
    Bytes answer(const Udp& query) const {
        return udp_frame(names().tester_server_mac, names().dut_server_mac, query.to, query.from,
                         {'y', 'e', 's'});
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(it_stands_and_leaves_nothing) {
    auto began = Clock::now();
    const auto seconds = [&] {
        return std::chrono::duration<double>(Clock::now() - began).count();
    };
    {
        const Lab lab;
        BOOST_TEST_MESSAGE("nat-box up in " << seconds() << " s");
        began = Clock::now();
        lab.set({lab.service(77)});
        BOOST_TEST_MESSAGE("77 backends in " << seconds() << " s");
        began = Clock::now();
    }
    BOOST_TEST_MESSAGE("nat-box down in " << seconds() << " s");
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(nothing_stirs_on_the_wires_before_somebody_sends) {
    const Lab lab;
    RawPort client = lab.client(0);
    RawPort server = lab.server();
    BOOST_TEST(client.receive(1200).empty());
    BOOST_TEST(server.receive(10).empty());
}

BOOST_AUTO_TEST_CASE(queries_are_spread_over_all_backends_and_answers_come_back_translated) {
    const Lab lab;
    for (std::size_t i : {0U, 1U}) {
        RawPort client = lab.client(i);
        RawPort server = lab.server();
        constexpr std::uint16_t kQueries = 64;
        for (std::uint16_t query = 0; query < kQueries; ++query) {
            client.send(lab.query(i, lab.names().first_client[i].plus(query), 40000));
        }
        std::map<frame::IpAddress, int> at;
        for (const Udp& query : received(server)) {
            ++at[query.to.address];
            BOOST_TEST(query.to.port == 53);
            BOOST_TEST((query.to_mac == lab.names().tester_server_mac));
            server.send(lab.answer(query));
        }
        BOOST_REQUIRE(at.size() == 2U);
        for (unsigned number = 0; number < kUsualBackends; ++number) {
            const frame::IpAddress& backend = lab.names().servers[number];
            BOOST_TEST(at[backend] > 10, to_string(backend));  // 32 expected; under 11 is 1 in 10^8
        }
        const std::vector<Udp> answers = received(client);
        BOOST_TEST(answers.size() == kQueries);
        for (const Udp& answer : answers) {
            BOOST_TEST((answer.from == lab.names().service));
            BOOST_TEST(answer.to.port == 40000);
            BOOST_TEST((answer.to_mac == lab.names().tester_client_mac[i]));
        }
    }
}

BOOST_AUTO_TEST_CASE(source_nat_is_as_configured) {
    const Lab lab;
    RawPort client = lab.client(0);
    RawPort server = lab.server();
    for (Snat snat : {Snat::kNone, Snat::kMasquerade, Snat::kMasqueradeRandomFully}) {
        lab.set({lab.box->snat(snat)});
        for (std::uint16_t i = 0; i < 8; ++i) {
            client.send(
                lab.query(0, lab.names().first_client[0], static_cast<std::uint16_t>(40000 + i)));
        }
        const std::vector<Udp> queries = received(server);
        BOOST_REQUIRE(queries.size() == 8U);
        std::size_t same_port = 0;
        for (std::uint16_t i = 0; i < 8; ++i) {
            const std::string from = to_string(queries[i].from.address);
            BOOST_TEST(from == (snat == Snat::kNone ? "198.18.1.1" : "203.0.113.1"));
            same_port += queries[i].from.port == 40000 + i ? 1 : 0;
        }
        // Eight random ports that all hit by chance: no. That three of them do: 1 in 10^12.
        BOOST_TEST((snat == Snat::kMasqueradeRandomFully ? same_port < 3 : same_port == 8));
    }
}

BOOST_AUTO_TEST_CASE(settings_replace_the_rules_and_forget_the_flows) {
    const Lab lab;
    RawPort client = lab.client(0);
    client.send(lab.query(0, lab.names().first_client[0], 40000));
    client.receive(50);
    BOOST_TEST(shell(lab.names().dut, "conntrack -C") == "1\n");
    lab.set({lab.service(5), lab.box->snat(Snat::kMasquerade), udp_timeout(7)});
    BOOST_TEST(shell(lab.names().dut, "conntrack -C") == "0\n");
    const std::string rules = shell(lab.names().dut, "iptables-save -t nat");
    BOOST_TEST(contains(rules, " -m statistic --mode random --probability 0.2"));
    BOOST_TEST(contains(rules, "--to-destination 203.0.113.6:53"));
    BOOST_TEST(shell(lab.names().dut,
                     "sysctl -n net.netfilter.nf_conntrack_udp_timeout "
                     "net.netfilter.nf_conntrack_udp_timeout_stream") == "7\n7\n");
    lab.set({});
    const std::string again = shell(lab.names().dut, "iptables-save -t nat");
    BOOST_TEST(!contains(again, "203.0.113.6"));
    BOOST_TEST(!contains(again, "MASQUERADE"));

    for (const unsigned number : {0U, 254U}) {
        const auto refused = lab.box->service(number);
        BOOST_REQUIRE(!refused);
        BOOST_TEST((refused.error().code == ErrorCode::kBadInput));
        BOOST_TEST(contains(refused.error().message, "1 to 253"));
    }
}

BOOST_AUTO_TEST_CASE(clients_that_come_in_vxlan_are_served_and_answered_in_vxlan) {
    const Lab lab;
    const NatBoxNames& names = lab.names();
    RawPort client = lab.client(0);
    RawPort server = lab.server();
    const Bytes inner =
        udp_frame(names.carried_tester_mac, names.carried_dut_mac,
                  {names.first_carried_client.plus(9), 40000}, names.service, {'q'});
    client.send(udp_frame(names.tester_client_mac[0], names.dut_client_mac[0],
                          {names.carrier_tester, 5000}, {names.carrier_dut, names.vxlan_port},
                          in_vxlan(inner, names.vni)));
    const std::vector<Udp> queries = received(server);
    BOOST_REQUIRE(queries.size() == 1U);
    BOOST_TEST((queries[0].from.address == names.first_carried_client.plus(9)));
    server.send(lab.answer(queries[0]));

    const std::vector<Udp> carriers = received(client);
    BOOST_REQUIRE(carriers.size() == 1U);
    const Udp& carrier = carriers[0];
    BOOST_TEST((carrier.from.address == names.carrier_dut));
    BOOST_TEST((carrier.to == frame::Endpoint{names.carrier_tester, names.vxlan_port}));
    BOOST_TEST((carrier.to_mac == names.tester_client_mac[0]));
    // The DUT's device does not leave the outer checksum to a NIC that is not there.
    BOOST_TEST(carrier.good_checksum);
    BOOST_REQUIRE(carrier.payload.size() > 8);
    const auto answer = parse(Bytes(carrier.payload.begin() + 8, carrier.payload.end()));
    BOOST_REQUIRE(answer);
    BOOST_TEST((answer->from == names.service));
    BOOST_TEST((answer->to_mac == names.carried_tester_mac));
    BOOST_TEST((answer->payload == Bytes{'y', 'e', 's'}));
}

BOOST_AUTO_TEST_CASE(the_dut_is_set_up_as_described) {
    const Lab lab;
    BOOST_TEST(shell(lab.names().dut,
                     "sysctl -n net.ipv4.ip_forward net.ipv4.conf.d0.rp_filter "
                     "net.ipv4.conf.ds.rp_filter net.ipv6.conf.d1.disable_ipv6 "
                     "net.netfilter.nf_conntrack_acct "
                     "net.netfilter.nf_conntrack_udp_timeout") == "1\n0\n0\n1\n1\n30\n");
    BOOST_TEST(shell(lab.names().dut, "ip route show default") == "");
    const std::string filter = shell(lab.names().dut, "iptables-save -t filter");
    BOOST_TEST(!contains(filter, "-A INPUT"));
    BOOST_TEST(!contains(filter, "-A OUTPUT"));
    for (const char* device : {"d0", "d1", "ds"}) {
        BOOST_TEST(contains(shell(lab.names().dut, std::string("ethtool -k ") + device),
                            "tx-checksumming: off"));
    }
}

BOOST_AUTO_TEST_SUITE_END()
