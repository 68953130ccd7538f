#include <fmt/ranges.h>

#include <initializer_list>
#include <nlohmann/json.hpp>

#include "harness/netfilter/entry.h"
#include "harness/netfilter/names.h"

namespace pathproof::netfilter {
namespace {

using nlohmann::json;

// nlohmann/json's from_json reports by its own exceptions; who reads foreign JSON catches
// json::exception.
[[noreturn]] void refuse(const json& context, const std::string& message) {
    throw json::other_error::create(599, message, &context);
}

frame::IpAddress address_from(const json& in, const char* key) {
    const auto address = frame::parse_ip(in.at(key).get<std::string>());
    if (!address) {
        refuse(in, fmt::format("'{}': {}", key, address.error().message));
    }
    return *address;
}

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

Tuple tuple_from(const json& in) {
    Tuple tuple;
    tuple.protocol = in.at("protocol").get<std::uint8_t>();
    tuple.source.address = address_from(in, "src");
    tuple.destination.address = address_from(in, "dst");
    tuple.source.port = in.value("sport", std::uint16_t{0});
    tuple.destination.port = in.value("dport", std::uint16_t{0});
    if (const auto icmp = in.find("icmp"); icmp != in.end()) {
        tuple.icmp =
            Tuple::Icmp{icmp->at("type").get<std::uint8_t>(), icmp->at("code").get<std::uint8_t>(),
                        icmp->at("id").get<std::uint16_t>()};
    }
    return tuple;
}

template <typename T>
void put(json& out, const char* key, const std::optional<T>& value) {
    if (value) {
        out[key] = *value;
    }
}

template <typename T>
void take(const json& in, const char* key, std::optional<T>& value) {
    if (const auto found = in.find(key); found != in.end()) {
        value = found->get<T>();
    }
}

void put_counters(json& out, const char* key, const std::optional<Counters>& counters) {
    if (counters) {
        out[key] = {{"packets", counters->packets}, {"bytes", counters->bytes}};
    }
}

void take_counters(const json& in, const char* key, std::optional<Counters>& counters) {
    if (const auto found = in.find(key); found != in.end()) {
        counters = Counters{found->at("packets").get<std::uint64_t>(),
                            found->at("bytes").get<std::uint64_t>()};
    }
}

// The one of these that the text names.
template <typename Enum>
Enum named(const json& in, const char* key, const std::string& text,
           std::initializer_list<Enum> all) {
    std::vector<std::string_view> names;
    for (const Enum each : all) {
        if (text == name(each)) {
            return each;
        }
        names.emplace_back(name(each));
    }
    refuse(in, fmt::format("'{}': '{}' is none of {}", key, text, fmt::join(names, ", ")));
}

void put_words(json& out, const Entry& entry) {
    if (!entry.protocol_state.empty()) {
        out["state"] = entry.protocol_state;
    }
    if (!entry.helper.empty()) {
        out["helper"] = entry.helper;
    }
    if (!entry.labels.empty()) {
        out["labels"] = entry.labels;
    }
    if (!entry.security_context.empty()) {
        out["secctx"] = entry.security_context;
    }
    // For people and scripts that do not count bits; status itself is what is read back.
    if (entry.status & status::kNatClash) {
        out["nat_clash"] = true;
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
    put_words(out, entry);
    put_counters(out, "original_counters", entry.original_counters);
    put_counters(out, "reply_counters", entry.reply_counters);
    put(out, "started_ns", entry.started_ns);
    put(out, "stopped_ns", entry.stopped_ns);
    put(out, "use", entry.use);
}

void from_json(const json& in, Entry& entry) {
    entry = Entry{};
    entry.id = in.at("id").get<std::uint32_t>();
    entry.original = tuple_from(in.at("original"));
    entry.reply = tuple_from(in.at("reply"));
    entry.status = in.at("status").get<std::uint32_t>();
    entry.zone = in.value("zone", std::uint16_t{0});
    entry.zone_direction =
        named(in, "zone_direction", in.value("zone_direction", std::string("both")),
              {ZoneDirection::kBoth, ZoneDirection::kOriginal, ZoneDirection::kReply});
    entry.mark_reported = in.contains("mark");
    entry.mark = in.value("mark", std::uint32_t{0});
    take(in, "timeout", entry.timeout_s);
    entry.protocol_state = in.value("state", std::string());
    entry.helper = in.value("helper", std::string());
    entry.labels = in.value("labels", std::vector<std::uint8_t>());
    entry.security_context = in.value("secctx", std::string());
    take_counters(in, "original_counters", entry.original_counters);
    take_counters(in, "reply_counters", entry.reply_counters);
    take(in, "started_ns", entry.started_ns);
    take(in, "stopped_ns", entry.stopped_ns);
    take(in, "use", entry.use);
}

void to_json(json& out, const Event& event) {
    out = {{"event", name(event.kind)}, {"time_ns", event.time_ns}, {"entry", event.entry}};
    if (event.entry.status & status::kNatClash) {
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

void from_json(const json& in, Event& event) {
    event = Event{};
    event.kind = named(in, "event", in.at("event").get<std::string>(),
                       {EventKind::kNew, EventKind::kUpdate, EventKind::kDestroy});
    event.time_ns = in.at("time_ns").get<std::int64_t>();
    event.entry = in.at("entry").get<Entry>();
    event.cause_port = in.value("cause_port", std::uint32_t{0});
    take(in, "kernel_time_ns", event.kernel_time_ns);
    event.missed = in.value("missed", false);
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
