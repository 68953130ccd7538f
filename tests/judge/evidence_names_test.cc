// Wrong checksums made by doing the wrong thing to the bytes, each with the evidence that its name
// rests on: what was summed, from where to where.
#include "tests/judge/wrong_sums.h"

BOOST_AUTO_TEST_SUITE(evidence_names)

using namespace pathproof;
using namespace pathproof::wrong;

BOOST_AUTO_TEST_CASE(padding_in_the_sum_in_the_length_and_in_both_are_three_names) {
    const auto longer = [](const Octets& frame, const Parts& parts) {
        Octets pseudo = parts.pseudo;
        put(pseudo, pseudo.size() - 6,
            static_cast<std::uint16_t>(parts.packet.transport_length +
                                       trailer_of(frame, parts).size()));
        return pseudo;
    };
    BOOST_TEST(named(udp(kPadded, [](const Octets& frame, const Parts& parts) {
                   return sum_of({parts.pseudo, parts.data, trailer_of(frame, parts)});
               })) == "PAD_DATA");
    BOOST_TEST(named(udp(kZeroPadded, [&](const Octets& frame, const Parts& parts) {
                   return sum_of({longer(frame, parts), parts.data, trailer_of(frame, parts)});
               })) == "PAD_LEN");
    BOOST_TEST(named(udp(kPadded, [&](const Octets& frame, const Parts& parts) {
                   return sum_of({longer(frame, parts), parts.data, trailer_of(frame, parts)});
               })) == "PAD_DATA_LEN");
    const Kind inside{
        .envelope = Envelope::kVxlan, .inner_trailer = Trailer::kRandom, .payload = 4};
    BOOST_TEST(named(udp(
                   inside,
                   [](const Octets& frame, const Parts& parts) {
                       const std::size_t end =
                           parts.packet.network_end + parts.packet.trailer_length;
                       return sum_of(
                           {parts.pseudo, parts.data, slice(frame, parts.packet.network_end, end)});
                   },
                   "inner.udp")) == "PAD_DATA");
}

BOOST_AUTO_TEST_CASE(odd_bytes_lost_in_the_wrong_lane_and_at_buffer_boundaries_are_told_apart) {
    BOOST_TEST(named(udp(kOdd, [](const Octets&, const Parts& parts) {
                   return sum_of({parts.pseudo, slice(parts.data, 0, parts.data.size() - 1)});
               })) == "ODD_LAST_DROPPED");
    BOOST_TEST(
        named(udp(kOdd, [](const Octets&, const Parts& parts) {
            Octets swapped = parts.data;
            swapped.back() = 0;
            swapped.push_back(parts.data.back());
            return sum_of(
                {parts.pseudo, slice(swapped, 0, swapped.size() - 2), {0}, {parts.data.back()}});
        })) == "ODD_LAST_LANE");
    // The odd byte of a buffer that is summed as a message of its own: in the high half of a word,
    // in the low half, or nowhere.
    const std::function<Octets(Octets)> ends[] = {
        [](Octets buffer) {
            return raw::joined({buffer, {0}});
        },
        [](Octets buffer) {
            buffer.insert(buffer.end() - 1, 0);
            return buffer;
        },
        [](Octets buffer) { return slice(buffer, 0, buffer.size() - 1); },
    };
    for (const auto& end : ends) {
        const Maker boundary = [&](raw::Random& random) {
            Sample sample{.frame = healthy(random, {.payload = 60 + 2 * random.below(10)})};
            const Parts parts = parts_of(sample.frame, 6);
            const std::size_t cut = 21 + 2 * random.below(5);
            sample.buffer_starts = {
                parts.packet.transport_offset,
                parts.packet.transport_offset + static_cast<std::uint32_t>(cut)};
            put(sample.frame, parts.field,
                sum_of({parts.pseudo, end(slice(parts.data, 0, cut)),
                        slice(parts.data, cut, parts.data.size())}));
            return sample;
        };
        BOOST_TEST(named(boundary) == "ODD_BOUNDARY");
    }
}

BOOST_AUTO_TEST_CASE(only_the_first_or_the_last_buffer_summed_is_named) {
    for (const bool first : {true, false}) {
        const Maker make = [&](raw::Random& random) {
            Sample sample{.frame = healthy(random, {.payload = 60 + 2 * random.below(10)})};
            const Parts parts = parts_of(sample.frame, 6);
            const auto start = parts.packet.transport_offset;
            sample.buffer_starts = {start + 20, start + 40};
            put(sample.frame, parts.field,
                first ? sum_of({parts.pseudo, slice(parts.data, 0, 20)})
                      : sum_of({parts.pseudo, slice(parts.data, 40, parts.data.size())}));
            return sample;
        };
        BOOST_TEST(named(make) == (first ? "FIRST_SEG_ONLY" : "LAST_SEG_ONLY"));
    }
}

BOOST_AUTO_TEST_CASE(sums_that_begin_too_early_are_named_by_what_they_begin_with) {
    const Kind extensions{.net = Net::kIpv6Extensions, .payload = 20};
    BOOST_TEST(named(udp(extensions, [](const Octets& frame, const Parts& parts) {
                   return sum_of({parts.pseudo,
                                  slice(frame, parts.packet.network_offset + 40u,
                                        parts.packet.transport_offset),
                                  parts.data});
               })) == "EXTHDR_START");
    BOOST_TEST(named(udp(extensions, [](const Octets& frame, const Parts& parts) {
                   Octets pseudo = parts.pseudo;
                   const std::size_t ip = parts.packet.network_offset;
                   put(pseudo, 34, get(frame, ip + 4));
                   pseudo[39] = frame[ip + 6];
                   return sum_of({pseudo, parts.data});
               })) == "EXTHDR_PSEUDO");
    BOOST_TEST(named(udp({.net = Net::kIpv4Options, .payload = 20},
                         [](const Octets& frame, const Parts& parts) {
                             return sum_of({parts.pseudo,
                                            slice(frame, parts.packet.network_offset + 20u,
                                                  parts.packet.transport_offset),
                                            parts.data});
                         })) == "IPOPT_START");
    for (const std::size_t shift : {4u, 8u}) {
        BOOST_TEST(
            named(udp({.envelope = Envelope::kQinq, .payload = 20}, [=](const Octets& frame,
                                                                        const Parts& parts) {
                const std::size_t start = parts.packet.transport_offset;
                return sum_of({parts.pseudo, slice(frame, start - shift, start), parts.data});
            })) == "VLAN_START");
    }
}

BOOST_AUTO_TEST_CASE(what_the_field_held_is_recognised_kept_and_counted_twice) {
    constexpr std::uint16_t kMarker = 0xbeef;
    for (const bool keep : {true, false}) {
        const Maker make = [&](raw::Random& random) {
            Sample sample{.frame = healthy(random, kEven)};
            const Parts parts = parts_of(sample.frame, 6);
            sample.handed_over = sample.frame;
            put(sample.handed_over, parts.field, kMarker);
            Octets held;
            raw::put16(held, kMarker);
            put(sample.frame, parts.field,
                keep ? kMarker : sum_of({parts.pseudo, held, parts.data}));
            return sample;
        };
        BOOST_TEST(named(make) == (keep ? "FIELD_KEEP" : "DOUBLE"));
    }
    // A partial sum left alone is PSEUDO, not FIELD_KEEP; a pseudo-header counted twice is DOUBLE.
    BOOST_TEST(named([](raw::Random& random) {
                   Sample sample{.frame = healthy(random, kEven)};
                   const Parts parts = parts_of(sample.frame, 6);
                   put(sample.frame, parts.field, sum(parts.pseudo));
                   sample.handed_over = sample.frame;
                   return sample;
               }) == "PSEUDO");
    BOOST_TEST(named(udp(kEven, [](const Octets&, const Parts& parts) {
                   return sum_of({parts.pseudo, parts.pseudo, parts.data});
               })) == "DOUBLE");
}

BOOST_AUTO_TEST_CASE(carries_that_are_never_added_in_are_named) {
    const auto make = [](raw::Random& random) {
        Octets payload(60 + 2 * random.below(20), 0xff);
        payload[random.below(payload.size())] = random.octet();
        Sample sample{.frame = frame_of({.payload = 0}, random, payload)};
        const Parts parts = parts_of(sample.frame, 6);
        std::uint32_t words = 0;
        const Octets all = raw::joined({parts.pseudo, parts.data});
        for (std::size_t i = 0; i < all.size(); i += 2) {
            words += get(all, i);
        }
        put(sample.frame, parts.field, inverted(static_cast<std::uint16_t>(words)));
        return sample;
    };
    BOOST_TEST(named(make) == "CARRY");
}

BOOST_AUTO_TEST_SUITE_END()
