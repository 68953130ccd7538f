// The hosts of a lab by their roles, each with its agent: the one route by which anything is changed on
// them. What an agent changes stands in its journal, is read back, and is undone when the lab ends or
// either side dies.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/agent/client.h"
#include "harness/lab/dut_agent.h"
#include "harness/setting/setting.h"

namespace pathproof::lab {

using setting::HostRole;
using setting::Settings;

// Fate of the connections that conntrack tracked before a change of settings.
enum class Flows { kForget, kKeep };

// Devices that earlier commands of ip(8) made, beside what is kept.
enum class Links { kStay, kAnew };

// Owner of a host's tables. In tables with others' rules ours go in front of them.
enum class Tables { kOurs, kOthers };

class Hosts {
  public:
    // A host in a namespace of the lab's own: its agent is started, and ends with the calling thread.
    Status add(const std::vector<HostRole>& roles, const std::string& netns,
               Tables tables = Tables::kOurs);
    void add(const std::vector<HostRole>& roles, std::shared_ptr<agent::Client> agent,
             Tables tables = Tables::kOurs);
    // A host whose agent is somebody's, and must outlive these: end() has it put the host back.
    void add(const std::vector<HostRole>& roles, DutAgent& agent, Tables tables = Tables::kOurs);

    // The first host of the role, which there is.
    agent::Client& agent(HostRole role) const;
    std::shared_ptr<agent::Client> shared_agent(HostRole role) const;

    // Has the agents put their hosts back, and ends those that were started here.
    void end();
    // Hosts of the lab's own stay as they are when their agents end: a lab that outlives its run.
    Status leave();

    // Sets the names of the topology's devices and networks ("$TUNNEL").
    void call(const setting::Names& names);

    // Stays until the hosts go. What an earlier set() set is taken back: it comes after what is kept.
    Status keep(const Settings& settings);
    // The hosts have these settings and what is kept, and no others: what an earlier call set, and this
    // one does not, is as it was found. One call of each agent. Commands of ip(8) that both have are not
    // run again; with kAnew they are undone first, and features are set again, for a new device has its own.
    // kKernelLacks: the kernel lacks what one takes.
    Status set(const Settings& settings, Flows flows = Flows::kForget, Links links = Links::kStay);
    // Returns why one of the settings cannot be had; empty: they can.
    Result<std::string> lacks(const Settings& settings) const;

  private:
    struct Host {
        std::vector<HostRole> roles;
        Tables tables = Tables::kOurs;
        std::unique_ptr<DutAgent> own;
        DutAgent* agent = nullptr;
        std::vector<agent::HostChange> set = {};
        // A call failed: any part of `set` may be missing. The next call takes back all of it first.
        bool is_unsure = false;
    };
    const Host& host(HostRole role) const;
    Status set_on(Host& host, const Settings& settings, Flows flows, Links links) const;

    std::vector<Host> hosts_;
    setting::Names names_;
    Settings kept_;
};

}  // namespace pathproof::lab
