#include "harness/netfilter/flow_memory.h"

#include <cstring>
#include <random>

namespace pathproof::netfilter {
namespace {

// One round of a multiply-and-fold hash: every bit of `value` reaches every bit of the result.
std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(hash ^ value) * 0x9e3779b97f4a7c15ULL;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

std::uint64_t mix(std::uint64_t hash, const frame::Endpoint& endpoint) {
    std::uint64_t halves[2];
    std::memcpy(halves, endpoint.address.bytes.data(), sizeof halves);
    hash = mix(hash, halves[0] ^ endpoint.port);
    return mix(hash, halves[1] ^ static_cast<std::uint64_t>(endpoint.address.family) << 56);
}

}  // namespace

RecentFlow flow_of(const Entry& entry, std::int64_t time_ns) {
    return {.original = entry.original,
            .reply = entry.reply,
            .id = entry.id,
            .status = entry.status,
            .zone = entry.zone,
            .zone_direction = entry.zone_direction,
            .time_ns = time_ns};
}

Entry entry_of(const RecentFlow& flow) {
    Entry entry;
    entry.id = flow.id;
    entry.original = flow.original;
    entry.reply = flow.reply;
    entry.status = flow.status;
    entry.zone = flow.zone;
    entry.zone_direction = flow.zone_direction;
    return entry;
}

bool same_entry(const RecentFlow& flow, const Entry& entry) {
    return flow.id == entry.id && flow.zone == entry.zone && flow.original == entry.original &&
           flow.reply == entry.reply;
}

TupleHash::TupleHash() {
    std::random_device device;
    seed_ = std::uint64_t{device()} << 32 | device();
}

std::uint64_t TupleHash::operator()(const Tuple& tuple) const {
    std::uint64_t hash = mix(mix(seed_, tuple.source), tuple.destination);
    if (tuple.icmp) {
        hash = mix(hash, std::uint64_t{tuple.icmp->type} << 24 |
                             std::uint64_t{tuple.icmp->code} << 16 | tuple.icmp->id);
    }
    return mix(hash, tuple.protocol);
}

std::uint64_t TupleHash::operator()(const frame::Endpoint& endpoint, std::uint8_t protocol) const {
    return mix(mix(seed_, endpoint), protocol);
}

std::uint64_t TupleHash::operator()(const Entry& entry) const {
    const std::uint64_t hash = mix((*this)(entry.original), (*this)(entry.reply));
    return mix(hash, std::uint64_t{entry.id} << 16 | entry.zone);
}

}  // namespace pathproof::netfilter
