#include "harness/agent/server.h"

#include <netinet/in.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <vector>

#include "dataplane/base/clock.h"
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
#include "harness/agent/offload_message.h"
#include "harness/agent/ping.h"
#include "harness/agent/program_copy.h"
#include "harness/agent/sysctl.h"
#include "harness/agent/tcp_queue.h"
#include "harness/agent/transfer.h"
#include "harness/drops/tracer.h"
#include "harness/fingerprint/host.h"
#include "harness/fingerprint/nic.h"
#include "harness/netfilter/create.h"
#include "harness/netfilter/dump.h"
#include "harness/netfilter/events.h"
#include "harness/netfilter/stats.h"
#include "harness/process/rpc.h"

namespace pathproof::agent {
namespace {

using nlohmann::json;
using process::RpcServer;

const std::string kOwnNamespace;  // the agent already lives in the namespace it speaks of

// A result as an answer; a Status answers null.
template <typename T>
Result<json> answer(const Result<T>& result) {
    if (!result) {
        return pass_on(result.error());
    }
    if constexpr (std::is_void_v<T>) {
        return json();
    } else {
        return json(*result);
    }
}

// Reads the options, then runs the probe with them.
template <typename Options, typename Probe>
Result<json> probe(const Result<Options>& options, const Probe& run) {
    if (!options) {
        return pass_on(options.error());
    }
    return answer(run(*options));
}

std::string text_of(const json& args, const char* key) {
    return args.at(key).get<std::string>();
}

void add_device_operations(RpcServer& server) {
    server.on("features",
              [](const json& args) { return answer(read_features(text_of(args, "device"))); });
    using Wanted = std::vector<std::pair<std::string, bool>>;
    server.on("set_features", [](const json& args) {
        return answer(change_features(text_of(args, "device"), args.at("features").get<Wanted>()));
    });
    server.on("request_features", [](const json& args) {
        return answer(request_features(text_of(args, "device"), args.at("features").get<Wanted>()));
    });
    server.on("try_feature", [](const json& args) {
        return answer(
            try_feature(text_of(args, "device"), text_of(args, "name"), args.at("on").get<bool>()));
    });
    server.on("xdp_program",
              [](const json& args) { return answer(read_xdp_program(text_of(args, "device"))); });
    server.on("nic_facts", [](const json& args) -> Result<json> {
        return facts_to_json(fingerprint::read_nic(text_of(args, "device")));
    });
    server.on("host_facts", [](const json&) -> Result<json> {
        return fact_groups_to_json(fingerprint::read_host());
    });
    server.on("device", [](const json& args) -> Result<json> {
        const DeviceInfo info = TRY(read_device(text_of(args, "device")));
        return device_to_json(info);
    });
}

void add_kernel_operations(RpcServer& server) {
    server.on("counters", [](const json&) { return answer(read_counters()); });
    server.on("clock", [](const json&) -> Result<json> { return json(realtime_ns()); });
    server.on("read_sysctl",
              [](const json& args) { return answer(read_sysctl(text_of(args, "name"))); });
    server.on("write_sysctl", [](const json& args) {
        return answer(write_sysctl(text_of(args, "name"), text_of(args, "value")));
    });
    server.on("set_rps", [](const json& args) {
        return answer(set_rps(text_of(args, "device"), text_of(args, "cpu_mask")));
    });
    server.on("rps", [](const json& args) { return answer(read_rps(text_of(args, "device"))); });
}

void add_probes(RpcServer& server) {
    server.on("ping", [](const json& args) { return probe(ping_from_json(args), ping); });
    server.on("dns_lookup",
              [](const json& args) { return probe(lookup_from_json(args), dns_lookup); });
    server.on("tcp_transfer",
              [](const json& args) { return probe(transfer_from_json(args), tcp_transfer); });
    server.on("tcp_connects", [](const json& args) -> Result<json> {
        const auto options = connects_from_json(args);
        const auto report = TRY(options ? tcp_connects(*options) : pass_on(options.error()));
        return connects_report_to_json(report);
    });
    server.on("dns_load", [](const json& args) -> Result<json> {
        const auto options = TRY(load_from_json(args));
        const auto report = TRY(dns_load(options));
        return load_report_to_json(report);
    });
}

// Frames with offload metadata, and at most one listener to a device.
class OffloadFrames {
  public:
    void add_operations(RpcServer& server) {
        server.on("send_frames", [](const json& args) { return send(args); });
        server.on("send_datagrams", [](const json& args) { return send_by_socket(args); });
        server.on("start_capture", [this](const json& args) { return start(args); });
        server.on("stop_capture", [this](const json&) { return stop(); });
    }

  private:
    static Result<json> report(const Result<SendReport>& sent) {
        if (!sent) {
            return pass_on(sent.error());
        }
        return send_report_to_json(*sent);
    }

    static Result<json> send(const json& args) {
        const auto frames = TRY(frames_from_json(args.at("frames")));
        return report(send_frames(text_of(args, "device"), frames));
    }

    static Result<json> send_by_socket(const json& args) {
        const auto options = TRY(datagrams_from_json(args));
        return report(send_datagrams(options));
    }

    Result<json> start(const json& args) {
        const auto options = TRY(capture_options_from_json(args));
        const std::lock_guard lock(mutex_);
        if (listener_) {
            return fail(ErrorCode::kUnavailable,
                        "a device is being listened to already; stop that first");
        }
        listener_ = TRY(FrameListener::start(options));
        return json();
    }

    Result<json> stop() {
        const std::lock_guard lock(mutex_);
        if (!listener_) {
            return fail(ErrorCode::kUnavailable,
                        "no device is being listened to; start that first");
        }
        const Capture capture = listener_->stop();
        listener_.reset();
        return capture_to_json(capture);
    }

    std::mutex mutex_;
    std::unique_ptr<FrameListener> listener_;
};

// The servers that run, until they are stopped or the agent ends.
class Servers {
  public:
    void add_operations(RpcServer& server) {
        server.on("start_dns_server", [this](const json& args) { return start_dns(args); });
        server.on("start_transfer_server",
                  [this](const json& args) { return start_transfer(args); });
        server.on("start_closing_server", [this](const json& args) { return start_closing(args); });
        server.on("stop_servers", [this](const json&) -> Result<json> {
            const std::lock_guard lock(mutex_);
            running_.clear();
            return json();
        });
    }

  private:
    Result<json> start_dns(const json& args) {
        const DnsServerOptions options = TRY(dns_server_from_json(args));
        return keep(DnsServer::start(options));
    }

    Result<json> start_transfer(const json& args) {
        const frame::Endpoint listen = TRY(frame::parse_endpoint(text_of(args, "listen")));
        return keep(TransferServer::start(listen));
    }

    Result<json> start_closing(const json& args) {
        const ClosingServerOptions options = TRY(closing_server_from_json(args));
        return keep(ClosingServer::start(options));
    }

    template <typename Server>
    Result<json> keep(Result<std::unique_ptr<Server>> server) {
        std::unique_ptr<Server> started = TRY(std::move(server));
        json answer{{"endpoint", frame::to_string(started->endpoint())}};
        const std::lock_guard lock(mutex_);
        running_.emplace_back(std::move(started));
        return answer;
    }

    std::mutex mutex_;
    std::vector<std::shared_ptr<void>> running_;
};

// What a DNS server and a forwarder before it are looked at with: one of each at a time.
class DnsPath {
  public:
    void add_operations(RpcServer& server) {
        server.on("start_dnsmasq", [this](const json& args) -> Result<json> {
            const auto options = TRY(dnsmasq_from_json(args));
            return start(dnsmasq_, Dnsmasq::start, options, "dnsmasq");
        });
        server.on("dnsmasq_report", [this](const json&) -> Result<json> {
            const std::lock_guard lock(mutex_);
            return dnsmasq_ ? Result<json>(dnsmasq_report_to_json(dnsmasq_->report()))
                            : fail(ErrorCode::kUnavailable, "no dnsmasq was started");
        });
        server.on("stop_dnsmasq", [this](const json&) -> Result<json> {
            const std::lock_guard lock(mutex_);
            dnsmasq_.reset();
            return json();
        });
        server.on("start_forwarder", [this](const json& args) -> Result<json> {
            const auto options = TRY(forwarder_from_json(args));
            return start(forwarder_, Forwarder::start, options, "a forwarder");
        });
        server.on("stop_forwarder", [this](const json&) {
            return stop(forwarder_, forwarder_report_to_json, "no forwarder was started");
        });
        server.on("start_tcp_queue", [this](const json& args) -> Result<json> {
            const auto listener = TRY(frame::parse_endpoint(text_of(args, "listener")));
            return start(queue_, TcpQueueWatch::start, listener, "a watch of a queue");
        });
        server.on("stop_tcp_queue", [this](const json&) {
            return stop(queue_, tcp_queue_to_json, "no queue is being watched");
        });
    }

  private:
    template <typename Part, typename Start, typename Options>
    Result<json> start(std::unique_ptr<Part>& part, const Start& start, const Options& options,
                       const char* what) {
        const std::lock_guard lock(mutex_);
        if (part) {
            return fail(ErrorCode::kUnavailable, "{} runs already; stop that first", what);
        }
        part = TRY(start(options));
        return json();
    }

    template <typename Part, typename ToJson>
    Result<json> stop(std::unique_ptr<Part>& part, const ToJson& to_json, const char* none) {
        const std::lock_guard lock(mutex_);
        if (!part) {
            return fail(ErrorCode::kUnavailable, "{}", none);
        }
        json report = to_json(part->stop());
        part.reset();
        return report;
    }

    std::mutex mutex_;
    std::unique_ptr<Dnsmasq> dnsmasq_;
    std::unique_ptr<Forwarder> forwarder_;
    std::unique_ptr<TcpQueueWatch> queue_;
};

netfilter::Filter to_filter(const ConntrackFilter& wanted) {
    netfilter::Filter filter;
    filter.protocol = wanted.protocol;
    filter.original.destination_port = wanted.original_destination_port;
    return filter;
}

// Conntrack of this namespace, and at most one listener to its events.
class Conntrack {
  public:
    void add_operations(RpcServer& server) {
        server.on("conntrack_dump", [](const json& args) {
            return answer(netfilter::dump_all(kOwnNamespace, to_filter(filter_from_json(args))));
        });
        server.on("conntrack_flush", [](const json&) -> Result<json> {
            const std::int64_t before = realtime_ns();
            TRY(netfilter::flush(kOwnNamespace));
            return json(before);
        });
        server.on("conntrack_table", [](const json&) -> Result<json> {
            const auto table = TRY(netfilter::table_size(kOwnNamespace));
            return json{table.entries, table.maximum};
        });
        server.on("conntrack_stats",
                  [](const json&) { return answer(netfilter::cpu_stats(kOwnNamespace)); });
        server.on("conntrack_fill", [](const json& args) { return fill(args); });
        server.on("start_events", [this](const json& args) { return start(args); });
        server.on("stop_events", [this](const json&) { return stop(); });
    }

  private:
    static Result<json> fill(const json& args) {
        constexpr std::uint32_t kPortsOfASource = 60'000;
        constexpr std::uint32_t kFirstSourcePort = 1024;
        const ConntrackFill what = TRY(fill_from_json(args));
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
        return json();
    }

    Result<json> start(const json& args) {
        const std::lock_guard lock(mutex_);
        if (listener_) {
            return fail(ErrorCode::kUnavailable,
                        "conntrack events are being listened to already; stop that first");
        }
        const ConntrackFilter wanted = filter_from_json(args);
        netfilter::ListenOptions options;
        options.filter = to_filter(wanted);
        births_only_ = wanted.births_only;
        listener_ = TRY(netfilter::EventListener::start(options));
        return json();
    }

    Result<json> stop() {
        const std::lock_guard lock(mutex_);
        if (!listener_) {
            return fail(ErrorCode::kUnavailable,
                        "conntrack events are not being listened to; start that first");
        }
        Result<netfilter::EventLog> log = listener_->stop();
        listener_.reset();
        if (!log) {
            return pass_on(log.error());
        }
        std::erase_if(log->events, [this](const netfilter::Event& event) {
            return births_only_ && event.kind != netfilter::EventKind::kNew;
        });
        return event_log_to_json(*log);
    }

    std::mutex mutex_;
    std::unique_ptr<netfilter::EventListener> listener_;
    bool births_only_ = false;
};

// Dropped packets and lost links of this namespace.
class PathWatch {
  public:
    void add_operations(RpcServer& server) {
        server.on("start_path_watch", [this](const json&) { return start(); });
        server.on("stop_path_watch", [this](const json&) { return stop(); });
    }

  private:
    Result<json> start() {
        const std::lock_guard lock(mutex_);
        if (links_) {
            return fail(ErrorCode::kUnavailable, "the path is being watched already");
        }
        links_ = TRY(drops::LinkWatch::start());
        began_ns_ = realtime_ns();
        backlog_ = backlog_drops();
        auto tracer = drops::DropTracer::start({});
        untraced_ = tracer ? "" : tracer.error().message;
        tracer_ = tracer ? std::move(*tracer) : nullptr;
        return json();
    }

    Result<json> stop() {
        const std::lock_guard lock(mutex_);
        if (!links_) {
            return fail(ErrorCode::kUnavailable, "the path is not being watched; start that first");
        }
        PathEvents seen{.untraced = untraced_, .began_ns = began_ns_};
        if (tracer_) {
            seen.drops = tracer_->stop();
            // Another namespace's drops explain nothing here.
            seen.untraced = seen.drops.scope_reason;
        }
        seen.outages = links_->stop();
        seen.backlog = backlog_drops() - backlog_;
        tracer_.reset();
        links_.reset();
        return path_events_to_json(seen);
    }

    std::mutex mutex_;
    std::unique_ptr<drops::DropTracer> tracer_;
    std::unique_ptr<drops::LinkWatch> links_;
    std::string untraced_;
    std::int64_t began_ns_ = 0;
    std::uint64_t backlog_ = 0;
};

}  // namespace

void serve(int input, int output, const std::function<void(process::RpcServer&)>& more) {
    Servers servers;
    DnsPath dns_path;
    Conntrack conntrack;
    OffloadFrames offload_frames;
    PathWatch path_watch;
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
    servers.add_operations(server);
    dns_path.add_operations(server);
    conntrack.add_operations(server);
    offload_frames.add_operations(server);
    path_watch.add_operations(server);
    if (more) {
        more(server);
    }
    server.serve(input, output);
}

}  // namespace pathproof::agent
