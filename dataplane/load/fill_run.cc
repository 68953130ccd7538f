#include "dataplane/load/fill_run.h"

#include <emmintrin.h>
#include <rte_mbuf.h>

#include <cstring>

#include "dataplane/frame/dns.h"
#include "dataplane/load/hex_digits.h"

namespace pathproof::load {
namespace {

constexpr std::size_t kChunk = sizeof(__m128i);

void store_word(std::uint8_t* at, std::uint16_t word) {
    std::memcpy(at, &word, sizeof word);
}

constexpr std::uint16_t in_memory(std::uint16_t host) {
    return __builtin_bswap16(host);
}

void copy_chunk(std::uint8_t* to, const std::uint8_t* from) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}

// Frames are longer than a chunk: the last one overlaps the one before instead of going beyond the
// frame.
void copy_frame(std::uint8_t* to, const std::uint8_t* from, std::size_t size) {
    std::size_t at = 0;
    for (; at + 4 * kChunk <= size; at += 4 * kChunk) {
        copy_chunk(to + at, from + at);
        copy_chunk(to + at + kChunk, from + at + kChunk);
        copy_chunk(to + at + 2 * kChunk, from + at + 2 * kChunk);
        copy_chunk(to + at + 3 * kChunk, from + at + 3 * kChunk);
    }
    for (; at + kChunk < size; at += kChunk) {
        copy_chunk(to + at, from + at);
    }
    copy_chunk(to + size - kChunk, from + size - kChunk);
}

// Everything of an mbuf that is not as a pool keeps it: next is null, buf_addr and buf_len stand.
std::uint8_t* describe(rte_mbuf& mbuf, const PreparedFrame& prepared) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(&mbuf.rearm_data), prepared.rearm());
    _mm_storeu_si128(reinterpret_cast<__m128i*>(&mbuf.rx_descriptor_fields1),
                     prepared.description());
    if (prepared.offloaded()) {
        mbuf.tx_offload = prepared.tx_offload();
    }
    return static_cast<std::uint8_t*>(mbuf.buf_addr) + RTE_PKTMBUF_HEADROOM;
}

template <RunShape shape>
void fill_run(const PreparedFrame& prepared, const frame::StampIds& ids,
              const FrameRun& run) noexcept {
    constexpr bool kDigits = shape == RunShape::kQueries || shape == RunShape::kQueryPairs;
    const FieldPlaces places = prepared.frame().places;
    const std::uint8_t* const bytes = prepared.bytes();
    const std::size_t size = prepared.size();
    const std::uint32_t run_sum = prepared.run_sum();
    const FieldWork work = prepared.work();
    std::uint32_t sequence = run.sequence;
    std::uint32_t port = run.port;
    std::uint16_t type = in_memory(
        run.begins == FrameRun::Begins::kWithFirst ? frame::kDnsTypeA : frame::kDnsTypeAaaa);
    std::size_t outer = run.next_outer_port;

    for (rte_mbuf* const mbuf : run.mbufs) {
        std::uint8_t* const out = describe(*mbuf, prepared);
        copy_frame(out, bytes, size);
        const std::uint32_t low = sequence & 0xff;
        const auto low_word = static_cast<std::uint16_t>(
            kDigits ? kHexPairs[low] : prepared.low_word_base() | low << 8);
        store_word(out + prepared.low_word_place(), low_word);
        const std::uint16_t port_word = in_memory(static_cast<std::uint16_t>(port));
        store_word(out + places.port, port_word);
        std::uint32_t sum = run_sum + low_word + port_word;
        if constexpr (kDigits) {
            const std::uint16_t id = in_memory(ids.of(sequence));
            store_word(out + places.id, id);
            sum += id;
        }
        if constexpr (shape == RunShape::kEcho) {
            store_word(out + places.id, low_word);
            sum += low_word;
        }
        if constexpr (shape == RunShape::kQueryPairs) {
            constexpr std::uint16_t kFirst = in_memory(frame::kDnsTypeA);
            constexpr std::uint16_t kSecond = in_memory(frame::kDnsTypeAaaa);
            store_word(out + places.query_type, type);
            sum += type;
            port += type == kSecond ? run.port_step : 0;
            type = kFirst ^ kSecond ^ type;
        } else {
            port += run.port_step;
        }
        ++sequence;
        if (work == FieldWork::kSummed) {
            store_word(out + places.checksum, checksum_for(sum, prepared.zero_as()));
        }
        if (!run.outer_ports.empty()) {
            const std::uint16_t outer_word = run.outer_ports[outer];
            outer = outer + 1 == run.outer_ports.size() ? 0 : outer + 1;
            store_word(out + places.outer_port, outer_word);
            if (prepared.outer_work() == FieldWork::kSummed) {
                store_word(out + places.outer_checksum,
                           checksum_for(prepared.outer_run_sum() + outer_word, 0xffff));
            }
        }
        if (work == FieldWork::kSealed) {
            prepared.seal(out);
        }
    }
}

}  // namespace

FillRun fill_run_for(RunShape shape) noexcept {
    switch (shape) {
        case RunShape::kQueries: return fill_run<RunShape::kQueries>;
        case RunShape::kQueryPairs: return fill_run<RunShape::kQueryPairs>;
        case RunShape::kEcho: return fill_run<RunShape::kEcho>;
        case RunShape::kBinary: break;
    }
    return fill_run<RunShape::kBinary>;
}

}  // namespace pathproof::load
