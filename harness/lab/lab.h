// Labs that scenarios run on. A lab offers roles, whatever it is made of. A scenario asks for the
// role that it needs; a lab without it says why, and the scenario is not run.
//
// A lab is a row of `labs()`.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/port/cpus.h"
#include "harness/lab/journal.h"
#include "harness/lab/lab_file.h"
#include "harness/lab/nat_box.h"
#include "harness/lab/nat_path.h"
#include "harness/lab/overlay.h"
#include "harness/lab/pod_nodes.h"
#include "harness/verdict/lab_request.h"

namespace pathproof::lab {

enum class Role {
    kOverlay,  // pods on two nodes, VXLAN between them, and the tester as the nodes' cable
    kNatBox,   // the tester's clients and servers, and a DUT that translates between them
    kNatPath,  // a client and a server of the kernel's own, and a DUT that translates between them
    kDevice,   // a device of the DUT, and a port of the tester at the other end of its cable
    kPods,     // pods that CNI plug-ins attach, on two nodes with the tester as their cable
};

// Names of a device and of the tester's port as users give them; netns empty: ours.
struct CabledDevice {
    std::string netns;
    std::string host = "";  // another machine; empty: this one
    std::string name;
    std::string tester_netns;
    std::string tester_port;
    std::uint16_t tester_queues = 1;
    std::optional<int> tester_lcore = std::nullopt;  // a CPU
    // The addresses that both may have; nothing: those of the networks that are set apart for tests.
    std::optional<std::vector<Prefix>> device_plan = std::nullopt;
    std::optional<std::vector<Prefix>> port_plan = std::nullopt;
};

// Place where the work that a device leaves undone is finished: in the device, or behind it.
enum class Finish : std::uint8_t {
    kAsItsDriverIs,  // of a virtual driver by its receiver, of hardware by itself
    kByItself,
    kBehindIt,
};

// A DUT that is made when it is its turn, and gone when this dies.
struct MadeDut {
    std::shared_ptr<void> parts;  // what is taken down with it
    std::shared_ptr<agent::Client> agent;
    CabledDevice device;
    Finish finish = Finish::kAsItsDriverIs;
    RoleFacts facts;  // what it is made of, for the report
    // Returns the DUT's output so far, for people who look for the cause of a failure.
    std::function<std::string()> log = [] { return std::string(); };
};

class Lab {
  public:
    virtual ~Lab() = default;

    // In reports: the same wherever its file lies.
    virtual const std::string& name() const = 0;
    // Returns why it lacks the role; empty: it has it.
    virtual std::string lacks(Role role) const = 0;

    // Each is kNotSupported where the role is lacking. The journal, and the lab, must outlive it.
    virtual Result<std::unique_ptr<Overlay>> overlay(Journal& /*journal*/) {
        return fail(ErrorCode::kNotSupported, "{}", lacks(Role::kOverlay));
    }
    virtual Result<std::unique_ptr<NatBox>> nat_box(Journal& /*journal*/) {
        return fail(ErrorCode::kNotSupported, "{}", lacks(Role::kNatBox));
    }
    virtual Result<std::unique_ptr<NatPath>> nat_path(Journal& /*journal*/, ClientAt /*client*/) {
        return fail(ErrorCode::kNotSupported, "{}", lacks(Role::kNatPath));
    }
    // The agent on a DUT that is somebody's; null: the hosts are the lab's own.
    virtual std::shared_ptr<agent::Client> dut() const { return nullptr; }
    // Names the DUT for a report if it is another machine; empty: it is this one.
    virtual std::string other_host() const { return ""; }
    // The description that it is made from; null: it is made without one.
    virtual const LabFile* file() const { return nullptr; }
    // Devices of the DUT, the one that is judged first. None: they are made when the lab is built.
    virtual std::vector<CabledDevice> devices() const { return {}; }

    // CPUs of the tester's lcores, two or one.
    virtual std::vector<int> lcores() const { return port::usable_cpus(2); }

    // Names of DUTs that offload-truth makes one after another, in place of devices(): see make_dut().
    virtual std::vector<std::string> duts() const { return {}; }
    // kNotSupported: it cannot be had here, and why; kUnavailable: it did not come up.
    virtual Result<MadeDut> make_dut(const std::string& name, Journal& /*journal*/) {
        return fail(ErrorCode::kNotSupported, "this lab makes no {}", name);
    }
    // Names of the networks that pods() can build.
    virtual std::vector<std::string> pod_chains() const { return {}; }
    virtual Result<std::unique_ptr<PodNodes>> pods(const std::string& /*chain*/,
                                                   Journal& /*journal*/) {
        return fail(ErrorCode::kNotSupported, "{}", lacks(Role::kPods));
    }
    // Names the parties whose parts are tested on it, as far as its file tells.
    virtual verdict::Parties parties() const { return {}; }
    // States what a run on it may and may not show; empty: what its devices allow.
    virtual std::string evidence_note() const { return ""; }

    // Gives this machine what it needs before the tester's ports can be opened: drivers, modules.
    virtual Status prepare(Journal& /*journal*/) { return {}; }

    // Undoes what is changed on its hosts, reads it back, and ends their agents. Gives what others
    // changed since. Hosts of the lab's own go with their namespaces, which stand in the journal.
    virtual Result<std::vector<std::string>> put_back() { return std::vector<std::string>(); }
};

// The lab that `--lab` names. Errors: no such lab, a file that is wrong, a device that must not be
// touched (kBadInput); a host that cannot be reached (kNotSupported, kUnavailable).
Result<std::unique_ptr<Lab>> open_lab(const verdict::LabRequest& request);
// Lists the values of `--lab`, a line each, for help texts.
std::vector<std::string> labs();

// Guests of QEMU, each with one emulated NIC: real drivers without hardware.
Result<std::unique_ptr<Lab>> make_qemu_lab(const verdict::GuestOptions& guest);

// Pods that real CNI plug-ins attach. kBadInput: a conflist that is wrong, plug-ins that are not there;
// kNotSupported: one that takes a daemon.
Result<std::unique_ptr<Lab>> make_cni_lab(const verdict::CniOptions& options);

// A lab that a TOML file describes, or the net.config of the kernel's selftests for network drivers
// (tools/testing/selftests/drivers/net/README.rst), whose variables may be in our environment too:
// NETIF is the DUT, and the tester's port is what has REMOTE_V4 or REMOTE_V6 in the network namespace
// REMOTE_ARGS.
Result<std::unique_ptr<Lab>> make_file_lab(const std::string& path);
Result<std::unique_ptr<Lab>> make_net_config_lab(const std::string& path);

// Loads the file's modules and binds the tester's PCI ports, as far as they are not yet. Errors: see
// Journal::load_module(), bind_pci().
Status bind_ports(const LabFile& file, Journal& journal);

}  // namespace pathproof::lab
