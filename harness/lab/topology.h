// Putting a plan into namespaces: the programs and kernel files that the built-in labs are made
// with.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/lab/journal.h"
#include "harness/lab/plan.h"

namespace pathproof::lab {

// The namespaces of one lab: deleted, with what runs in them, when this dies. The journal must
// outlive it.
class Namespaces {
  public:
    explicit Namespaces(Journal& journal) : journal_(journal) {}
    Namespaces(const Namespaces&) = delete;
    Namespaces& operator=(const Namespaces&) = delete;
    ~Namespaces();

    // Makes them beside those made before, without IPv6 (no stray router or multicast-listener frames on the wire).
    Status add(const std::vector<std::string>& names);

  private:
    Journal& journal_;
    std::vector<std::string> names_;
};

// `ip -batch` with these commands in a namespace (empty: ours). kKernelLacks when the kernel lacks
// a device type.
Status run_ip(const std::string& netns, const std::string& commands);
Status run_ip(const std::vector<Script>& scripts);

// iptables-restore (or ip6tables-restore) with these tables in a namespace. kKernelLacks when the
// kernel lacks what a rule needs.
Status load_rules(const std::string& netns, const std::string& rules,
                  frame::Family family = frame::Family::kIpv4);

// iptables-restore --noflush (or of IPv6): adds to the tables what the text has.
Status add_rules(const std::string& netns, const std::string& rules, frame::Family family);

// `nft -f -` with this text in a namespace. kKernelLacks, with the module's name, when the kernel
// lacks what it needs, and without nft.
Status load_nft(const std::string& netns, const std::string& text);

// Has conntrack of a namespace tell of its entries: packet counts, times of birth, events (1, or 2
// since Linux 5.19: as long as somebody listens).
Status make_watchable(const std::string& netns);

// Writes sysctls of a namespace. These are not journalled: they go with it.
Status set_sysctls(const std::string& netns, const Sysctls& values);

// Turns off features of a device in a namespace, by the words of `ethtool -K`. Errors: those of
// agent::change_features().
Status switch_off(const std::string& netns, const std::string& device,
                  const std::vector<std::string>& words);

// A tester in the place of a NIC takes frames, not super-frames: without these, TCP hands veth up
// to 64 KiB at once. They are switched off by their own names because "tx off" takes TSO with it
// and "tx on" brings it back, unless it was itself asked to be off (netdev_fix_features keeps what
// was asked for in wanted_features): so a scenario may toggle "tx" freely, and TSO stays off.
// Tunnelled TCP is a super-frame of type TCPv4 too, and needs TSO as well as
// tx-udp_tnl-segmentation (net_gso_ok compares all bits of the type).
Status take_off_super_frames(const std::string& netns, const std::string& device);

}  // namespace pathproof::lab
