#include "harness/agent/server.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <vector>

#include "dataplane/base/clock.h"
#include "dataplane/base/file.h"
#include "harness/agent/connects.h"
#include "harness/agent/counters.h"
#include "harness/agent/dns_client.h"
#include "harness/agent/dns_load.h"
#include "harness/agent/dns_server.h"
#include "harness/agent/dnsmasq.h"
#include "harness/agent/ethtool.h"
#include "harness/agent/feature_trial.h"
#include "harness/agent/forwarder.h"
#include "harness/agent/interfaces.h"
#include "harness/agent/message.h"
#include "harness/agent/offload_frames.h"
#include "harness/agent/ping.h"
#include "harness/agent/program_copy.h"
#include "harness/agent/sysctl.h"
#include "harness/agent/tcp_queue.h"
#include "harness/agent/transfer.h"
#include "harness/drops/tracer.h"
#include "harness/fingerprint/host.h"
#include "harness/fingerprint/nic.h"
#include "harness/message/calls.h"
#include "harness/netfilter/create.h"
#include "harness/netfilter/dump.h"
#include "harness/netfilter/events.h"
#include "harness/netfilter/stats.h"

namespace pathproof::agent {
namespace {

using message::operation;
using nlohmann::json;
using process::RpcServer;

const std::string kOwnNamespace;  // the agent already lives in the namespace it speaks of

void add_device_operations(RpcServer& server) {
    server.on("features", operation(read_features));
    server.on("set_features", operation(change_features));
    server.on("request_features", operation(request_features));
    server.on("try_feature", operation(try_feature));
    server.on("xdp_program", operation(read_xdp_program));
    server.on("device", operation(read_device));
    server.on("nic_facts",
              operation([](const std::string& device) { return fingerprint::read_nic(device); }));
    server.on("host_facts", operation([] { return fingerprint::read_host(); }));
    server.on("serials", operation([](const std::vector<std::string>& devices) {
                  return fingerprint::read_serials(devices);
              }));
}

void add_kernel_operations(RpcServer& server) {
    server.on("counters", operation([] { return read_counters(); }));
    server.on("clock", operation(realtime_ns));
    server.on("read_sysctl", operation(read_sysctl));
    server.on("write_sysctl", operation(write_sysctl));
    server.on("set_rps", operation([](const std::string& device, const std::string& cpu_mask) {
                  return set_rps(device, cpu_mask);
              }));
    server.on("rps", operation([](const std::string& device) { return read_rps(device); }));
}

void add_probes(RpcServer& server) {
    server.on("ping", operation(ping));
    server.on("dns_lookup", operation(dns_lookup));
    server.on("tcp_transfer", operation(tcp_transfer));
    server.on("tcp_connects", operation(tcp_connects));
    server.on("dns_load", operation(dns_load));
    server.on("send_frames", operation(send_frames));
    server.on("send_datagrams", operation(send_datagrams));
}

// The servers that run, until they are stopped or the agent ends.
class Servers {
  public:
    void add_operations(RpcServer& server) {
        server.on("start_dns_server", operation([this](const DnsServerOptions& options) {
                      return keep(DnsServer::start(options));
                  }));
        server.on("start_transfer_server", operation([this](const frame::Endpoint& listen) {
                      return keep(TransferServer::start(listen));
                  }));
        server.on("start_closing_server", operation([this](const ClosingServerOptions& options) {
                      return keep(ClosingServer::start(options));
                  }));
        server.on("stop_servers", operation([this]() -> Status {
                      const std::lock_guard lock(mutex_);
                      running_.clear();
                      return {};
                  }));
    }

  private:
    template <typename Server>
    Status keep(Result<std::unique_ptr<Server>> server) {
        std::unique_ptr<Server> started = TRY(std::move(server));
        const std::lock_guard lock(mutex_);
        running_.emplace_back(std::move(started));
        return {};
    }

    std::mutex mutex_;
    std::vector<std::shared_ptr<void>> running_;
};

template <typename T>
Result<T> as_result(T value) {
    return value;
}
template <typename T>
Result<T> as_result(Result<T> result) {
    return result;
}

// One of a kind at a time, from its start to its stop.
template <typename Part>
class One {
  public:
    explicit One(const char* what) : what_(what) {}

    template <typename... Options>
    Status start(const Options&... options) {
        const std::lock_guard lock(mutex_);
        if (part_) {
            return fail(ErrorCode::kUnavailable, "{} runs already; stop that first", what_);
        }
        part_ = TRY(Part::start(options...));
        return {};
    }

    template <typename Look>
    auto look(const Look& look) -> decltype(as_result(look(std::declval<Part&>()))) {
        const std::lock_guard lock(mutex_);
        if (!part_) {
            return fail(ErrorCode::kUnavailable, "{} does not run; start that first", what_);
        }
        return as_result(look(*part_));
    }

    // Gives what it saw.
    auto stop() {
        return look([this](Part& part) {
            auto seen = part.stop();
            part_.reset();
            return seen;
        });
    }

    void drop() {
        const std::lock_guard lock(mutex_);
        part_.reset();
    }

  private:
    const char* const what_;
    std::mutex mutex_;
    std::unique_ptr<Part> part_;
};

netfilter::Filter to_filter(const ConntrackFilter& wanted) {
    netfilter::Filter filter;
    filter.protocol = wanted.protocol;
    filter.original.destination_port = wanted.original_destination_port;
    return filter;
}

Status fill(const ConntrackFill& what) {
    constexpr std::uint32_t kPortsOfASource = 60'000;
    constexpr std::uint32_t kFirstSourcePort = 1024;
    TRY(netfilter::create_entries(kOwnNamespace, what.count, [&](std::uint64_t index) {
        const auto i = static_cast<std::uint32_t>(index);
        netfilter::NewEntry entry{
            .source = {what.from.plus(i / kPortsOfASource),
                       static_cast<std::uint16_t>(kFirstSourcePort + i % kPortsOfASource)},
            .destination = {what.to.address,
                            static_cast<std::uint16_t>(what.to.port + i % what.ports)},
            .protocol = IPPROTO_UDP,
            .translated = {},
            .timeout_s = 600};
        entry.status = what.assured ? netfilter::kAnsweredFlow : entry.status;
        return entry;
    }));
    return {};
}

// When the table was about to be emptied.
Result<std::int64_t> flush() {
    const std::int64_t before = realtime_ns();
    TRY(netfilter::flush(kOwnNamespace));
    return before;
}

void add_conntrack(RpcServer& server) {
    server.on("conntrack_dump", operation([](const ConntrackFilter& wanted) {
                  return netfilter::dump_all(kOwnNamespace, to_filter(wanted));
              }));
    server.on("conntrack_flush", operation(flush));
    server.on("conntrack_table", operation([] { return netfilter::table_size(kOwnNamespace); }));
    server.on("conntrack_stats", operation([] { return netfilter::cpu_stats(kOwnNamespace); }));
    server.on("conntrack_fill", operation(fill));
}

// Conntrack's events.
class Events {
  public:
    static Result<std::unique_ptr<Events>> start(const ConntrackFilter& wanted) {
        netfilter::ListenOptions options;
        options.filter = to_filter(wanted);
        auto events = std::make_unique<Events>();
        events->listener_ = TRY(netfilter::EventListener::start(options));
        events->births_only_ = wanted.births_only;
        return events;
    }

    Result<netfilter::EventLog> stop() {
        netfilter::EventLog log = TRY(listener_->stop());
        std::erase_if(log.events, [this](const netfilter::Event& event) {
            return births_only_ && event.kind != netfilter::EventKind::kNew;
        });
        return log;
    }

  private:
    std::unique_ptr<netfilter::EventListener> listener_;
    bool births_only_ = false;
};

// Dropped packets and lost links of this namespace.
class PathWatch {
  public:
    static Result<std::unique_ptr<PathWatch>> start() {
        auto watch = std::make_unique<PathWatch>();
        watch->links_ = TRY(drops::LinkWatch::start());
        watch->began_ns_ = realtime_ns();
        watch->backlog_ = backlog_drops();
        auto tracer = drops::DropTracer::start({});
        watch->untraced_ = tracer ? "" : tracer.error().message;
        watch->tracer_ = tracer ? std::move(*tracer) : nullptr;
        return watch;
    }

    PathEvents stop() {
        PathEvents seen{.untraced = untraced_, .began_ns = began_ns_};
        if (tracer_) {
            seen.drops = tracer_->stop();
            // Another namespace's drops explain nothing here.
            seen.untraced = seen.drops.scope_reason;
        }
        seen.outages = links_->stop();
        seen.backlog = backlog_drops() - backlog_;
        return seen;
    }

  private:
    std::unique_ptr<drops::DropTracer> tracer_;
    std::unique_ptr<drops::LinkWatch> links_;
    std::string untraced_;
    std::int64_t began_ns_ = 0;
    std::uint64_t backlog_ = 0;
};

// What is started and looked at later.
struct Watches {
    One<FrameListener> frames{"a capture"};
    One<Dnsmasq> dnsmasq{"dnsmasq"};
    One<Forwarder> forwarder{"a forwarder"};
    One<TcpQueueWatch> queue{"a watch of a queue"};
    One<Events> events{"a listener to conntrack's events"};
    One<PathWatch> path{"a watch of the path"};

    void add_operations(RpcServer& server) {
        add<CaptureOptions>(server, "capture", frames);
        add<ForwarderOptions>(server, "forwarder", forwarder);
        add<frame::Endpoint>(server, "tcp_queue", queue);
        add<ConntrackFilter>(server, "events", events);
        add(server, "path_watch", path);
        server.on("start_dnsmasq", operation([this](const DnsmasqOptions& options) {
                      return dnsmasq.start(options);
                  }));
        server.on("dnsmasq_report", operation([this] {
                      return dnsmasq.look([](Dnsmasq& one) { return one.report(); });
                  }));
        server.on("stop_dnsmasq", operation([this]() -> Status {
                      dnsmasq.drop();
                      return {};
                  }));
    }

  private:
    template <typename... Options, typename Part>
    static void add(RpcServer& server, const std::string& name, One<Part>& one) {
        server.on("start_" + name,
                  operation([&one](const Options&... options) { return one.start(options...); }));
        server.on("stop_" + name, operation([&one] { return one.stop(); }));
    }
};

}  // namespace

void serve(int input, int output, const std::function<void(process::RpcServer&)>& more) {
    // While no socket asks for packets' times the kernel makes none, and it begins to only some time
    // after one asks (net_enable_timestamp): the first frames of a capture would have the time at
    // which they are read.
    const Fd asks_for_times(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const int on = 1;
    setsockopt(asks_for_times.get(), SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
    Servers servers;
    Watches watches;
    RpcServer server;
    // The first question of a client: is this an agent, and does it run at all?
    server.on("hello", [](const json&) -> Result<json> {
        utsname host{};
        uname(&host);
        return json{{"agent", "pathproof"},
                    {"pid", getpid()},
                    {"version", PATHPROOF_VERSION},
                    {"build", build_id()},
                    {"cpus", sysconf(_SC_NPROCESSORS_ONLN)},
                    {"kernel", fmt::format("{} {} {}", host.sysname, host.release, host.machine)}};
    });
    add_device_operations(server);
    add_kernel_operations(server);
    add_probes(server);
    add_conntrack(server);
    servers.add_operations(server);
    watches.add_operations(server);
    if (more) {
        more(server);
    }
    server.serve(input, output);
}

}  // namespace pathproof::agent
