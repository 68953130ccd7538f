#include <array>

#include "dataplane/judge/checksum_names.h"

namespace pathproof::judge {
namespace {

struct Words {
    const char* name;
    const char* meaning;
};

constexpr std::array<Words, kChecksumNames> kNameWords = {{
    {"PSEUDO", "only the pseudo-header was summed: nobody completed a partial checksum"},
    {"PSEUDO_NOLEN",
     "only the pseudo-header was summed, without the length: a preset for segmentation"},
    {"PSEUDO_INV", "the complement of the pseudo-header's sum: the data was left out"},
    {"FIELD_ZERO", "the field was left 0"},
    {"FIELD_KEEP", "the field was left as it was handed over"},
    {"ZERO_NOT_MANGLED", "the sum came out as 0 and was sent so, which UDP reads as 'no checksum'"},
    {"DISABLED", "no checksum was sent where one was asked for"},
    {"COMPLEMENT", "the right value, but not inverted"},
    {"STALE", "right for the packet before NAT changed its addresses or ports"},
    {"STALE_SPORT", "right for the source port before it was changed"},
    {"STALE_DPORT", "right for the destination port before it was changed"},
    {"STALE_SADDR", "right for the source address before it was changed"},
    {"STALE_DADDR", "right for the destination address before it was changed"},
    {"STALE_VNI", "right for the VNI or key before it was changed"},
    {"STALE_TTL", "right for the TTL before it was changed"},
    {"STALE_IP_LEN", "right for the length before it was changed"},
    {"NAT_LCO", "NAT did not apply its port change, and its address change with the wrong sign"},
    {"NAT0", "NAT 'updated' a checksum that was switched off"},
    {"OUTER_BEFORE_INNER", "the outer sum was made before the inner checksum was filled in"},
    {"PAD_DATA", "padding behind the packet was summed as data"},
    {"PAD_LEN", "the length of the padding was added to the pseudo-header's"},
    {"PAD_DATA_LEN", "padding behind the packet was taken for data, in the sum and in its length"},
    {"ODD_LAST_DROPPED", "the last byte of an odd length was left out"},
    {"ODD_LAST_LANE", "the last byte of an odd length was summed in the wrong half of its word"},
    {"ODD_BOUNDARY", "behind a buffer of odd length, words were taken apart in the wrong place"},
    {"EXTHDR_PSEUDO",
     "the pseudo-header was made from the IPv6 header, as if no extension headers followed"},
    {"EXTHDR_START", "the sum began with the IPv6 extension headers"},
    {"IPOPT_START", "the IPv4 header was taken for 20 bytes, though it has options"},
    {"VLAN_START", "the sum began a VLAN tag too early or too late"},
    {"DOUBLE", "what the field held was summed as well"},
    {"SWAP", "the bytes of the right value are swapped"},
    {"CARRY", "end-around carries were lost, or one was added twice"},
    {"FIRST_SEG_ONLY", "only the first buffer of the frame was summed"},
    {"LAST_SEG_ONLY", "only the last buffer of the frame was summed"},
    {"SUPERPKT", "the value or the length is that of the super-frame before segmentation"},
    {"FRAG_L4", "only the first fragment of the datagram was summed"},
    {"UNKNOWN", "no known mistake gives this value"},
}};

}  // namespace

const char* name(ChecksumName name) {
    return kNameWords[static_cast<std::size_t>(name)].name;
}

const char* meaning(ChecksumName name) {
    return kNameWords[static_cast<std::size_t>(name)].meaning;
}

}  // namespace pathproof::judge
