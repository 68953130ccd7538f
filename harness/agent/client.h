// The controller's handle on an agent: our process inside the DUT (a namespace, a guest or a host
// over OpenSSH). Thread-safe: probes that wait run beside other calls.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/frame/address.h"
#include "harness/agent/host_change.h"
#include "harness/agent/needs.h"
#include "harness/agent/offload_frames.h"
#include "harness/agent/pcie.h"
#include "harness/drops/link_watch.h"
#include "harness/drops/summary.h"
#include "harness/message/fields.h"
#include "harness/netfilter/entry.h"
#include "harness/netfilter/stats.h"
#include "harness/process/child.h"
#include "harness/process/ssh.h"

namespace pathproof::verdict {
struct Fact;
struct FactGroup;
}  // namespace pathproof::verdict

namespace pathproof::agent {

using std::chrono::milliseconds;

// One offload feature under the name that `ethtool -k` prints for the single feature
// (ETH_SS_FEATURES).
struct Feature {
    std::string name;
    bool active = false;
    bool requested = false;
    bool available = false;  // may be changed by the user (hw_features)
    // What `ethtool -k` marks "[fixed]": not available, or the same on any device.
    bool never_changed = false;
    bool operator==(const Feature&) const = default;
};
FIELDS(Feature, name, active, requested, available, never_changed)

// What a request to change features really did: the kernel may refuse, or change others with it.
struct FeatureChange {
    std::string name;
    bool before = false;
    bool after = false;
    bool asked = false;  // false: changed along with the ones asked for
};
FIELDS(FeatureChange, name, before, after, asked)

// What came of asking a device for one feature.
enum class TrialOutcome : std::uint8_t {
    kTaken,    // it is so now
    kAlready,  // it was so before
    kFixed,    // [fixed]: not asked for
    kRefused,  // the kernel said no
    kIgnored,  // the kernel said yes, and nothing changed
};
inline constexpr std::size_t kTrialOutcomes = 5;
ENUM_VALUES(TrialOutcome, kTrialOutcomes)
const char* name(TrialOutcome outcome);  // "taken", "already so", "fixed", "refused", "ignored"

struct FeatureTrial {
    std::string name;
    bool wanted = false;
    TrialOutcome outcome = TrialOutcome::kTaken;
    std::string reason;                // of kRefused
    std::vector<FeatureChange> along;  // other features that changed with it
};
FIELDS(FeatureTrial, name, wanted, outcome, reason, along)

// Where a change of features is written down, so that it is undone whatever becomes of us.
enum class KeptBy : std::uint8_t {
    kCaller,
    kItsHost,  // in the journal of the agent's host, as apply()
};

// Where a device sits on the PCI bus, as sysfs has it: "0x8086".
struct PciIds {
    std::string vendor;
    std::string device;
    std::string subsystem_vendor;
    std::string subsystem_device;
    bool operator==(const PciIds&) const = default;
};
FIELDS(PciIds, vendor, device, subsystem_vendor, subsystem_device)

struct DeviceInfo {
    std::string name;
    std::string driver;
    std::string driver_version;
    std::string firmware;
    std::string bus;
    std::string srcversion;  // of the driver's module; empty: it has none, or is built in
    std::optional<PciIds> pci = std::nullopt;
    std::optional<PcieLink> pcie = std::nullopt;
    int numa_node = -1;
    frame::MacAddress mac;
    std::uint32_t mtu = 0;
    bool link_up = false;
    std::int64_t speed_mbps = -1;                                   // -1: the driver does not say
    std::vector<std::pair<std::string, std::uint64_t>> statistics;  // ethtool -S
};
FIELDS(DeviceInfo, name, driver, driver_version, firmware, bus, srcversion, pci, pcie, numa_node,
       mac, mtu, link_up, speed_mbps, statistics)

// Counter values by name: "Udp.InCsumErrors" (/proc/net/snmp), "TcpExt.ListenOverflows"
// (/proc/net/netstat), "Udp6InCsumErrors" (/proc/net/snmp6), "eth0.rx_packets"
// (/sys/class/net/*/statistics).
using CounterSet = std::map<std::string, std::uint64_t>;
// after - before, leaving out the unchanged ones.
CounterSet delta(const CounterSet& before, const CounterSet& after);

struct PingOptions {
    frame::IpAddress destination;
    unsigned count = 3;
    std::uint32_t payload_bytes = 56;
    milliseconds interval{50};
    milliseconds timeout{1000};  // for each
};
FIELDS(PingOptions, destination, count, payload_bytes, interval, timeout)
Status check(const PingOptions& options);

// Both queries from one connected UDP socket in one sendmmsg, or over one TCP connection, as glibc
// does it.
struct DnsLookupOptions {
    frame::Endpoint server;
    std::string name;
    bool tcp = false;
    unsigned attempts = 1;
    milliseconds timeout{5000};
};
FIELDS(DnsLookupOptions, server, name, tcp, attempts, timeout)

struct TransferOptions {
    frame::Endpoint server;
    std::uint64_t bytes = 1'000'000;
    // For the connection, and again for each stretch without progress; the whole may take ten times
    // as long.
    milliseconds timeout{5000};
};
FIELDS(TransferOptions, server, bytes, timeout)

struct ProbeResult {
    bool ok = false;
    std::string outcome;  // one clause: "2 answers in 0.4 ms", "connect timed out after 4000 ms"
    double milliseconds = 0;
    std::uint64_t sent = 0;  // echo requests, queries, bytes
    // Echo replies, answers, or bytes of a transfer that the other side has: all of them when the
    // digest of what arrived is right, none when it is wrong, and what its kernel acknowledged when
    // it came to no end.
    std::uint64_t received = 0;
};
FIELDS(ProbeResult, ok, outcome, milliseconds, sent, received)

// A DNS server on kernel sockets, UDP and TCP: every name gets `address` (A) or `address6` (AAAA).
struct DnsServerOptions {
    frame::Endpoint listen;
    frame::IpAddress address;
    frame::IpAddress address6;
    milliseconds delay{0};
};
FIELDS(DnsServerOptions, listen, address, address6, delay)

// Which side of a connection sends its FIN first: the TIME_WAIT is that side's.
enum class Closer : std::uint8_t {
    kServer,       // at once
    kClient,       // at once
    kServerAsked,  // the server, once the client has asked for something and it has answered
};
ENUM_VALUES(Closer, 3)

// A TCP server that only ends connections: at once, when the client has, or when it was asked. Its
// answer is its greeting once more.
struct ClosingServerOptions {
    frame::Endpoint listen;
    Closer closes_first = Closer::kServer;
    std::string greeting = "";  // what it says first
};
FIELDS(ClosingServerOptions, listen, closes_first, greeting)

// Connections to such a server, begun at a rate whatever becomes of those before.
struct ConnectsOptions {
    frame::Endpoint server;
    std::uint32_t count = 100;
    double per_second = 100;
    Closer closes_first = Closer::kServer;
    milliseconds timeout{10'000};  // for each, and for its end
    milliseconds asks_after{0};    // of kServerAsked: so long after the start of each
};
FIELDS(ConnectsOptions, server, count, per_second, closes_first, timeout, asks_after)
Status check(const ConnectsOptions& options);

struct Connect {
    std::int64_t start_ns = 0;  // CLOCK_REALTIME, just before connect(2)
    std::uint16_t port = 0;     // of the client; 0: it got none
    std::int32_t error = 0;     // errno; ETIMEDOUT: not connected in time
    double milliseconds = 0;    // from start to connected or failed
    std::string said = "";      // by a server that closes first: 64 bytes at most, printable
    std::int32_t end = 0;       // errno of its end; 0: the server closed it, or the client did
    bool operator==(const Connect&) const = default;
};
PACKED_FIELDS(Connect, start_ns, port, error, milliseconds, said, end)

struct ConnectsReport {
    std::vector<Connect> connects;  // in the order of their start
    double seconds = 0;             // all of it
    double worst_late_ms = 0;       // of a start, behind its moment
    std::uint64_t left_open = 0;    // connected, and the server did not close in time
};
FIELDS(ConnectsReport, connects, seconds, worst_late_ms, left_open)

// dnsmasq(8) as a DNS server on port 53 of these addresses; it reads no file of its host.
struct DnsmasqOptions {
    std::vector<frame::IpAddress> addresses;
    frame::Endpoint upstream;
    std::uint32_t cache_size = 0;
    std::uint32_t max_tcp_connections =
        0;                              // --max-tcp-connections, new in 2.90; 0: as it comes, 20
    std::uint32_t dns_forward_max = 0;  // 0: as it comes, 150
};
FIELDS(DnsmasqOptions, addresses, upstream, cache_size, max_tcp_connections, dns_forward_max)

// Of its processes for TCP.
struct DnsmasqWorkers {
    std::uint32_t in_use = 0;
    std::uint32_t highest = 0;
    std::uint32_t most = 0;  // that it starts
    bool operator==(const DnsmasqWorkers&) const = default;
};
FIELDS(DnsmasqWorkers, in_use, highest, most)

struct DnsmasqReport {
    std::string ended;                   // how, with its last line; empty: it runs
    std::uint32_t workers = 0;           // its child processes
    std::optional<DnsmasqWorkers> said;  // by itself
    std::vector<std::string> log;        // the last lines
};
FIELDS(DnsmasqReport, ended, workers, said, log)

// The queue of a listening TCP socket, looked at every 10 ms.
struct TcpQueue {
    struct Connection {
        frame::Endpoint peer;
        // CLOCK_REALTIME of the looks that saw it so; 0: none did.
        std::int64_t first_waiting_ns = 0;
        std::int64_t last_waiting_ns = 0;
        std::int64_t accepted_ns = 0;
        // For how long, at the longest, something that the server had sent stayed without an ACK.
        std::int64_t unacknowledged_ns = 0;
        bool operator==(const Connection&) const = default;
    };
    std::vector<Connection> connections;
    std::uint32_t most_waiting = 0;  // the socket's Recv-Q
    std::uint64_t looks = 0;
};
PACKED_FIELDS(TcpQueue::Connection, peer, first_waiting_ns, last_waiting_ns, accepted_ns,
              unacknowledged_ns)
FIELDS(TcpQueue, connections, most_waiting, looks)

// A forwarder that stands in for CoreDNS (forwarder.h).
struct ForwarderOptions {
    frame::Endpoint listen;  // UDP
    frame::Endpoint upstream;
    bool prefer_udp = false;     // UDP to the upstream, too
    std::uint32_t max_idle = 0;  // connections that are kept when they are idle; 0: all
};
FIELDS(ForwarderOptions, listen, upstream, prefer_udp, max_idle)

struct ForwarderTry {
    enum class Outcome : std::uint8_t {
        kOpen,      // not at its end when the forwarder was stopped
        kAnswered,  //
        kTimedOut,  // sent, and no answer in 2 s
        kGivenUp,   // the whole query's 5 s were over
        kRefused,   // refused, reset or closed
        kRubbish,   // what came is no DNS message
    };
    std::uint32_t query = 0;        // in the order in which they came
    std::uint16_t client_port = 0;  // that it came from
    std::uint16_t port = 0;         // of the connection
    std::int64_t start_ns = 0;      // CLOCK_REALTIME
    std::int64_t end_ns = 0;
    bool connected = false;
    Outcome outcome = Outcome::kOpen;
    bool operator==(const ForwarderTry&) const = default;
};
ENUM_VALUES(ForwarderTry::Outcome, 6)
PACKED_FIELDS(ForwarderTry, query, client_port, port, start_ns, end_ns, connected, outcome)

struct ForwarderReport {
    std::uint32_t queries = 0;
    std::uint32_t answered = 0;
    std::uint32_t servfail = 0;
    std::uint32_t dials = 0;
    std::uint32_t most_open = 0;  // connections at a time
    std::uint32_t idle = 0;       // of them idle in the end
    std::string refusal;          // the last one
    std::vector<ForwarderTry> tries;
};
FIELDS(ForwarderReport, queries, answered, servfail, dials, most_open, idle, refusal, tries)

// Lookups over UDP, each from a socket of its own.
struct DnsLoadOptions {
    enum class Asks : std::uint8_t {
        kA,
        kPairOneByOne,  // A, then AAAA
        kPairTogether,  // by two threads on one socket at the same moment
    };
    frame::Endpoint server;
    std::string name;
    bool own_names = false;  // each asks for one of its own below it (frame::sequence_name)
    Asks asks = Asks::kA;
    std::uint32_t lookups = 1;
    double per_second = 0;  // 0: at once
    milliseconds timeout{5000};
};
ENUM_VALUES(DnsLoadOptions::Asks, 3)
FIELDS(DnsLoadOptions, server, name, own_names, asks, lookups, per_second, timeout)
Status check(const DnsLoadOptions& options);

struct DnsLoadReport {
    struct Lookup {
        std::uint16_t port = 0;
        std::int64_t start_ns = 0;  // CLOCK_REALTIME
        std::uint8_t asked = 0;
        std::uint8_t answered = 0;
        std::uint8_t rcode = 0;   // of an answer that has one other than NOERROR
        std::int32_t error = 0;   // errno that an ICMP message brought
        double milliseconds = 0;  // to its last answer
        bool operator==(const Lookup&) const = default;
    };
    std::vector<Lookup> lookups;
};
PACKED_FIELDS(DnsLoadReport::Lookup, port, start_ns, asked, answered, rcode, error, milliseconds)
FIELDS(DnsLoadReport, lookups)

// Conntrack entries to keep; unset fields match everything.
struct ConntrackFilter {
    std::optional<std::uint8_t> protocol;
    std::optional<std::uint16_t> original_destination_port;
    bool births_only = false;  // of events: NEW alone
};
FIELDS(ConntrackFilter, protocol, original_destination_port, births_only)

// Entries of UDP flows that nobody sent, as they fill a table: to one port and those after it, in
// turn, from one address and those after it.
struct ConntrackFill {
    frame::IpAddress from;
    frame::Endpoint to;
    std::uint16_t ports = 1;
    std::uint32_t count = 0;
    bool assured = true;  // as if answered: early_drop leaves them alone
};
FIELDS(ConntrackFill, from, to, ports, count, assured)
Status check(const ConntrackFill& fill);

// What an agent says of itself and its host first.
struct Hello {
    std::string version;
    std::string build;   // build_id()
    std::string kernel;  // "Linux 6.1.0 x86_64"
    unsigned cpus = 1;   // online
    std::string copied;  // why our own program was copied to its host; empty: it was not
};

// What a path watch saw.
struct PathEvents {
    drops::DropSummary drops;
    std::string untraced;  // why `drops` holds nothing; empty when it does
    std::vector<drops::Outage> outages;
    std::int64_t began_ns = 0;  // CLOCK_REALTIME
    // That all CPUs of the host dropped from full backlogs (/proc/net/softnet_stat).
    std::uint64_t backlog = 0;
};
FIELDS(PathEvents, drops, untraced, outages, began_ns, backlog)

class Client {
  public:
    // Starts an agent in a named network namespace. It ends with the calling thread at the latest
    // (process::Child), so call this from one that lives as long as it should.
    static Result<std::unique_ptr<Client>> start_in_netns(const std::string& netns);
    // Starts `program` on another host over OpenSSH. Where there is none, or not this build of it,
    // our own program is copied there for as long as the agent runs (program_copy.h). Errors: no
    // way in (kNotPermitted, with ssh's words), a host that cannot run it (kNotSupported).
    static Result<std::unique_ptr<Client>> start_over_ssh(const process::SshHost& host,
                                                          const std::string& program);
    // Starts a program with an agent behind its standard input and output that answers within
    // `patience`: a virtual machine. It runs in that namespace and is killed with us.
    static Result<std::unique_ptr<Client>> start_behind(const std::vector<std::string>& argv,
                                                        const std::string& netns,
                                                        const std::string& who,
                                                        milliseconds patience);
    ~Client();

    const Hello& hello() const;
    const std::string& who() const;
    pid_t pid() const;
    bool alive() const;

    // Offloads and devices (ioctl SIOCETHTOOL).
    Result<std::vector<Feature>> features(const std::string& device);
    // Sets the named features (single names, or ethtool's group words such as "tx"); says what
    // changed.
    Result<std::vector<FeatureChange>> set_features(
        const std::string& device, const std::vector<std::pair<std::string, bool>>& wanted);
    // One feature, to see what the device makes of it: refusals and side effects are results.
    Result<FeatureTrial> try_feature(const std::string& device, const std::string& name, bool on,
                                     KeptBy kept = KeptBy::kCaller);
    // What is requested of features, whether or not the device can have them so (ethtool.h).
    Status request_features(const std::string& device,
                            const std::vector<std::pair<std::string, bool>>& wanted,
                            KeptBy kept = KeptBy::kCaller);
    Result<DeviceInfo> device(const std::string& device);
    // How it is set (fingerprint/nic.h), and what its host is (fingerprint/host.h).
    Result<std::vector<verdict::Fact>> nic_facts(const std::string& device);
    Result<std::vector<verdict::FactGroup>> host_facts();
    // Of the host and these devices of it.
    Result<std::vector<verdict::Fact>> serials(const std::vector<std::string>& devices);
    // "prog 12 (xdp_drop)"; empty: no XDP program is attached.
    Result<std::string> xdp_program(const std::string& device);

    // Frames with exact offload metadata through packet sockets (offload_frames.h).
    Result<SendReport> send_frames(const std::string& device,
                                   const std::vector<OffloadFrame>& frames);
    // Listens to what a device receives until stop_capture; one device at a time.
    Status start_capture(const CaptureOptions& options);
    Result<Capture> stop_capture();
    // The same through an ordinary UDP socket.
    Result<SendReport> send_datagrams(const DatagramOptions& options);

    // Counters of this namespace: /proc/net/{snmp,snmp6,netstat} and device statistics.
    Result<CounterSet> counters();
    // A sysctl of this namespace, by its name below /proc/sys with dots ("net.ipv4.ip_forward").
    Result<std::string> read_sysctl(const std::string& name);
    Status write_sysctl(const std::string& name, const std::string& value);
    // Receive packet steering of a device's first receive queue: a hexadecimal CPU mask, "0" for
    // off. Gives the former mask.
    Result<std::string> set_rps(const std::string& device, const std::string& cpu_mask);
    Result<std::string> rps(const std::string& device);

    // Changes the host, in this order, up to the first that fails. All of it stands in the journal of
    // the host and is undone by put_back(), and by the agent itself when its input ends, when it is
    // stopped, or when nothing was asked of it for 20 s. kUnavailable: another controller has the
    // host (named), or it was put back meanwhile.
    Status apply(const std::vector<HostChange>& changes);
    // Why the host lacks it, a sentence; empty: it is there.
    Result<std::string> lacks(const Needs& needs);
    // Undoes all of apply() and reads it back. Gives what was left, for others changed it since.
    Result<std::vector<std::string>> put_back();
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

    // Packets that the kernel drops in this namespace, and devices without a link: from the return
    // of start until stop; one watch at a time.
    Status start_path_watch();
    Result<PathEvents> stop_path_watch();

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
                                                         const std::string& why);
    Status greet(milliseconds patience);
    std::unique_ptr<Impl> impl_;
};

}  // namespace pathproof::agent
