// Two namespaces and two veth pairs between them, for the lanes that send through the kernel: one
// pair ends in a sink that counts and drops, on the other a server answers.
#pragma once

#include <string>

#include "dataplane/base/result.h"
#include "dataplane/frame/address.h"
#include "harness/lab/journal.h"
#include "harness/lab/namespaces.h"

namespace pathproof::bench {

struct VethEnd {
    std::string netns;
    std::string device;
    frame::MacAddress mac;
    frame::IpAddress address;
};

struct VethPair {
    VethEnd client;
    VethEnd server;
};

class VethRig {
  public:
    // The namespaces go with it, and with the journal.
    explicit VethRig(lab::Journal& journal);

    // Errors: what ip and ethtool say.
    Status make();

    const VethPair& sink() const { return sink_; }
    const VethPair& server() const { return server_; }
    // Takes off what a program has left attached to the client's ends (kxdpgun leaves its XDP
    // program).
    Status clean_up() const;

  private:
    lab::Namespaces namespaces_;
    lab::Hosts hosts_;
    VethPair sink_;
    VethPair server_;
    std::string client_netns_;
    std::string server_netns_;
};

}  // namespace pathproof::bench
