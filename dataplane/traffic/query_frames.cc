#include "dataplane/traffic/query_frames.h"

#include <rte_mbuf.h>
#include <rte_vxlan.h>

#include <algorithm>
#include <cstring>

#include "dataplane/base/be.h"

namespace pathproof::traffic {
namespace {

// RFC 7348 section 5: the I flag, bit 3 of the first octet.
constexpr std::uint32_t kVniFlag = 0x08000000;
constexpr std::size_t kDigitsOffset = frame::kDnsHeaderBytes + 2;  // length octet, 'q'

// SplitMix64's last step: neighbouring numbers give ids that have nothing in common.
std::uint64_t mixed(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

Envelope carrier_envelope(const VxlanCarrier& carrier) {
    Envelope envelope;
    envelope.source = carrier.source;
    envelope.destination = carrier.destination;
    envelope.checksum = carrier.udp_checksum ? UdpChecksum::kFilled : UdpChecksum::kDisabled;
    set_link(envelope, carrier.source_mac, carrier.destination_mac);
    return envelope;
}

}  // namespace

Result<PairBook> PairBook::make(const PairPlan& plan) {
    // All names are of one length: what holds for the first holds for all.
    const Result<frame::DnsName> name = frame::sequence_name(0, plan.suffix);
    if (!name) {
        return fail(name.error(), "query names under '{}'", plan.suffix);
    }
    const Result<frame::DnsName> suffix = frame::DnsName::from_text(plan.suffix);
    if (!suffix) {
        return fail(suffix.error(), "query names under '{}'", plan.suffix);
    }
    return PairBook(plan, *suffix);
}

judge::QueryFacts PairBook::query(std::uint64_t number) const noexcept {
    const std::size_t member = number % 2;
    return {.client = plan_.client(number / 2, member),
            .id = static_cast<std::uint16_t>(mixed(plan_.seed * 0x9e3779b97f4a7c15 + number)),
            .qtype = plan_.members[member].qtype};
}

Result<QueryFrames> QueryFrames::make(const PairMember& member, const frame::Endpoint& service,
                                      const std::string& suffix) {
    const Result<frame::DnsName> name = frame::sequence_name(0, suffix);
    if (!name) {
        return fail(name.error(), "query names under '{}'", suffix);
    }
    QueryFrames made;
    made.packet_.source = {member.first_client, 0};
    made.packet_.destination = service;
    set_link(made.packet_, member.source_mac, member.destination_mac);
    made.message_bytes_ = frame::write_query(made.message_, {.name = *name, .type = member.qtype});
    if (member.carrier) {
        made.carrier_ = carrier_envelope(*member.carrier);
        made.vni_ = member.carrier->vni;
    }
    return made;
}

std::size_t QueryFrames::bytes() const noexcept {
    const std::size_t tunnel = carrier_ ? carrier_->bytes() + sizeof(rte_vxlan_hdr) : 0;
    return tunnel + packet_.bytes() + message_bytes_;
}

void QueryFrames::write(std::span<std::uint8_t> frame, std::uint64_t number,
                        const judge::QueryFacts& query) noexcept {
    const auto message = frame.last(message_bytes_);
    const Be16 id(query.id);
    std::memcpy(message_.data(), &id, sizeof id);
    frame::write_sequence(std::span(message_).subspan<kDigitsOffset, 8>(),
                          static_cast<std::uint32_t>(number));
    std::copy_n(message_.begin(), message_bytes_, message.begin());
    packet_.source = query.client;
    const std::size_t tunnel = frame.size() - message_bytes_ - packet_.bytes();
    write_headers(frame.subspan(tunnel), packet_);
    if (carrier_) {
        const rte_vxlan_hdr header{.vx_flags = Be32(kVniFlag).raw(),
                                   .vx_vni = Be32(vni_ << 8).raw()};
        std::memcpy(frame.data() + carrier_->bytes(), &header, sizeof header);
        write_headers(frame, *carrier_);
    }
}

}  // namespace pathproof::traffic
