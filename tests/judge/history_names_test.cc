// Wrong checksums made by doing the wrong thing to the bytes, each with the evidence that its name
// rests on: what the frame was before, and what it was cut from.
#include "tests/judge/wrong_sums.h"

BOOST_AUTO_TEST_SUITE(history_names)

using namespace pathproof;
using namespace pathproof::wrong;

BOOST_AUTO_TEST_CASE(every_stale_field_of_the_packet_before_has_its_name) {
    struct Case {
        const char* name;
        const char* layer;
        std::function<void(Octets&, const frame::FrameView&)> change;
    };
    const auto at_transport = [](std::size_t offset) {
        return [=](Octets& frame, const frame::FrameView& view) {
            frame[view.outer.transport_offset + offset] ^= 0x15;
        };
    };
    const auto at_network = [](std::size_t offset) {
        return [=](Octets& frame, const frame::FrameView& view) {
            frame[view.outer.network_offset + offset] ^= 0x15;
        };
    };
    const Case cases[] = {
        {"STALE_SPORT", "outer.udp", at_transport(1)},
        {"STALE_SADDR", "outer.udp", at_network(13)},
        {"STALE_DADDR", "outer.udp", at_network(17)},
        {"STALE_VNI", "outer.udp",
         [](Octets& frame, const frame::FrameView& view) {
             frame[view.tunnel_offset + 5] ^= 0x15;
         }},
        {"STALE_TTL", "outer.ipv4", at_network(8)},
        {"STALE_SADDR", "outer.ipv4", at_network(13)},
    };
    for (const Case& each : cases) {
        const Maker make = [&](raw::Random& random) {
            Sample sample{.layer = each.layer};
            do {  // the envelope must have a checksum
                sample.before = healthy(random, {.envelope = Envelope::kVxlan, .payload = 20});
            } while (at(sample.before, "outer.udp").wire == 0);
            // A sender sets the identification, and so different right values.
            const auto view = frame::parse_frame(sample.before, kTunnels);
            put(sample.before, view.outer.network_offset + 4u, random.word());
            write_right(sample.before, at(sample.before, "outer.ipv4"));
            sample.frame = sample.before;
            each.change(sample.frame, view);
            if (std::string(each.layer) == "outer.udp") {
                write_right(sample.frame, at(sample.frame, "outer.ipv4"));
            }
            return sample;
        };
        BOOST_TEST(named(make) == each.name, each.layer);
    }
}

BOOST_AUTO_TEST_CASE(a_stale_length_and_several_stale_fields_are_named) {
    BOOST_TEST(named([](raw::Random& random) {
                   Sample sample{.frame = healthy(random, kEven), .layer = "plain.ipv4"};
                   put(sample.frame, 18, random.word());
                   write_right(sample.frame, at(sample.frame, "plain.ipv4"));
                   sample.before = sample.frame;
                   sample.before.push_back(7);
                   sample.before.push_back(7);
                   sample.before[17] = static_cast<std::uint8_t>(sample.before[17] + 2);
                   sample.frame[24] = sample.frame[25] = 0;
                   write_right(sample.before, at(sample.before, "plain.ipv4"));
                   put(sample.frame, 24, get(sample.before, 24));
                   return sample;
               }) == "STALE_IP_LEN");
    const auto nat = [](bool lco) {
        return [=](raw::Random& random) {
            Sample sample{.layer = "plain.udp", .before = healthy(random, kEven)};
            sample.frame = sample.before;
            sample.frame[34] ^= 0x12;  // port
            sample.frame[29] ^= 0x34;  // address
            write_right(sample.frame, at(sample.frame, "plain.ipv4"));
            if (lco) {  // right + new - old port + 2 * (new - old address)
                const auto minus = [](std::uint16_t v) { return inverted(v); };
                Octets words;
                raw::put16(words, at(sample.frame, "plain.udp").right);
                raw::put16(words, get(sample.frame, 34));
                raw::put16(words, minus(get(sample.before, 34)));
                for (int twice = 0; twice < 2; ++twice) {
                    raw::put16(words, get(sample.frame, 28));
                    raw::put16(words, minus(get(sample.before, 28)));
                }
                put(sample.frame, 40, sum(words));
            }
            return sample;
        };
    };
    BOOST_TEST(named(nat(false)) == "STALE");
    BOOST_TEST(named(nat(true)) == "NAT_LCO");
}

BOOST_AUTO_TEST_CASE(nat_of_a_switched_off_checksum_needs_a_field_that_was_0) {
    for (const bool was_zero : {true, false}) {
        const Maker make = [&](raw::Random& random) {
            Sample sample{.layer = "plain.udp"};
            sample.before =
                healthy(random, {.upper = was_zero ? Upper::kUdpZero : Upper::kUdp, .payload = 20});
            sample.frame = sample.before;
            sample.frame[35] ^= 0x34;  // port
            put(sample.frame, 40, 0xffff);
            return sample;
        };
        BOOST_TEST(named(make) == (was_zero ? "NAT0" : "UNKNOWN []"));
    }
}

BOOST_AUTO_TEST_CASE(an_outer_sum_over_what_the_inner_field_held_before_is_named) {
    const Maker make = [](raw::Random& random) {
        Sample sample{.layer = "outer.udp"};
        do {
            sample.frame = healthy(random, {.envelope = Envelope::kGeneve, .payload = 20});
        } while (at(sample.frame, "outer.udp").wire == 0);
        sample.handed_over = sample.frame;
        const ChecksumFinding inner = at(sample.frame, "inner.udp");
        put(sample.handed_over, inner.field_offset, 0x1234);
        write_right(sample.handed_over, at(sample.handed_over, "outer.udp"));
        const auto early = static_cast<std::uint16_t>(at(sample.handed_over, "outer.udp").wire);
        put(sample.frame, at(sample.frame, "outer.udp").field_offset, early);
        return sample;
    };
    BOOST_TEST(named(make) == "OUTER_BEFORE_INNER");
}

BOOST_AUTO_TEST_CASE(segments_with_the_super_frames_value_or_length_are_named) {
    for (const bool length : {true, false}) {
        const Maker make = [&](raw::Random& random) {
            Sample sample{.layer = "plain.tcp"};
            sample.super_frame = healthy(random, {.upper = Upper::kTcp, .payload = 2000});
            sample.frame = slice(sample.super_frame, 0, 1000);
            put(sample.frame, 16, 1000 - 14);
            write_right(sample.frame, at(sample.frame, "plain.ipv4"));
            Parts parts = parts_of(sample.frame, 16);
            const Parts whole = parts_of(sample.super_frame, 16);
            put(sample.frame, parts.field,
                length ? sum_of({whole.pseudo, parts.data})
                       : static_cast<std::uint16_t>(at(sample.super_frame, "plain.tcp").right));
            return sample;
        };
        BOOST_TEST(named(make) == "SUPERPKT");
    }
}

BOOST_AUTO_TEST_CASE(a_datagram_of_which_only_the_first_fragment_was_summed_is_named) {
    for (const bool short_length : {true, false}) {
        const Maker make = [&](raw::Random& random) {
            Sample sample{.frame = healthy(random, {.payload = 200 + 2 * random.below(9)})};
            Parts parts = parts_of(sample.frame, 6);
            sample.first_fragment_end = parts.packet.transport_offset + 80;
            if (short_length) {
                put(parts.pseudo, 10 - 0, 0);
                parts.pseudo = slice(parts.pseudo, 0, 8);
                raw::put32(parts.pseudo, 80);
                raw::put32(parts.pseudo, 17);
            }
            put(sample.frame, parts.field, sum_of({parts.pseudo, slice(parts.data, 0, 80)}));
            return sample;
        };
        BOOST_TEST(named(make) == "FRAG_L4");
    }
}

BOOST_AUTO_TEST_CASE(a_missing_checksum_is_a_fault_only_where_one_was_asked_for) {
    const auto make = [](ZeroUdp zero) {
        return [=](raw::Random& random) {
            return Sample{.frame = healthy(random, {.upper = Upper::kUdpZero, .payload = 20}),
                          .zero_udp = zero};
        };
    };
    BOOST_TEST(named(make(ZeroUdp::kNotAgreed)) == "DISABLED");
    BOOST_TEST(named(make(ZeroUdp::kAgreed)) == "UNKNOWN []");
}

// A sum of 0 sent as 0 over IPv4 looks like a checksum that was switched off, until a frame of the
// same sender shows that it was not.
BOOST_AUTO_TEST_CASE(a_zero_not_mangled_over_ipv4_is_told_from_disabled_by_healthy_frames) {
    raw::Random random(78);
    NameVote vote;
    for (int i = 0; i < 4; ++i) {
        Octets frame = healthy(random, kEven);
        const Parts parts = parts_of(frame, 6);
        put(frame, frame.size() - 2, 0);
        const std::uint16_t rest = static_cast<std::uint16_t>(at(frame, "plain.udp").right);
        put(frame, frame.size() - 2, rest);  // now the sum is all ones, the checksum 0
        put(frame, parts.field, 0);
        const ChecksumFinding finding = at(frame, "plain.udp");
        BOOST_REQUIRE_EQUAL(finding.right, 0xffffu);
        vote.add(frame, finding,
                 matching_names(frame, finding, Evidence{.zero_udp = ZeroUdp::kNotAgreed}));
    }
    BOOST_TEST((vote.verdict() == ChecksumName::kUnknown));
    BOOST_TEST(vote.candidates().size() == 2u);
    vote.add_healthy();
    BOOST_TEST((vote.verdict() == ChecksumName::kZeroNotMangled));
}

BOOST_AUTO_TEST_CASE(mistakes_with_a_crc_are_named_by_computing_it_anew) {
    const auto crc = [](Octets bytes) {
        frame::Bytes all(bytes);
        Octets ip = raw::ipv4({.protocol = 132}, bytes);
        Octets frame = raw::ethernet(0x0800, ip);
        return at(frame, "plain.sctp").right;
    };
    const auto sctp = [&](const std::function<std::uint32_t(const Sample&, const Parts&)>& wrong) {
        return named([&](raw::Random& random) {
            Sample sample{
                .frame = healthy(
                    random, {.upper = Upper::kSctp, .trailer = Trailer::kRandom, .payload = 20}),
                .layer = "plain.sctp"};
            const Parts parts = parts_of(sample.frame, 8);
            sample.buffer_starts = {parts.packet.transport_offset + 20};
            const std::uint32_t value = wrong(sample, parts);
            put(sample.frame, parts.field, static_cast<std::uint16_t>(value >> 16));
            put(sample.frame, parts.field + 2, static_cast<std::uint16_t>(value));
            return sample;
        });
    };
    BOOST_TEST(sctp([](const Sample&, const Parts&) { return 0u; }) == "FIELD_ZERO");
    BOOST_TEST(sctp([](const Sample& sample, const Parts&) {
                   return __builtin_bswap32(at(sample.frame, "plain.sctp").right);
               }) == "SWAP");
    BOOST_TEST(sctp([&](const Sample& sample, const Parts& parts) {
                   return crc(raw::joined({parts.data, trailer_of(sample.frame, parts)}));
               }) == "PAD_DATA");
    BOOST_TEST(sctp([&](const Sample&, const Parts& parts) {
                   return crc(slice(parts.data, 0, 20));
               }) == "FIRST_SEG_ONLY");
    BOOST_TEST(sctp([](const Sample& sample, const Parts&) {
                   return at(sample.frame, "plain.sctp").right + 1;
               }) == "UNKNOWN []");
}

// With all evidence at hand, too, a mistake that nobody knows gets no name.
BOOST_AUTO_TEST_CASE(with_all_evidence_unknown_mistakes_stay_unknown) {
    for (const Mistake& wrong : strange_mistakes()) {
        const Maker make = [&](raw::Random& random) {
            Sample sample{.before = healthy(random, {.envelope = Envelope::kQinq,
                                                     .net = Net::kIpv4Options,
                                                     .trailer = Trailer::kRandom,
                                                     .payload = 41})};
            sample.frame = sample.before;
            const Parts parts = parts_of(sample.frame, 6);
            sample.frame[parts.packet.transport_offset] ^= 1;
            sample.handed_over = sample.before;
            put(sample.handed_over, parts.field, 0x5aa5);
            sample.buffer_starts = {parts.packet.transport_offset + 11};
            put(sample.frame, parts.field,
                wrong(static_cast<std::uint16_t>(at(sample.frame, "plain.udp").right)));
            return sample;
        };
        BOOST_TEST(named(make).starts_with("UNKNOWN"));
    }
}

BOOST_AUTO_TEST_CASE(the_difference_is_in_the_arithmetic_of_the_checksum) {
    const ChecksumFinding sum{.layer = {Depth::kPlain, Protocol::kTcp}, .wire = 5, .right = 7};
    BOOST_TEST(difference(sum) == 0xfffdu);  // -2 in one's complement
    const ChecksumFinding crc{.layer = {Depth::kPlain, Protocol::kSctp}, .wire = 5, .right = 7};
    BOOST_TEST(difference(crc) == 2u);
}

BOOST_AUTO_TEST_CASE(an_outer_sum_is_not_blamed_for_the_inner_one) {
    raw::Random random(80);
    Octets frame;
    do {
        frame = healthy(random, {.envelope = Envelope::kVxlan, .payload = 20});
    } while (at(frame, "outer.udp").wire == 0);
    const ChecksumFinding inner = at(frame, "inner.udp");
    put(frame, inner.field_offset, static_cast<std::uint16_t>(inner.right + 5));
    // The outer sum is right for the finished inner checksum, as LCO leaves it.
    auto bad = bad_checksums(frame, kTunnels);
    BOOST_REQUIRE(bad.size() == 1u);
    BOOST_TEST((bad[0].finding.layer == inner.layer));
    // The checksum is right for the bytes as they are, as software leaves it.
    write_right(frame, at(frame, "outer.udp"));
    bad = bad_checksums(frame, kTunnels);
    BOOST_REQUIRE(bad.size() == 1u);
    BOOST_TEST((bad[0].finding.layer == inner.layer));
    // The checksum is wrong by itself.
    put(frame, at(frame, "outer.udp").field_offset, 0x1111);
    bad = bad_checksums(frame, kTunnels);
    BOOST_REQUIRE(bad.size() == 2u);
    BOOST_TEST(word(bad[1].finding.layer) == "outer.udp");
}

BOOST_AUTO_TEST_SUITE_END()
