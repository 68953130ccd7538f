#include "dataplane/traffic/quick_answer.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <random>

#include "dataplane/traffic/responder.h"
#include "tests/traffic/frames.h"

BOOST_AUTO_TEST_SUITE(quick_answer)

using namespace pathproof;
using namespace pathproof::traffic;
using namespace std::chrono_literals;

namespace {

constexpr std::uint16_t kA = frame::kDnsTypeA;
constexpr std::uint16_t kAaaa = frame::kDnsTypeAaaa;
constexpr std::size_t kRoom = 2048;

Responder responder(std::vector<AnswerRule> rules) {
    auto made = Responder::make({.rules = std::move(rules), .tunnel_ports = {4789}, .pending = 4});
    BOOST_REQUIRE_MESSAGE(made, made.error().message);
    return std::move(*made);
}

Frame general_answer(Responder& server, const Frame& query) {
    server.take(query, 0);
    BOOST_REQUIRE(server.next_due());
    const frame::Bytes bytes = server.next_answer();
    Frame answer(bytes.begin(), bytes.end());
    server.take_off(Responder::Outcome::kSent);
    return answer;
}

struct InPlace {
    Turned turned;
    Frame frame;  // as far as it is to be sent
};

InPlace in_place(Responder& server, const Frame& query, std::size_t room = kRoom) {
    Frame buffer = query;
    buffer.resize(room, 0xee);
    InPlace result{.turned = server.take_in_place(buffer, query.size(), 0), .frame = {}};
    result.frame.assign(buffer.begin(), buffer.begin() + result.turned.bytes);
    return result;
}

bool answered_at_once(Responder& server, const Frame& query, std::size_t room = kRoom) {
    const bool at_once = in_place(server, query, room).turned.kind == Turned::Kind::kAnswer;
    while (server.next_due()) {
        server.take_off(Responder::Outcome::kSent);
    }
    return at_once;
}

// Draws queries of all shapes that the general way answers.
class Queries {
  public:
    explicit Queries(unsigned seed) : random_(seed) {}

    Frame next() {
        frame::FrameSpec spec = envelope();
        spec.payload = message();
        const auto made = frame::FrameTemplate::make(spec);
        BOOST_REQUIRE_MESSAGE(made, made.error().message);
        return made->render();
    }

  private:
    std::uint32_t below(std::uint32_t end) { return static_cast<std::uint32_t>(random_() % end); }

    void dress(frame::PacketSpec& packet) {
        packet.vlans = static_cast<std::uint8_t>(below(3));
        packet.vlan = {frame::VlanTag{0x88a8, static_cast<std::uint16_t>(below(4096))},
                       frame::VlanTag{0x8100, static_cast<std::uint16_t>(below(65'536))}};
        packet.hop_limit = static_cast<std::uint8_t>(1 + below(255));
        packet.traffic_class = static_cast<std::uint8_t>(below(256));
        packet.identification = static_cast<std::uint16_t>(below(65'536));
        packet.flow_label = below(1 << 20);
        packet.source.port = static_cast<std::uint16_t>(1024 + below(60'000));
        packet.trailer.assign(below(4) == 0 ? below(20) : 0, 0);
    }

    frame::FrameSpec envelope() {
        const auto family = below(2) == 0 ? frame::Family::kIpv4 : frame::Family::kIpv6;
        frame::FrameSpec spec = plain_spec(family);
        spec.packet.source.address = spec.packet.source.address.plus(below(1 << 24));
        dress(spec.packet);
        if (below(2) == 0) {
            const auto outer =
                plain_spec(below(2) == 0 ? frame::Family::kIpv4 : frame::Family::kIpv6);
            spec.tunnel.emplace();
            spec.tunnel->vni = below(1 << 24);
            spec.tunnel->outer = outer.packet;
            dress(spec.tunnel->outer);
            spec.tunnel->outer.destination.port = 4789;
            spec.tunnel->outer.transport_checksum =
                below(3) == 0 ? frame::ChecksumMode::kZero : frame::ChecksumMode::kSoftware;
        }
        return spec;
    }

    std::string name() {
        std::string text;
        for (std::uint32_t labels = below(4); labels > 0; --labels) {
            for (std::uint32_t letters = 1 + below(12); letters > 0; --letters) {
                text += static_cast<char>((below(5) == 0 ? 'A' : 'a') + below(26));
            }
            text += '.';
        }
        const std::array<std::string, 4> suffixes = {"pathproof.test", "PathProof.TEST",
                                                     "example.org", "."};
        const std::string& suffix = suffixes[below(4)];
        return suffix == "." && !text.empty() ? text : text + suffix;
    }

    std::vector<std::uint8_t> message() {
        std::vector<std::uint8_t> bytes(512);
        const std::size_t size =
            frame::write_query(bytes, {.id = static_cast<std::uint16_t>(below(65'536)),
                                       .name = frame::DnsName::from_text(name()).value(),
                                       .type = below(2) == 0 ? kA : kAaaa,
                                       .recursion_desired = below(2) == 0});
        bytes.resize(size);
        if (below(2) == 0) {
            add_edns(bytes);
        }
        if (below(4) == 0) {
            bytes[3] = 0x20;  // AD: asked by resolvers that validate (RFC 6840 section 5.7)
        }
        return bytes;
    }

    // RFC 6891 with a padding option (RFC 7830).
    void add_edns(std::vector<std::uint8_t>& bytes) {
        const std::uint32_t padding = below(30);
        bytes[11] = 1;
        const auto length = static_cast<std::uint8_t>(padding);
        bytes.insert(bytes.end(), {0, 0, 41, 0x10, 0, 0, 0, 0, 0, 0,
                                   static_cast<std::uint8_t>(length + 4), 0, 12, 0, length});
        for (std::uint32_t n = 0; n < padding; ++n) {
            bytes.push_back(static_cast<std::uint8_t>(below(256)));
        }
    }

    std::mt19937 random_;
};

const std::vector<AnswerRule> kRules = {
    {.suffix = "example.org", .qtype = kA, .rcode = 3},
    {.suffix = "pathproof.test", .addresses = {ip_of("192.0.2.53"), ip_of("2001:db8::53")}},
    {.qtype = kAaaa, .truncated = true},
    {.suffix = "a", .addresses = {ip_of("192.0.2.1"), ip_of("192.0.2.2"), ip_of("192.0.2.3")}},
};

}  // namespace

BOOST_AUTO_TEST_CASE(in_place_and_written_anew_give_the_same_frames) {
    Queries queries(7);
    Responder general = responder(kRules);
    Responder quick = responder(kRules);
    for (int n = 0; n < 20'000; ++n) {
        const Frame query = queries.next();
        const InPlace result = in_place(quick, query);
        BOOST_REQUIRE((result.turned.kind == Turned::Kind::kAnswer));
        const Frame expected = general_answer(general, query);
        BOOST_REQUIRE_MESSAGE(result.frame == expected, "query " << n);
        BOOST_REQUIRE(is_right(result.frame));
    }
    BOOST_TEST(quick.counts().queries == 20'000u);
    BOOST_TEST(quick.intake().tally().answers == general.intake().tally().answers);
    BOOST_TEST((quick.intake().checksums() == general.intake().checksums()));
}

BOOST_AUTO_TEST_CASE(every_type_and_class_gets_the_same_either_way) {
    const std::vector<AnswerRule> rules = {
        {.suffix = "pathproof.test", .addresses = {ip_of("192.0.2.53"), ip_of("2001:db8::53")}}};
    Responder general = responder(rules);
    Responder quick = responder(rules);
    for (std::uint16_t type = 0; type < 260; ++type) {
        for (const std::uint8_t query_class :
             std::initializer_list<std::uint8_t>{0, 1, 3, 4, 254, 255}) {
            Frame query = query_frame(plain_spec(), type);
            query.back() = query_class;
            mend_checksums(query);
            const Frame expected = general_answer(general, query);
            InPlace result = in_place(quick, query);
            const bool has_data =
                query_class == frame::kDnsClassIn && (type == kA || type == kAaaa);
            BOOST_TEST((result.turned.kind == Turned::Kind::kAnswer) == has_data);
            if (!has_data) {
                BOOST_REQUIRE(quick.next_due());
                const frame::Bytes bytes = quick.next_answer();
                result.frame.assign(bytes.begin(), bytes.end());
                quick.take_off(Responder::Outcome::kSent);
            }
            BOOST_REQUIRE_MESSAGE(result.frame == expected,
                                  "type " << type << ", class " << int{query_class});
            BOOST_TEST(read_frame(expected).records.size() == (has_data ? 1u : 0u));
        }
    }
}

BOOST_AUTO_TEST_CASE(nothing_behind_the_answer_is_touched) {
    Responder server = responder(kRules);
    Frame buffer = query_frame(carried_spec(), kAaaa);
    const std::size_t size = buffer.size();
    buffer.resize(kRoom, 0xee);
    const Turned turned = server.take_in_place(buffer, size, 0);
    BOOST_TEST(turned.bytes == size + 28u);
    BOOST_TEST(std::all_of(buffer.begin() + turned.bytes, buffer.end(),
                           [](std::uint8_t byte) { return byte == 0xee; }));
}

BOOST_AUTO_TEST_CASE(an_answer_that_has_no_room_where_the_query_lies_is_written_anew) {
    Responder server = responder(kRules);
    const Frame query = query_frame(plain_spec(), kA);
    BOOST_TEST(answered_at_once(server, query, query.size() + 16));
    BOOST_TEST(!answered_at_once(server, query, query.size() + 15));
    BOOST_TEST(server.counts().queries == 2u);
}

BOOST_AUTO_TEST_CASE(what_needs_more_than_records_is_left_to_the_general_way) {
    const Frame query = query_frame(plain_spec(), kA);
    for (const AnswerRule& rule : {AnswerRule{.delay = 1ms}, AnswerRule{.loss = 0.5},
                                   AnswerRule{.cname = "www.example.org"}}) {
        Responder server = responder({rule});
        BOOST_TEST(!answered_at_once(server, query));
        BOOST_TEST(server.counts().queries == 1u);
    }
    Responder server = responder(kRules);
    BOOST_TEST(!answered_at_once(server, query_frame(plain_spec(), 16)));  // TXT
    frame::FrameSpec options = plain_spec();
    options.packet.ipv4_option_bytes = 4;
    BOOST_TEST(!answered_at_once(server, query_frame(options, kA)));
    frame::FrameSpec unsummed = plain_spec();
    unsummed.packet.transport_checksum = frame::ChecksumMode::kZero;
    BOOST_TEST(!answered_at_once(server, query_frame(unsummed, kA)));
    BOOST_TEST(answered_at_once(server, query));
    BOOST_TEST(server.counts().queries == 4u);
}

BOOST_AUTO_TEST_CASE(a_wrong_checksum_is_not_answered_in_place_either) {
    Responder server = responder(kRules);
    frame::FrameSpec spec = carried_spec();
    spec.packet.transport_checksum = frame::ChecksumMode::kPlusOne;
    BOOST_TEST(!answered_at_once(server, query_frame(spec, kA)));
    BOOST_TEST(server.intake().tally().bad_checksum == 1u);
    BOOST_TEST(server.counts().queries == 0u);
}

BOOST_AUTO_TEST_CASE(a_query_cut_anywhere_or_with_a_changed_byte_gets_the_same_either_way) {
    Queries queries(11);
    std::mt19937 random(5);
    Responder general = responder(kRules);
    Responder quick = responder(kRules);
    for (int n = 0; n < 20'000; ++n) {
        Frame query = queries.next();
        const std::size_t at = message_offset(query);
        query[at + random() % (query.size() - at)] = static_cast<std::uint8_t>(random());
        if (judge::verify(query, std::vector<std::uint16_t>{4789}).any_bad()) {
            mend_checksums(query);
        }
        if (n % 4 == 0) {
            query.resize(random() % query.size());
        }
        general.take(query, 0);
        InPlace result = in_place(quick, query);
        if (result.turned.kind == Turned::Kind::kNothing && quick.next_due()) {
            const frame::Bytes bytes = quick.next_answer();
            result.frame.assign(bytes.begin(), bytes.end());
            quick.take_off(Responder::Outcome::kSent);
        }
        Frame expected;
        if (general.next_due()) {
            const frame::Bytes bytes = general.next_answer();
            expected.assign(bytes.begin(), bytes.end());
            general.take_off(Responder::Outcome::kSent);
        }
        BOOST_REQUIRE(result.frame == expected);
    }
    BOOST_TEST(quick.counts().queries == general.counts().queries);
    BOOST_TEST(quick.intake().tally().balances());
}

BOOST_AUTO_TEST_CASE(departures_are_counted_by_kind) {
    Responder server = responder(kRules);
    server.departed(Turned::Kind::kAnswer, Responder::Outcome::kSent);
    server.departed(Turned::Kind::kAnswer, Responder::Outcome::kRefused);
    server.departed(Turned::Kind::kReflection, Responder::Outcome::kSent);
    server.departed(Turned::Kind::kReflection, Responder::Outcome::kRefused);
    server.departed(Turned::Kind::kNothing, Responder::Outcome::kSent);
    BOOST_TEST(server.counts().answered == 1u);
    BOOST_TEST(server.counts().quick == 1u);
    BOOST_TEST(server.counts().not_sent == 1u);
    BOOST_TEST(server.counts().reflected == 1u);
    BOOST_TEST(server.counts().not_reflected == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
