#include "dataplane/load/icmp_errors.h"

#include <rte_ip.h>

#include <algorithm>

#include "dataplane/base/be.h"
#include "dataplane/judge/intake.h"

namespace pathproof::load {
namespace {

using frame::Bytes;
using frame::Network;

constexpr std::size_t kIcmpHeader = 8;
constexpr std::size_t kIpv6Header = 40;
constexpr std::size_t kMostKinds = 32;
constexpr std::uint8_t kTcp = 6;
constexpr std::uint8_t kUdp = 17;

std::uint16_t word_at(Bytes bytes, std::size_t at) {
    return static_cast<std::uint16_t>(bytes[at] << 8 | bytes[at + 1]);
}

frame::IpAddress address_at(Bytes bytes, std::size_t at, Network network) {
    frame::IpAddress address;
    address.family = network == Network::kIpv4 ? frame::Family::kIpv4 : frame::Family::kIpv6;
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), address.size(),
                address.bytes.begin());
    return address;
}

// RFC 1191 section 4: the low word of what was unused; RFC 4443 section 3.2: all of it.
std::uint32_t mtu_of(Network network, Bytes icmp) {
    constexpr std::uint8_t kUnreachable = 3;
    constexpr std::uint8_t kFragmentationNeeded = 4;
    constexpr std::uint8_t kTooBig = 2;
    if (network == Network::kIpv4) {
        const bool too_big = icmp[0] == kUnreachable && icmp[1] == kFragmentationNeeded;
        return too_big ? word_at(icmp, 6) : 0;
    }
    return icmp[0] == kTooBig ? std::uint32_t{word_at(icmp, 4)} << 16 | word_at(icmp, 6) : 0;
}

struct Words {
    Network network;
    std::uint8_t type;
    int code;  // -1: any
    const char* text;
};
constexpr Words kWords[] = {
    {Network::kIpv4, 3, 0, "destination unreachable, network"},
    {Network::kIpv4, 3, 1, "destination unreachable, host"},
    {Network::kIpv4, 3, 2, "destination unreachable, protocol"},
    {Network::kIpv4, 3, 3, "destination unreachable, port"},
    {Network::kIpv4, 3, 4, "destination unreachable, fragmentation needed"},
    {Network::kIpv4, 3, 13, "destination unreachable, administratively prohibited"},
    {Network::kIpv4, 3, -1, "destination unreachable"},
    {Network::kIpv4, 4, -1, "source quench"},
    {Network::kIpv4, 5, -1, "redirect"},
    {Network::kIpv4, 11, 0, "time exceeded in transit"},
    {Network::kIpv4, 11, 1, "fragment reassembly time exceeded"},
    {Network::kIpv4, 12, -1, "parameter problem"},
    {Network::kIpv6, 1, 0, "destination unreachable, no route"},
    {Network::kIpv6, 1, 1, "destination unreachable, administratively prohibited"},
    {Network::kIpv6, 1, 3, "destination unreachable, address"},
    {Network::kIpv6, 1, 4, "destination unreachable, port"},
    {Network::kIpv6, 1, -1, "destination unreachable"},
    {Network::kIpv6, 2, -1, "packet too big"},
    {Network::kIpv6, 3, -1, "time exceeded"},
    {Network::kIpv6, 4, -1, "parameter problem"},
};

void merge(IcmpErrorCount& to, const IcmpErrorCount& more) {
    to.frames += more.frames;
    to.ours += more.ours;
    to.wrong_quotes += more.wrong_quotes;
    for (std::size_t i = 0; i < kQuoteFields; ++i) {
        to.wrong[i] += more.wrong[i];
    }
    if (to.example.empty()) {
        to.example = more.example;
        to.frame = more.frame;
    }
}

IcmpErrorCount* count_of(const IcmpErrorKind& kind, std::vector<IcmpErrorCount>& counts) {
    const auto found = std::ranges::find(counts, kind, &IcmpErrorCount::kind);
    if (found != counts.end()) {
        return &*found;
    }
    if (counts.size() == kMostKinds) {
        return nullptr;
    }
    return &counts.emplace_back(IcmpErrorCount{.kind = kind});
}

}  // namespace

std::string text(const IcmpErrorKind& kind) {
    const auto* words = std::ranges::find_if(kWords, [&](const Words& each) {
        return each.network == kind.network && each.type == kind.type &&
               (each.code == -1 || each.code == kind.code);
    });
    std::string text = words != std::end(kWords)
                           ? std::string(words->text)
                           : fmt::format("type {}, code {}", kind.type, kind.code);
    return kind.mtu == 0 ? text : fmt::format("{}, MTU {}", text, kind.mtu);
}

const char* name(QuoteField field) {
    switch (field) {
        case QuoteField::kSource: return "source";
        case QuoteField::kDestination: return "destination";
        case QuoteField::kSourcePort: return "source_port";
        case QuoteField::kDestinationPort: break;
    }
    return "destination_port";
}

std::optional<Quote> read_quote(Network network, Bytes icmp) {
    if (icmp.size() < kIcmpHeader) {
        return std::nullopt;
    }
    const Bytes packet = icmp.subspan(kIcmpHeader);
    const bool v4 = network == Network::kIpv4;
    const std::size_t least = v4 ? sizeof(rte_ipv4_hdr) : kIpv6Header;
    if (packet.size() < least || packet[0] >> 4 != (v4 ? 4 : 6)) {
        return std::nullopt;
    }
    const std::size_t header = v4 ? (packet[0] & 15u) * 4u : kIpv6Header;
    Quote quote;
    quote.protocol = v4 ? packet[9] : packet[6];
    quote.source.address = address_at(packet, v4 ? 12 : 8, network);
    quote.destination.address = address_at(packet, v4 ? 16 : 24, network);
    const bool ports = quote.protocol == kTcp || quote.protocol == kUdp;
    const bool first = !v4 || (word_at(packet, 6) & 0x1fff) == 0;  // no later fragment
    if (header < least || !ports || !first || packet.size() < header + 4) {
        return quote;
    }
    quote.source.port = word_at(packet, header);
    quote.destination.port = word_at(packet, header + 2);
    return quote;
}

std::optional<QuoteJudge> QuoteJudge::make(const SourcePlan& plan) {
    if (plan.spec.tunnel) {
        return std::nullopt;
    }
    QuoteJudge judge;
    judge.first_source_ = plan.spec.packet.source.address;
    const std::uint64_t ports = std::max<std::uint64_t>(plan.flow.ports, 1);
    judge.sources_ = static_cast<std::uint32_t>((plan.flow.flows + ports - 1) / ports);
    judge.service_ = plan.spec.packet.destination;
    judge.first_port_ = plan.flow.first_port;
    judge.ports_ = plan.flow.ports;
    judge.background_port_ = plan.background_port;
    return judge;
}

bool QuoteJudge::is_source(const frame::IpAddress& address) const {
    if (address.family != first_source_.family) {
        return false;
    }
    const auto low = [](const frame::IpAddress& of) {
        std::uint32_t value = 0;
        for (std::size_t i = of.size() - 4; i < of.size(); ++i) {
            value = value << 8 | of.bytes[i];
        }
        return value;
    };
    const std::uint32_t offset = low(address) - low(first_source_);
    return offset < std::max(sources_, 1u) && first_source_.plus(offset) == address;
}

bool QuoteJudge::is_source_port(std::uint16_t port) const {
    return static_cast<std::uint16_t>(port - first_port_) < ports_;
}

bool QuoteJudge::is_destination_port(std::uint16_t port) const {
    return port == service_.port || port == background_port_;
}

std::optional<unsigned> QuoteJudge::wrong_fields(const Quote& quote) const {
    const auto bit = [](QuoteField field, bool wrong) {
        return wrong ? 1u << static_cast<unsigned>(field) : 0u;
    };
    unsigned wrong = bit(QuoteField::kSource, !is_source(quote.source.address)) |
                     bit(QuoteField::kDestination, quote.destination.address != service_.address);
    const bool has_ports = quote.source.port != 0 || quote.destination.port != 0;
    if (!has_ports) {
        // Without ports, only both addresses together prove that the packet is ours.
        return wrong == 0 ? std::optional(0u) : std::nullopt;
    }
    const bool ports =
        is_source_port(quote.source.port) && is_destination_port(quote.destination.port);
    wrong |= bit(QuoteField::kSourcePort, !is_source_port(quote.source.port)) |
             bit(QuoteField::kDestinationPort, !is_destination_port(quote.destination.port));
    const bool both_addresses = (wrong & 3u) == 3u;
    const bool ours = (ports && !both_addresses) || (wrong & (wrong - 1)) == 0;
    return ours ? std::optional(wrong) : std::nullopt;
}

std::string QuoteJudge::described(const Quote& quote, unsigned fields) const {
    std::string text;
    const auto add = [&](QuoteField field, const std::string& is, const std::string& was) {
        if ((fields >> static_cast<unsigned>(field) & 1) != 0) {
            text += fmt::format("{}{} {} instead of {}", text.empty() ? "" : ", ", name(field), is,
                                was);
        }
    };
    const std::string sources =
        sources_ > 1 ? fmt::format("{} to {}", frame::to_string(first_source_),
                                   frame::to_string(first_source_.plus(sources_ - 1)))
                     : frame::to_string(first_source_);
    add(QuoteField::kSource, frame::to_string(quote.source.address), sources);
    add(QuoteField::kDestination, frame::to_string(quote.destination.address),
        frame::to_string(service_.address));
    add(QuoteField::kSourcePort, std::to_string(quote.source.port),
        fmt::format("{} to {}", first_port_, first_port_ + ports_ - 1));
    add(QuoteField::kDestinationPort, std::to_string(quote.destination.port),
        std::to_string(service_.port));
    return text;
}

bool count_icmp_error(Bytes bytes, Network network, std::size_t transport, std::size_t end,
                      std::size_t port, const QuoteJudge* judge,
                      std::vector<IcmpErrorCount>& counts) {
    if (end > bytes.size() || end < transport + kIcmpHeader ||
        !judge::is_icmp_error(network, bytes[transport])) {
        return false;
    }
    const Bytes icmp = bytes.subspan(transport, end - transport);
    IcmpErrorCount* count = count_of({.network = network,
                                      .type = icmp[0],
                                      .code = icmp[1],
                                      .mtu = mtu_of(network, icmp),
                                      .port = port},
                                     counts);
    if (count == nullptr) {
        return true;
    }
    ++count->frames;
    const std::optional<Quote> quote = read_quote(network, icmp);
    const std::optional<unsigned> wrong =
        judge != nullptr && quote ? judge->wrong_fields(*quote) : std::nullopt;
    if (!wrong) {
        return true;
    }
    ++count->ours;
    if (*wrong == 0) {
        return true;
    }
    ++count->wrong_quotes;
    for (std::size_t i = 0; i < kQuoteFields; ++i) {
        count->wrong[i] += *wrong >> i & 1;
    }
    if (count->example.empty()) {
        count->example = judge->described(*quote, *wrong);
        count->frame.assign(bytes.begin(), bytes.end());
    }
    return true;
}

void add(std::vector<IcmpErrorCount>& to, const std::vector<IcmpErrorCount>& more) {
    for (const IcmpErrorCount& each : more) {
        if (IcmpErrorCount* count = count_of(each.kind, to)) {
            merge(*count, each);
        }
    }
}

}  // namespace pathproof::load
