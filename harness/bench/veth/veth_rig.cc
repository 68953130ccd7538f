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

std::string links(const VethPair& pair) {
    return fmt::format(
        "link add {} address {} netns {} type veth peer name {} address {} netns {}\n",
        pair.client.device, to_string(pair.client.mac), pair.client.netns, pair.server.device,
        to_string(pair.server.mac), pair.server.netns);
}

// The server's end gets no address: nothing of the kernel's may answer beside ours.
std::string client_side(const VethPair& pair) {
    return fmt::format(
        "link set {0} up\naddr add {1}/24 dev {0}\n"
        "neigh add {2} lladdr {3} dev {0} nud permanent\n",
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
    TRY(namespaces_.add({client_netns_, server_netns_}));
    TRY(lab::run_ip("", links(sink_) + links(server_)));
    TRY(lab::run_ip({{client_netns_, client_side(sink_) + client_side(server_)},
                     {server_netns_, server_side(sink_) + server_side(server_)}}));
    // A socket's queries shall carry whole checksums: veth hands unfinished ones on as they are.
    return lab::switch_off(client_netns_, server_.client.device, {"tx"});
}

Status VethRig::clean_up() const {
    return lab::run_ip(client_netns_, fmt::format("link set {} xdp off\nlink set {} xdp off\n",
                                                  sink_.client.device, server_.client.device));
}

}  // namespace pathproof::bench
