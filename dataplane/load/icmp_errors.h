// ICMP errors that come while frames are sent: which, of which MTU, and whether the packet that
// they quote is one that was sent (RFC 792, RFC 1191; RFC 4443). A NAT on the way has to quote the
// addresses and ports of before it (RFC 5508 section 4).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/frame/view.h"
#include "dataplane/load/load_plan.h"

namespace pathproof::load {

struct IcmpErrorKind {
    frame::Network network = frame::Network::kIpv4;
    std::uint8_t type = 0;
    std::uint8_t code = 0;
    std::uint32_t mtu = 0;  // of the next hop; 0: the message has none
    std::size_t port = 0;   // of the run, at which it came
    bool operator==(const IcmpErrorKind&) const = default;
};

// "destination unreachable, fragmentation needed, MTU 1400".
std::string text(const IcmpErrorKind& kind);

// Fields of a quoted packet.
enum class QuoteField : std::uint8_t {
    kSource,
    kDestination,
    kSourcePort,
    kDestinationPort,
};
inline constexpr std::size_t kQuoteFields = 4;
const char* name(QuoteField field);  // "source", "destination_port"

struct IcmpErrorCount {
    IcmpErrorKind kind;
    std::uint64_t frames = 0;
    std::uint64_t ours = 0;                           // that quote a packet of the run
    std::uint64_t wrong_quotes = 0;                   // of these: a field is not as it was sent
    std::array<std::uint64_t, kQuoteFields> wrong{};  // by field
    // The first wrong quote: its field, the value in it and the value that was sent.
    std::string example;
    std::vector<std::uint8_t> frame = {};
};

// The packet that an ICMP error quotes, as far as it is there.
struct Quote {
    frame::Endpoint source;
    frame::Endpoint destination;
    std::uint8_t protocol = 0;
};
// `icmp`: from the ICMP header to the end of the packet. Nothing: too short, or no IP header.
std::optional<Quote> read_quote(frame::Network network, frame::Bytes icmp);

// Judges quotes of ICMP errors against the packets that the sources send.
class QuoteJudge {
  public:
    // Returns nothing for frames in an envelope: quotes are of the outer packet then.
    static std::optional<QuoteJudge> make(const SourcePlan& plan);

    // Fields that are not as any source sends them, a bit each by QuoteField; nothing: it is no packet
    // of the run. It is one if its ports are, and an address, or all but one field.
    std::optional<unsigned> wrong_fields(const Quote& quote) const;
    // "destination 203.0.113.2 instead of 198.51.100.20".
    std::string described(const Quote& quote, unsigned fields) const;

  private:
    QuoteJudge() = default;
    bool is_source(const frame::IpAddress& address) const;
    bool is_source_port(std::uint16_t port) const;
    bool is_destination_port(std::uint16_t port) const;

    frame::IpAddress first_source_;
    std::uint32_t sources_ = 1;
    frame::Endpoint service_;
    std::uint16_t first_port_ = 0;
    std::uint16_t ports_ = 0;
    std::uint16_t background_port_ = 0;
};

// Counts an error that came at a port. `bytes`: the frame, with right checksums; `packet`: its
// innermost one, which is ICMP. False: it is no error.
bool count_icmp_error(frame::Bytes bytes, frame::Network network, std::size_t transport,
                      std::size_t end, std::size_t port, const QuoteJudge* judge,
                      std::vector<IcmpErrorCount>& counts);

void add(std::vector<IcmpErrorCount>& to, const std::vector<IcmpErrorCount>& more);

}  // namespace pathproof::load
