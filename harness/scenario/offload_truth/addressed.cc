#include "harness/scenario/offload_truth/addressed.h"

namespace pathproof::scenario {
namespace {

using frame::Family;
using frame::IpAddress;

IpAddress address_of(Family family, std::uint8_t last) {
    if (family == Family::kIpv4) {
        return IpAddress::v4(0xc613ff00u + last);  // 198.19.255.x, RFC 2544
    }
    // RFC 3849
    return {Family::kIpv6,
            {0x20, 1, 0x0d, 0xb8, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, last}};
}

}  // namespace

IpAddress AddressedDevice::own(Family family) {
    return address_of(family, 1);
}

IpAddress AddressedDevice::tester(Family family) {
    return address_of(family, 2);
}

Result<AddressedDevice> AddressedDevice::take(const TruthHost& host, const std::string& device) {
    AddressedDevice taken(host, device);
    const Status v4 = taken.add_address(device, frame::to_string(own(Family::kIpv4)) + "/30");
    // Duplicate address detection would wait a second, and nobody else is on this cable.
    const Status v6 =
        taken.add_address(device, frame::to_string(own(Family::kIpv6)) + "/126", " nodad");
    if (!v4 && !v6) {
        return pass_on(v4.error());
    }
    taken.why_no_v4_ = v4 ? "" : v4.error().message;
    taken.why_no_v6_ = v6 ? "" : v6.error().message;
    return taken;
}

AddressedDevice::~AddressedDevice() {
    put_back();
}

void AddressedDevice::put_back(std::size_t kept) {
    for (; undo_.size() > kept; undo_.pop_back()) {
        // A failure here stays in the journal, which tries again and reports it.
        static_cast<void>(host_.undo_ip(device_, undo_.back()));
    }
}

const std::string& AddressedDevice::why_not(Family family) const {
    return family == Family::kIpv4 ? why_no_v4_ : why_no_v6_;
}

Status AddressedDevice::know_tester(Family family) {
    return add_neighbour(device_, frame::to_string(tester(family)), "02:00:00:00:00:02");
}

Status AddressedDevice::add_device(const Above& above) {
    TRY(change(device_,
               fmt::format("link add name {} mtu {} up type {}", above.name, above.mtu, above.type),
               "link delete " + above.name));
    TRY(add_address(above.name, above.address));
    return above.neighbour.empty()
               ? Status()
               : add_neighbour(above.name, above.neighbour, "02:00:00:00:00:03");
}

Status AddressedDevice::change(const std::string& of, const std::string& change,
                               const std::string& undo) {
    const Status changed = host_.change_ip(of, change, undo);
    if (changed) {
        undo_.push_back(undo);
    }
    return changed;
}

Status AddressedDevice::add_address(const std::string& of, const std::string& prefix,
                                    const char* flags) {
    return change(of, fmt::format("address add {} dev {}{}", prefix, of, flags),
                  fmt::format("address delete {} dev {}", prefix, of));
}

Status AddressedDevice::add_neighbour(const std::string& of, const std::string& address,
                                      const char* mac) {
    return change(of,
                  fmt::format("neigh replace {} lladdr {} nud permanent dev {}", address, mac, of),
                  fmt::format("neigh delete {} dev {}", address, of));
}

}  // namespace pathproof::scenario
