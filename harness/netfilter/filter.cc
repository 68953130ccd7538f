#include "harness/netfilter/filter.h"

#include <algorithm>

namespace pathproof::netfilter {
namespace {

using frame::IpAddress;

bool matches_icmp(const TupleFilter& filter, const Tuple& tuple) {
    if (!filter.icmp_type && !filter.icmp_code && !filter.icmp_id) {
        return true;
    }
    return tuple.icmp && (!filter.icmp_type || *filter.icmp_type == tuple.icmp->type) &&
           (!filter.icmp_code || *filter.icmp_code == tuple.icmp->code) &&
           (!filter.icmp_id || *filter.icmp_id == tuple.icmp->id);
}

bool matches_tuple(const TupleFilter& filter, const Tuple& tuple) {
    return (!filter.source || filter.source->contains(tuple.source.address)) &&
           (!filter.destination || filter.destination->contains(tuple.destination.address)) &&
           (!filter.source_port || *filter.source_port == tuple.source.port) &&
           (!filter.destination_port || *filter.destination_port == tuple.destination.port) &&
           matches_icmp(filter, tuple);
}

// A zone that holds for both directions holds for each.
bool matches_zone(const std::optional<std::uint16_t>& zone, ZoneDirection other,
                  const Entry& entry) {
    return !zone || (*zone == entry.zone && entry.zone_direction != other);
}

// Translated to: what the other end sees in place of the address that was written down.
bool matches_nat(const NatFilter& nat, const Entry& entry) {
    const bool source = (entry.status & status::kSrcNat) != 0 &&
                        nat.kind != NatFilter::Kind::kDestination &&
                        (!nat.to || nat.to->contains(entry.reply.destination.address));
    const bool destination = (entry.status & status::kDstNat) != 0 &&
                             nat.kind != NatFilter::Kind::kSource &&
                             (!nat.to || nat.to->contains(entry.reply.source.address));
    return source || destination;
}

bool has_labels(const std::vector<unsigned>& wanted, const std::vector<std::uint8_t>& labels) {
    return std::ranges::all_of(wanted, [&](unsigned bit) {
        return bit / 8 < labels.size() && (labels[bit / 8] >> bit % 8 & 1) != 0;
    });
}

bool matches_words(const Filter& filter, const Entry& entry) {
    return (filter.state.empty() || filter.state == entry.protocol_state) &&
           (filter.helper.empty() || filter.helper == entry.helper) &&
           (filter.security_context.empty() || filter.security_context == entry.security_context) &&
           has_labels(filter.labels, entry.labels);
}

bool any_address_in(const AddressRange& range, const Entry& entry) {
    return range.contains(entry.original.source.address) ||
           range.contains(entry.original.destination.address) ||
           range.contains(entry.reply.source.address) ||
           range.contains(entry.reply.destination.address);
}

bool any_port_is(std::uint16_t port, const Entry& entry) {
    return entry.original.source.port == port || entry.original.destination.port == port ||
           entry.reply.source.port == port || entry.reply.destination.port == port;
}

}  // namespace

bool AddressRange::contains(const IpAddress& other) const {
    if (address.family != other.family) {
        return false;
    }
    const std::size_t whole = prefix_bits / 8;
    if (!std::equal(address.bytes.begin(), address.bytes.begin() + whole, other.bytes.begin())) {
        return false;
    }
    const unsigned rest = prefix_bits % 8;
    return rest == 0 || (address.bytes[whole] ^ other.bytes[whole]) >> (8 - rest) == 0;
}

bool matches(const Filter& filter, const Entry& entry) {
    return (!filter.family || *filter.family == entry.original.source.address.family) &&
           (!filter.protocol || *filter.protocol == entry.original.protocol) &&
           matches_tuple(filter.original, entry.original) &&
           matches_tuple(filter.reply, entry.reply) &&
           (!filter.any_address || any_address_in(*filter.any_address, entry)) &&
           (!filter.any_port || any_port_is(*filter.any_port, entry)) &&
           (!filter.zone || *filter.zone == entry.zone) &&
           (!filter.mark || (entry.mark & filter.mark->mask) == filter.mark->value) &&
           (entry.status & filter.status_set) == filter.status_set &&
           (entry.status & filter.status_clear) == 0 &&
           matches_zone(filter.original.zone, ZoneDirection::kReply, entry) &&
           matches_zone(filter.reply.zone, ZoneDirection::kOriginal, entry) &&
           (!filter.nat || matches_nat(*filter.nat, entry)) &&
           (!filter.id || *filter.id == entry.id) && matches_words(filter, entry);
}

Filter stable_part(const Filter& filter) {
    Filter stable = filter;
    stable.mark.reset();
    stable.status_set = 0;
    stable.status_clear = 0;
    stable.state.clear();
    stable.helper.clear();
    stable.labels.clear();
    stable.security_context.clear();
    return stable;
}

}  // namespace pathproof::netfilter
