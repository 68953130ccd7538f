#include "harness/bench/veth/veth_rig.h"

namespace pathproof::bench {
namespace {

// Locally administered and fixed, so that captures of two runs compare; the addresses are those of
// RFC 2544 benchmarks.
VethPair pair(const std::string& client, const std::string& server, const std::string& name,
              unsigned number) {
    const auto end = [&](const std::string& netns, const std::string& device, unsigned side) {
        return VethEnd{
            .netns = netns,
            .device = device,
            .mac = *frame::parse_mac(fmt::format("02:00:00:be:{:02x}:{:02x}", number, side)),
            .address = *frame::parse_ip(fmt::format("198.18.{}.{}", 64 + number, side))};
    };
    return {.client = end(client, name + "-c", 1), .server = end(server, name + "-s", 2)};
}

lab::Link link_of(const VethPair& pair) {
    return {{pair.client.netns, pair.client.device, to_string(pair.client.mac)},
            {pair.server.netns, pair.server.device, to_string(pair.server.mac)}};
}

// The server's end gets no address: nothing of the kernel's may answer beside ours.
std::string client_side(const VethPair& pair) {
    return fmt::format(
        "link set {0} up\naddress add {1}/24 dev {0}\n"
        "neigh replace {2} lladdr {3} dev {0} nud permanent\n",
        pair.client.device, to_string(pair.client.address), to_string(pair.server.address),
        to_string(pair.server.mac));
}

std::string server_side(const VethPair& pair) {
    return fmt::format("link set {} up\n", pair.server.device);
}

}  // namespace

VethRig::VethRig(lab::Journal& journal)
    : namespaces_(journal),
      client_netns_(fmt::format("pp-{}-client", journal.run_id())),
      server_netns_(fmt::format("pp-{}-server", journal.run_id())) {
    sink_ = pair(client_netns_, server_netns_, "sink", 0);
    server_ = pair(client_netns_, server_netns_, "dns", 1);
}

Status VethRig::make() {
    using lab::HostRole;
    TRY(lab::realise(
        {.hosts = {{client_netns_, {HostRole::kClient}, client_side(sink_) + client_side(server_)},
                   {server_netns_, {HostRole::kServer}, server_side(sink_) + server_side(server_)}},
         .links = {link_of(sink_), link_of(server_)},
         // A socket's queries shall carry whole checksums: veth hands unfinished ones on as they are.
         .settings = {setting::feature(HostRole::kClient, server_.client.device, "tx", false)}},
        namespaces_, hosts_));
    return {};
}

Status VethRig::clean_up() const {
    return lab::run_ip_in(client_netns_, fmt::format("link set {} xdp off\nlink set {} xdp off",
                                                     sink_.client.device, server_.client.device));
}

}  // namespace pathproof::bench
