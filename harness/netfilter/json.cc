#include <nlohmann/json.hpp>

#include "harness/netfilter/entry.h"
#include "harness/netfilter/names.h"

namespace pathproof::netfilter {
namespace {

using nlohmann::json;

json tuple_to(const Tuple& tuple) {
    json out{{"protocol", tuple.protocol},
             {"src", frame::to_string(tuple.source.address)},
             {"dst", frame::to_string(tuple.destination.address)}};
    if (tuple.icmp) {
        out["icmp"] = {
            {"type", tuple.icmp->type}, {"code", tuple.icmp->code}, {"id", tuple.icmp->id}};
    }
    if (tuple.icmp && tuple.source.port == 0 && tuple.destination.port == 0) {
        return out;
    }
    out["sport"] = tuple.source.port;
    out["dport"] = tuple.destination.port;
    return out;
}

template <typename T>
void put(json& out, const char* key, const std::optional<T>& value) {
    if (value) {
        out[key] = *value;
    }
}

void put_counters(json& out, const char* key, const std::optional<Counters>& counters) {
    if (counters) {
        out[key] = {{"packets", counters->packets}, {"bytes", counters->bytes}};
    }
}

template <typename List>
void put_unless_empty(json& out, const char* key, const List& list) {
    if (!list.empty()) {
        out[key] = list;
    }
}

}  // namespace

void to_json(json& out, const Entry& entry) {
    out = {
        {"id", entry.id},
        {"family", entry.original.source.address.family == frame::Family::kIpv4 ? "ipv4" : "ipv6"},
        {"protocol", protocol_name(entry.original.protocol)},
        {"original", tuple_to(entry.original)},
        {"reply", tuple_to(entry.reply)},
        {"status", entry.status},
        {"status_names", status_names(entry.status)},
        {"zone", entry.zone}};
    if (entry.zone_direction != ZoneDirection::kBoth) {
        out["zone_direction"] = name(entry.zone_direction);
    }
    if (entry.mark_reported || entry.mark != 0) {
        out["mark"] = entry.mark;
    }
    put(out, "timeout", entry.timeout_s);
    put_unless_empty(out, "state", entry.protocol_state);
    put_unless_empty(out, "helper", entry.helper);
    put_unless_empty(out, "labels", entry.labels);
    put_unless_empty(out, "secctx", entry.security_context);
    // The field is for people and scripts that do not count bits.
    if (is_hidden(entry)) {
        out["nat_clash"] = true;
    }
    put_counters(out, "original_counters", entry.original_counters);
    put_counters(out, "reply_counters", entry.reply_counters);
    put(out, "started_ns", entry.started_ns);
    put(out, "stopped_ns", entry.stopped_ns);
    put(out, "use", entry.use);
}

void to_json(json& out, const Event& event) {
    out = {{"event", name(event.kind)}, {"time_ns", event.time_ns}, {"entry", event.entry}};
    if (is_hidden(event.entry)) {
        out["nat_clash"] = true;
    }
    if (event.cause_port != 0) {
        out["cause_port"] = event.cause_port;
    }
    put(out, "kernel_time_ns", event.kernel_time_ns);
    if (event.missed) {
        out["missed"] = true;
    }
}

void to_json(json& out, const CpuStats& stats) {
    json counters = json::object();
    for (const auto& [counter, value] : stats.counters) {
        counters[counter] = value;
    }
    out = {{"cpu", stats.cpu}, {"counters", std::move(counters)}};
}

void from_json(const json& in, CpuStats& stats) {
    stats = CpuStats{};
    stats.cpu = in.at("cpu").get<std::uint32_t>();
    for (const auto& [counter, value] : in.at("counters").items()) {
        stats.counters.emplace_back(counter, value.get<std::uint64_t>());
    }
}

}  // namespace pathproof::netfilter
