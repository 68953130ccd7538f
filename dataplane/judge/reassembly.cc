#include "dataplane/judge/reassembly.h"

#include <netinet/in.h>

#include <algorithm>

#include "dataplane/base/be.h"
#include "dataplane/judge/suspect.h"

namespace pathproof::judge {
namespace {

using frame::ByteVector;
using frame::Network;

constexpr std::size_t kLongest = 65'535;

struct Piece {
    Bytes frame;
    PacketView packet;
    std::size_t header_end = 0;   // of what stands in each fragment: IPv4 header, IPv6 up to the
                                  // fragment header
    std::size_t next_header = 0;  // IPv6: where the number of the fragment header stands
    std::size_t data = 0;         // where the piece starts
    std::size_t offset = 0;       // of its data in the whole
    std::uint32_t identification = 0;
    std::uint8_t protocol = 0;
    bool more = false;

    std::size_t length() const { return packet.network_end - data; }
};

void read_ipv4(Piece& piece) {
    const std::size_t ip = piece.packet.network_offset;
    const std::uint16_t field = word_at(piece.frame, ip + 6);
    piece.header_end = piece.data = ip + piece.packet.network_length;
    piece.offset = (field & 0x1fffu) * 8u;
    piece.more = (field & 0x2000) != 0;
    piece.identification = word_at(piece.frame, ip + 4);
    piece.protocol = piece.packet.protocol;
}

// The view found the fragment header, so the way to it is there.
void read_ipv6(Piece& piece) {
    std::size_t next = piece.packet.network_offset + 6;
    std::size_t at = piece.packet.network_offset + 40;
    while (piece.frame[next] != IPPROTO_FRAGMENT) {
        next = at;
        at += 8 + 8u * piece.frame[at + 1];
    }
    const std::uint16_t field = word_at(piece.frame, at + 2);
    piece.header_end = at;
    piece.next_header = next;
    piece.data = at + 8;
    piece.offset = field & 0xfff8u;
    piece.more = (field & 1) != 0;
    piece.identification = frame::view<Be32>(piece.frame, at + 4)->value();
    piece.protocol = piece.frame[at];
}

Result<Piece> read_piece(Bytes frame, std::size_t index, const frame::TunnelPorts& tunnels) {
    const frame::FrameView view = frame::parse_frame(frame, tunnels);
    Piece piece{.frame = frame, .packet = view.innermost()};
    if (piece.packet.network == Network::kNone || piece.packet.malformed == Malformed::kShortIp ||
        piece.packet.fragment == frame::Fragment::kWhole) {
        return fail(ErrorCode::kBadInput,
                    "frame {} of {} bytes is no IP fragment: give fragments of one datagram only",
                    index, frame.size());
    }
    if (piece.packet.network == Network::kIpv4) {
        read_ipv4(piece);
    } else {
        read_ipv6(piece);
    }
    return piece;
}

bool of_one_datagram(const Piece& a, const Piece& b) {
    return a.packet.source == b.packet.source && a.packet.destination == b.packet.destination &&
           a.identification == b.identification && a.packet.network == b.packet.network;
}

Status check(const std::vector<Piece>& pieces) {
    std::size_t end = 0;
    for (const Piece& piece : pieces) {
        const bool last = &piece == &pieces.back();
        if (!of_one_datagram(piece, pieces.front())) {
            return fail(ErrorCode::kBadInput,
                        "the fragment at offset {} is of another datagram than the one at {}",
                        piece.offset, pieces.front().offset);
        }
        if (piece.offset != end) {
            return fail(ErrorCode::kBadInput, "a {} from byte {} to {} of the datagram",
                        piece.offset > end ? "hole" : "overlap", std::min(end, piece.offset),
                        std::max(end, piece.offset));
        }
        if (piece.more == last) {
            return fail(ErrorCode::kBadInput, "{} at offset {}: {}",
                        last ? "the last fragment is missing" : "a fragment follows the last one",
                        piece.offset, "give all fragments of the datagram, each once");
        }
        end += piece.length();
    }
    if (end > kLongest) {
        return fail(ErrorCode::kBadInput, "the datagram would have {} bytes; 65535 is the most",
                    end);
    }
    return {};
}

// The Ethernet header of the first fragment, or one that says no more than the family.
ByteVector link_header(const Piece& first) {
    const PacketView& packet = first.packet;
    if (packet.has_ethernet) {
        const Bytes header = first.frame.subspan(packet.ethernet_offset,
                                                 packet.network_offset - packet.ethernet_offset);
        return {header.begin(), header.end()};
    }
    ByteVector header(14);
    put_word(header, 12, packet.ethertype);
    return header;
}

void append(ByteVector& to, Bytes more) {
    to.insert(to.end(), more.begin(), more.end());
}

void finish_ipv4(ByteVector& whole, std::size_t ip, std::size_t length, const Piece& first) {
    const std::size_t header = first.packet.network_length;
    put_word(whole, ip + 2, header + length);
    put_word(whole, ip + 6, word_at(first.frame, first.packet.network_offset + 6) & 0x4000u);
    put_word(whole, ip + 10, 0);
    put_word(whole, ip + 10,
             frame::checksum_of(frame::sum_bytes(Bytes(whole).subspan(ip, header))));
}

void finish_ipv6(ByteVector& whole, std::size_t ip, std::size_t length, const Piece& first) {
    const std::size_t extensions = first.header_end - first.packet.network_offset - 40;
    put_word(whole, ip + 4, extensions + length);
    whole[ip + first.next_header - first.packet.network_offset] = first.protocol;
}

}  // namespace

Result<Reassembled> reassemble(std::span<const std::span<const std::uint8_t>> fragments,
                               const frame::TunnelPorts& tunnels) {
    std::vector<Piece> pieces;
    for (const Bytes frame : fragments) {
        auto piece = TRY(read_piece(frame, pieces.size(), tunnels));
        pieces.push_back(piece);
    }
    if (pieces.empty()) {
        return fail(ErrorCode::kBadInput, "no fragments: give all of one datagram");
    }
    std::ranges::sort(pieces, {}, &Piece::offset);
    TRY(check(pieces));
    const Piece& first = pieces.front();
    const std::size_t network = first.packet.network_offset;
    Reassembled whole{.frame = link_header(first), .first_fragment_end = 0};
    const std::size_t ip = whole.frame.size();
    append(whole.frame, first.frame.subspan(network, first.header_end - network));
    const std::size_t data = whole.frame.size();
    whole.first_fragment_end = static_cast<std::uint32_t>(data + first.length());
    for (const Piece& piece : pieces) {
        append(whole.frame, piece.frame.subspan(piece.data, piece.length()));
    }
    const std::size_t length = whole.frame.size() - data;
    if (first.packet.network == Network::kIpv4) {
        finish_ipv4(whole.frame, ip, length, first);
    } else {
        finish_ipv6(whole.frame, ip, length, first);
    }
    return whole;
}

}  // namespace pathproof::judge
