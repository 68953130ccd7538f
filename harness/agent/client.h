// The controller's handle on an agent: our process inside the DUT (a namespace, a guest or a host
// over OpenSSH). Thread-safe: probes that wait run beside other calls. Values of operations have
// headers of their own, a family each.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/agent/conntrack.h"
#include "harness/agent/counter_set.h"
#include "harness/agent/hello.h"
#include "harness/agent/offload_features.h"

namespace pathproof::fingerprint {
enum class Serials : std::uint8_t;
struct HostMoment;
}  // namespace pathproof::fingerprint

namespace pathproof::frame {
struct Endpoint;
}  // namespace pathproof::frame

namespace pathproof::netfilter {
struct CpuStats;
struct Entry;
struct EventLog;
struct TableSize;
}  // namespace pathproof::netfilter

namespace pathproof::process {
class Child;
struct ChildOptions;
struct SshHost;
}  // namespace pathproof::process

namespace pathproof::verdict {
struct Fact;
struct FactGroup;
struct HostWatch;
struct Item;
struct Reading;
}  // namespace pathproof::verdict

namespace pathproof::fate {
struct Fates;
struct FollowOptions;
}  // namespace pathproof::fate

namespace pathproof::agent {

using std::chrono::milliseconds;

struct Capture;
struct CaptureOptions;
struct ClosingServerOptions;
struct ConnectsOptions;
struct ConnectsReport;
struct CpuUse;
struct DatagramOptions;
struct DeviceHook;
struct DeviceInfo;
struct DnsLoadOptions;
struct DnsLoadReport;
struct DnsLookupOptions;
struct DnsServerOptions;
struct DnsmasqOptions;
struct DnsmasqReport;
struct ForwarderOptions;
struct ForwarderReport;
struct HostChange;
struct Needs;
struct OffloadFrame;
struct PathEvents;
struct PingOptions;
struct ProbeResult;
struct RanProgram;
struct SendReport;
struct TcpQueue;
struct TransferOptions;

class Client {
  public:
    // Starts an agent in a named network namespace. It ends with the calling thread at the latest
    // (process::Child), so call this from one that lives as long as it should.
    static Result<std::unique_ptr<Client>> start_in_netns(const std::string& netns);
    // Starts `program` on another host over OpenSSH. Where there is none, or not this build of it,
    // our own program is copied there for as long as the agent runs (program_copy.h). Errors: no
    // way in (kNotPermitted, with ssh's words), a host that cannot run it (kNotSupported). `netns`: a named network
    // namespace there that it works in; empty: the one where ssh's shell is.
    static Result<std::unique_ptr<Client>> start_over_ssh(const process::SshHost& host,
                                                          const std::string& program,
                                                          const std::string& netns = "");
    // Starts a program with an agent behind its standard input and output that answers within
    // `patience`: a virtual machine. It runs in that namespace and is killed with us.
    static Result<std::unique_ptr<Client>> start_behind(const std::vector<std::string>& argv,
                                                        const std::string& netns,
                                                        const std::string& who,
                                                        milliseconds patience);
    ~Client();

    // Starts another agent on the host of this one, in a named network namespace of it; empty: in the same.
    // kNotSupported: a guest has one agent.
    Result<std::unique_ptr<Client>> start_beside(const std::string& netns = "") const;

    const Hello& hello() const;
    const std::string& who() const;
    pid_t pid() const;
    bool alive() const;

    // Offloads and devices (ioctl SIOCETHTOOL).
    Result<std::vector<Feature>> features(const std::string& device);
    // One feature, to see what the device makes of it: refusals and side effects are results. Undone as apply().
    Result<FeatureTrial> try_feature(const std::string& device, const std::string& name, bool on);
    // Requests features, whether or not the device can have them so (ethtool.h). Undone as apply().
    Status request_features(const std::string& device,
                            const std::vector<std::pair<std::string, bool>>& wanted);
    Result<DeviceInfo> device(const std::string& device);
    // Reads a device's settings (fingerprint/nic.h), and the facts of its host
    // (fingerprint/host.h).
    Result<std::vector<verdict::Fact>> nic_facts(const std::string& device);
    Result<std::vector<verdict::FactGroup>> host_facts();
    // A device as a certificate names it, and its readings alone (fingerprint/item.h).
    Result<verdict::Item> item(const std::string& device, fingerprint::Serials serials);
    Result<std::vector<verdict::Reading>> item_readings(const std::string& device);
    // The host now, and what it did since (fingerprint/kernel_log.h).
    Result<fingerprint::HostMoment> moment();
    Result<verdict::HostWatch> watch_since(const fingerprint::HostMoment& moment);
    // Reads the serial numbers of the host and of these devices.
    Result<std::vector<verdict::Fact>> serials(const std::vector<std::string>& devices);
    // "prog 12 (xdp_drop)"; empty: no XDP program is attached.
    Result<std::string> xdp_program(const std::string& device);
    // Asks for all else that has a device's packets before the stack or behind it (device_hooks.h).
    Result<std::vector<DeviceHook>> device_hooks(const std::string& device);

    // Frames with exact offload metadata through packet sockets (offload_frames.h).
    Result<SendReport> send_frames(const std::string& device,
                                   const std::vector<OffloadFrame>& frames);
    // Listens to what a device receives until stop_capture; one device at a time.
    Status start_capture(const CaptureOptions& options);
    Result<Capture> stop_capture();
    // Sends UDP payloads through an ordinary socket (offload_frames.h).
    Result<SendReport> send_datagrams(const DatagramOptions& options);

    // CPU time, cycles, interrupts and memory of the host, with the interrupts of one device.
    Result<CpuUse> cpu_use(const std::string& device);
    // Counters of this namespace: /proc/net/{snmp,snmp6,netstat} and device statistics.
    Result<CounterSet> counters();
    // A sysctl of this namespace, by its name below /proc/sys with dots ("net.ipv4.ip_forward").
    Result<std::string> read_sysctl(const std::string& name);
    // Receive packet steering of a device's first receive queue: a hexadecimal CPU mask, "0" for off.
    Result<std::string> rps(const std::string& device);

    // Changes the host, in this order, up to the first that fails. All of it stands in the journal of
    // the host and is undone by put_back(), and by the agent itself when its input ends, when it is
    // stopped, or when nothing was asked of it for 20 s. kUnavailable: another controller has the
    // host (named), or it was put back meanwhile.
    Status apply(const std::vector<HostChange>& changes);
    // Returns why the host lacks it, a sentence; empty: it is there.
    Result<std::string> lacks(const Needs& needs);
    // Undoes all of apply() and reads it back. Gives what was left, for others changed it since.
    Result<std::vector<std::string>> put_back();
    // All of apply() stays as it is and is forgotten: for a namespace that is somebody's to delete.
    Status leave();
    // Runs a program on the host, one of process/programs.h, in the agent's namespace, with that text at its standard
    // input. Errors: it could not be started.
    Result<RanProgram> run_program(const std::vector<std::string>& words,
                                   const std::string& input = "");
    // Runs a program like run_program(), and gives its output. A status other than 0 is an error too, with
    // the program's own words.
    Result<std::string> output_of(const std::vector<std::string>& words,
                                  const std::string& input = "");
    // Says that the controller is there.
    Status beat();
    // CLOCK_REALTIME of its host.
    Result<std::int64_t> clock();

    // conntrack.
    Result<std::vector<netfilter::Entry>> conntrack_dump(const ConntrackFilter& filter = {});
    // Gives the time (CLOCK_REALTIME) just before it.
    Result<std::int64_t> conntrack_flush();
    Result<netfilter::TableSize> conntrack_table();
    // Each lives for 10 minutes. kUnavailable: the table took no more.
    Status conntrack_fill(const ConntrackFill& what);
    Result<std::vector<netfilter::CpuStats>> conntrack_stats();
    // Listens from the return of start until stop; one listener at a time.
    Status start_events(const ConntrackFilter& filter = {});
    Result<netfilter::EventLog> stop_events();
    // Ends it, if there is one; what it heard is thrown away.
    Status drop_events();
    // Ends it as a run's end: NEW events that were lost are found again by the table, the table is emptied, and
    // what comes of that within `settle` belongs to the log.
    Result<FlowEvents> finish_events(milliseconds settle);

    // Packets that the kernel drops in this namespace, and devices without a link: from the return
    // of start until stop; one watch at a time.
    Status start_path_watch();
    Result<PathEvents> stop_path_watch();
    // Follows the packets of these flows through all namespaces of the agent's machine, from the return
    // of start until stop. On a machine that cannot, stop_fate() says why (Fates::not_followed).
    Status start_fate(const fate::FollowOptions& options);
    Result<fate::Fates> stop_fate();

    // Servers on kernel sockets; they end with the agent or with stop_servers.
    Status start_dns_server(const DnsServerOptions& options);
    Status start_transfer_server(const frame::Endpoint& listen);
    Status start_closing_server(const ClosingServerOptions& options);
    Status stop_servers();
    // kNotFound where dnsmasq is not installed, kNotSupported where it lacks an option.
    Status start_dnsmasq(const DnsmasqOptions& options);
    Result<DnsmasqReport> dnsmasq_report();
    Status stop_dnsmasq();
    Status start_forwarder(const ForwarderOptions& options);
    Result<ForwarderReport> stop_forwarder();
    // One listening socket at a time.
    Status start_tcp_queue(const frame::Endpoint& listener);
    Result<TcpQueue> stop_tcp_queue();

    // Probes. An error means that the probe could not be made; a probe that failed is a value.
    Result<ProbeResult> ping(const PingOptions& options);
    Result<ProbeResult> dns_lookup(const DnsLookupOptions& options);
    Result<ProbeResult> tcp_transfer(const TransferOptions& options);
    Result<ConnectsReport> tcp_connects(const ConnectsOptions& options);
    Result<DnsLoadReport> dns_load(const DnsLoadOptions& options);

  private:
    struct Impl;  // operations.h
    Client();
    static Result<std::unique_ptr<Client>> start(const std::vector<std::string>& argv,
                                                 const process::ChildOptions& options,
                                                 const std::string& who);
    static Result<std::unique_ptr<Client>> copy_over_ssh(const process::SshHost& host,
                                                         const std::string& netns,
                                                         const std::string& why);
    static Result<std::unique_ptr<Client>> run_over_ssh(const process::SshHost& host,
                                                        const std::string& program,
                                                        const std::string& netns);
    Status greet(milliseconds patience);
    std::unique_ptr<Impl> impl_;
};

}  // namespace pathproof::agent
