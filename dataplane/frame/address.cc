#include "dataplane/frame/address.h"

#include <arpa/inet.h>

#include <cstring>

#include "dataplane/base/number.h"

namespace pathproof::frame {
namespace {

// inet_pton wants a terminated string; the longest legal text is INET6_ADDRSTRLEN - 1.
bool parse_family(int family, std::string_view text, std::uint8_t* bytes) {
    char terminated[INET6_ADDRSTRLEN] = "";
    if (text.size() >= sizeof terminated || text.find('\0') != std::string_view::npos) {
        return false;
    }
    std::memcpy(terminated, text.data(), text.size());
    return inet_pton(family, terminated, bytes) == 1;
}

Failure bad_endpoint(std::string_view text) {
    return fail(ErrorCode::kBadInput,
                "'{}' is no end point; write ADDRESS:PORT, an IPv6 address in brackets: "
                "198.18.0.1:53 or [2001:db8::1]:53",
                text);
}

}  // namespace

IpAddress IpAddress::v4(std::uint32_t host_order) {
    IpAddress address;
    for (int i = 0; i < 4; ++i) {
        address.bytes[i] = static_cast<std::uint8_t>(host_order >> (24 - 8 * i));
    }
    return address;
}

std::uint32_t IpAddress::v4_host_order() const {
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i) {
        value = value << 8 | bytes[i];
    }
    return value;
}

IpAddress IpAddress::plus(std::uint32_t offset) const {
    IpAddress moved = *this;
    const std::size_t low = size() - 4;
    std::uint32_t value = 0;
    for (std::size_t i = low; i < size(); ++i) {
        value = value << 8 | bytes[i];
    }
    value += offset;
    for (std::size_t i = size(); i-- > low; value >>= 8) {
        moved.bytes[i] = static_cast<std::uint8_t>(value);
    }
    return moved;
}

Result<MacAddress> parse_mac(std::string_view text) {
    const Failure bad = fail(ErrorCode::kBadInput,
                             "'{}' is no MAC address; write six bytes as 02:00:00:00:00:01", text);
    if (text.size() != 17) {
        return bad;
    }
    MacAddress mac;
    for (std::size_t i = 0; i < mac.bytes.size(); ++i) {
        const auto byte = whole_number<std::uint8_t>(text.substr(3 * i, 2), 16);
        if (!byte || (i > 0 && text[3 * i - 1] != ':')) {
            return bad;
        }
        mac.bytes[i] = *byte;
    }
    return mac;
}

Result<IpAddress> parse_ip(std::string_view text) {
    IpAddress address;
    if (parse_family(AF_INET, text, address.bytes.data())) {
        return address;
    }
    address.family = Family::kIpv6;
    if (parse_family(AF_INET6, text, address.bytes.data())) {
        return address;
    }
    return fail(ErrorCode::kBadInput,
                "'{}' is no IP address; write it as 198.18.0.1 or 2001:db8::1", text);
}

Result<Endpoint> parse_endpoint(std::string_view text) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) {
        return bad_endpoint(text);
    }
    std::string_view host = text.substr(0, colon);
    const auto port = whole_number<std::uint16_t>(text.substr(colon + 1));
    const bool bracketed = host.size() >= 2 && host.front() == '[' && host.back() == ']';
    if (bracketed) {
        host = host.substr(1, host.size() - 2);
    }
    const Result<IpAddress> address = parse_ip(host);
    if (!port || !address || bracketed != (address->family == Family::kIpv6)) {
        return bad_endpoint(text);
    }
    return Endpoint{*address, *port};
}

std::string to_string(const MacAddress& mac) {
    const auto& b = mac.bytes;
    return fmt::format("{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", b[0], b[1], b[2], b[3], b[4],
                       b[5]);
}

std::string to_string(const IpAddress& ip) {
    char text[INET6_ADDRSTRLEN] = "";
    const int family = ip.family == Family::kIpv4 ? AF_INET : AF_INET6;
    return inet_ntop(family, ip.bytes.data(), text, sizeof text);
}

std::string to_string(const Endpoint& endpoint) {
    const std::string host = to_string(endpoint.address);
    return endpoint.address.family == Family::kIpv4 ? fmt::format("{}:{}", host, endpoint.port)
                                                    : fmt::format("[{}]:{}", host, endpoint.port);
}

}  // namespace pathproof::frame
