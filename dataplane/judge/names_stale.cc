// Sums that were right for what the packet was before: before NAT, before a field was rewritten.
#include <rte_ip.h>

#include <algorithm>
#include <cstddef>

#include "dataplane/judge/suspect.h"

namespace pathproof::judge {
namespace {

// The packet as it was before NAT or another change, as far as it is known.
struct Before {
    frame::Endpoint source;
    frame::Endpoint destination;  // the final one
    std::optional<PacketView> packet;
    std::uint32_t vni = 0;
    std::uint32_t ipv4_length = 0;
    std::uint32_t ttl_word = 0;
};

std::uint32_t ipv4_word(Bytes frame, const PacketView& packet, std::size_t offset) {
    return packet.network == frame::Network::kIpv4 ? word_at(frame, packet.network_offset + offset)
                                                   : 0;
}

std::optional<Before> before_of(const Suspect& suspect) {
    const Evidence& evidence = *suspect.evidence;
    if (const auto packet = same_packet(suspect, evidence.before)) {
        return Before{
            .source = packet->source_endpoint(),
            .destination = {packet->final_destination, packet->destination_port},
            .packet = packet,
            .vni = frame::parse_frame(evidence.before, evidence.tunnels).vni,
            .ipv4_length =
                ipv4_word(evidence.before, *packet, offsetof(rte_ipv4_hdr, total_length)),
            .ttl_word = ipv4_word(evidence.before, *packet, offsetof(rte_ipv4_hdr, time_to_live))};
    }
    if (!evidence.original) {
        return std::nullopt;
    }
    return Before{.source = evidence.original->source,
                  .destination = evidence.original->destination,
                  .packet = std::nullopt};
}

// new - old of one field, in ones' complement; nothing if it did not change or is not covered.
struct Change {
    ChecksumName name;
    PartialSum sum;
};

class Changes {
  public:
    Changes(const Suspect& suspect, const Before& before) : suspect_(suspect), before_(before) {
        add_tuple();
        tuple_size_ = changes_.size();
        if (before.packet) {
            add_other();
        }
    }
    std::span<const Change> all() const { return changes_; }
    std::span<const Change> tuple() const { return all().first(tuple_size_); }

  private:
    void add_tuple() {
        const PacketView& packet = suspect_.packet;
        if (suspect_.has_ports()) {
            add_word(ChecksumName::kStaleSourcePort, before_.source.port, packet.source_port);
            add_word(ChecksumName::kStaleDestinationPort, before_.destination.port,
                     packet.destination_port);
        }
        if (suspect_.has_pseudo_header() || suspect_.protocol == Protocol::kIpv4) {
            add_address(ChecksumName::kStaleSource, before_.source.address, packet.source);
            add_address(ChecksumName::kStaleDestination, before_.destination.address,
                        packet.final_destination);
        }
    }
    void add_other() {
        const PacketView& packet = suspect_.packet;
        if (suspect_.in_tunnel_header() && suspect_.protocol != Protocol::kIpv4) {
            add_vni();
        }
        if (suspect_.protocol == Protocol::kIpv4) {
            add_word(ChecksumName::kStaleTtl, before_.ttl_word,
                     ipv4_word(suspect_.frame, packet, offsetof(rte_ipv4_hdr, time_to_live)));
            add_word(ChecksumName::kStaleLength, before_.ipv4_length,
                     ipv4_word(suspect_.frame, packet, offsetof(rte_ipv4_hdr, total_length)));
        } else if (suspect_.has_pseudo_header()) {
            add_word(ChecksumName::kStaleLength, before_.packet->transport_length,
                     packet.transport_length);
        }
    }
    // GRE's key fills its word; a VNI has a byte behind it.
    void add_vni() {
        const unsigned shift = suspect_.view.tunnel == frame::Tunnel::kGre ? 0 : 8;
        const std::uint32_t was = before_.vni << shift;
        const std::uint32_t is = suspect_.view.vni << shift;
        if (was != is) {
            const auto high = [](std::uint32_t v) { return static_cast<std::uint16_t>(v >> 16); };
            const auto low = [](std::uint32_t v) { return static_cast<std::uint16_t>(v); };
            changes_.push_back({ChecksumName::kStaleVni, frame::sum_word(high(is)) +
                                                             frame::sum_word(low(is)) +
                                                             frame::without_word(high(was)) +
                                                             frame::without_word(low(was))});
        }
    }
    void add_word(ChecksumName name, std::uint32_t was, std::uint32_t is) {
        if (was != is) {
            changes_.push_back({name, frame::sum_word(static_cast<std::uint16_t>(is)) +
                                          frame::without_word(static_cast<std::uint16_t>(was))});
        }
    }
    void add_address(ChecksumName name, const frame::IpAddress& was, const frame::IpAddress& is) {
        if (was != is) {
            changes_.push_back({name, address_sum(is) + without(address_sum(was))});
        }
    }

    const Suspect& suspect_;
    const Before& before_;
    std::vector<Change> changes_;
    std::size_t tuple_size_ = 0;
};

bool is_address(ChecksumName name) {
    return name == ChecksumName::kStaleSource || name == ChecksumName::kStaleDestination;
}

PartialSum total(std::span<const Change> changes) {
    PartialSum sum = 0;
    for (const Change& change : changes) {
        sum += change.sum;
    }
    return sum;
}
PartialSum addresses(std::span<const Change> changes) {
    PartialSum sum = 0;
    for (const Change& change : changes) {
        sum += is_address(change.name) ? change.sum : 0;
    }
    return sum;
}
bool address_changed(std::span<const Change> changes) {
    return std::ranges::any_of(changes, is_address, &Change::name);
}

// Kernels before ea64d8d6c675: a field that was 0 on purpose is "updated". Without the packet
// before, only the case of a port change is known.
void predict_nat0(const Suspect& suspect, std::span<const Change> tuple, Predictions& out) {
    const Evidence& evidence = *suspect.evidence;
    for (const Bytes earlier : {Bytes(evidence.handed_over), Bytes(evidence.before)}) {
        const auto held = same_checksum(suspect, earlier);
        if (held && held->wire != 0) {
            return;  // it was not switched off
        }
    }
    const bool moved = address_changed(tuple);
    out.push_back(
        {ChecksumName::kNat0, moved ? frame::folded(addresses(tuple)) : std::uint16_t{0xffff}});
}

// Kernel: inet_proto_csum_replace4() under CHECKSUM_PARTIAL subtracts where it should add, and
// inet_proto_csum_replace2() with pseudohdr false does nothing. The value is the checksum before
// NAT, moved on by the address change.
void predict_nat_lco(const Suspect& suspect, std::span<const Change> tuple, Predictions& out) {
    if (suspect.has_ports() && address_changed(tuple)) {
        const auto right = static_cast<std::uint16_t>(suspect.right);
        out.push_back({ChecksumName::kNatLco,
                       frame::folded(frame::sum_word(right) + total(tuple) + addresses(tuple))});
    }
}

}  // namespace

void predict_stale(const Suspect& suspect, StaleWords words, Predictions& out) {
    const std::optional<Before> before = before_of(suspect);
    const std::optional<Changes> changes =
        before ? std::optional<Changes>(std::in_place, suspect, *before) : std::nullopt;
    const std::span<const Change> tuple = changes ? changes->tuple() : std::span<const Change>();
    if (suspect.protocol == Protocol::kUdp) {
        predict_nat0(suspect, tuple, out);
    }
    if (!changes) {
        return;
    }
    predict_nat_lco(suspect, tuple, out);
    const bool together = words == StaleWords::kTuple || tuple.size() > 1;
    if (together && !tuple.empty()) {
        add(suspect, ChecksumName::kStaleTuple, suspect.sum() + without(total(tuple)), out);
    }
    for (const Change& change :
         words == StaleWords::kTuple ? changes->all().subspan(tuple.size()) : changes->all()) {
        add(suspect, change.name, suspect.sum() + without(change.sum), out);
    }
}

}  // namespace pathproof::judge
