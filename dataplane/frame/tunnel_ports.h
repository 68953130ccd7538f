// Selection of the packets that are read as tunnels, and of their kind: UDP by its destination
// port, GRE and IP in IP by their protocol numbers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace pathproof::frame {

enum class Tunnel : std::uint8_t {
    kNone,
    kVxlan,     // RFC 7348
    kVxlanGpe,  // draft-ietf-nvo3-vxlan-gpe: Ethernet, IPv4 or IPv6 inside
    kGeneve,    // RFC 8926, options of any length; Ethernet, IPv4 or IPv6 inside
    kGre,       // RFC 2784 and 2890; Ethernet (TEB), IPv4 or IPv6 inside
    kIpInIp,    // RFC 2003, 2473, 4213: any family in any
};
inline constexpr std::size_t kTunnels = 6;
const char* name(Tunnel tunnel);  // "none", "VXLAN", "VXLAN-GPE", "GENEVE", "GRE", "IP in IP"

// Treatment of GRE and IP in IP, which need no port.
enum class IpTunnels : std::uint8_t { kIgnored, kFollowed };

// A plain value: a small table of UDP ports (host order).
class TunnelPorts {
  public:
    static constexpr std::size_t kMost = 16;

    // No port yet. There is no default, so that {} as an argument goes on meaning "no VXLAN port".
    explicit constexpr TunnelPorts(IpTunnels ip_tunnels) : ip_tunnels_(ip_tunnels) {}

    // 4789 and 8472 VXLAN, 4790 VXLAN-GPE, 6081 GENEVE, GRE and IP in IP.
    static constexpr TunnelPorts well_known() {
        TunnelPorts tunnels(IpTunnels::kFollowed);
        tunnels.add(4789, Tunnel::kVxlan);
        tunnels.add(8472, Tunnel::kVxlan);
        tunnels.add(4790, Tunnel::kVxlanGpe);
        tunnels.add(6081, Tunnel::kGeneve);
        return tunnels;
    }

    // Reads UDP to `port` as `kind` from now on; a port that is known changes its kind. False, and
    // nothing changed, if the table is full.
    constexpr bool add(std::uint16_t port, Tunnel kind) {
        for (std::size_t i = 0; i < count_; ++i) {
            if (ports_[i] == port) {
                kinds_[i] = kind;
                return true;
            }
        }
        if (count_ == kMost) {
            return false;
        }
        ports_[count_] = port;
        kinds_[count_++] = kind;
        return true;
    }

    constexpr Tunnel kind_of(std::uint16_t port) const {
        for (std::size_t i = 0; i < count_; ++i) {
            if (ports_[i] == port) {
                return kinds_[i];
            }
        }
        return Tunnel::kNone;
    }
    constexpr IpTunnels ip_tunnels() const { return ip_tunnels_; }

    constexpr bool operator==(const TunnelPorts&) const = default;

  private:
    std::array<std::uint16_t, kMost> ports_{};
    std::array<Tunnel, kMost> kinds_{};
    std::size_t count_ = 0;
    IpTunnels ip_tunnels_ = IpTunnels::kIgnored;
};

}  // namespace pathproof::frame
