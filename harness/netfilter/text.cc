#include "harness/netfilter/text.h"

#include <arpa/inet.h>
#include <fmt/ranges.h>
#include <libnetfilter_conntrack/libnetfilter_conntrack.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include "harness/netfilter/digits.h"
#include "harness/netfilter/names.h"

namespace pathproof::netfilter {
namespace {

constexpr std::uint32_t kHardwareOffload = 1u << 15;
constexpr std::uint64_t kNanosecondsInSecond = 1'000'000'000;

// Gathers a line in a buffer of its own, because appending many small pieces to a string costs more
// than writing them.
class Pen {
  public:
    explicit Pen(std::string& out) : out_(out) {}
    Pen(const Pen&) = delete;
    Pen& operator=(const Pen&) = delete;
    ~Pen() { flush(); }

    Pen& text(std::string_view text) {
        if (text.size() > kRoom) {
            flush();
            out_ += text;
            return *this;
        }
        make_room(text.size());
        std::memcpy(at_, text.data(), text.size());
        at_ += text.size();
        return *this;
    }
    Pen& number(std::uint64_t number) {
        make_room(kLongestNumber);
        at_ = put_number(at_, number);
        return *this;
    }
    Pen& ip(const frame::IpAddress& address) {
        make_room(kLongestIp);
        at_ = put_ip(at_, address);
        return *this;
    }
    Pen& blank() {
        make_room(1);
        *at_++ = ' ';
        return *this;
    }
    // "name=4 "
    Pen& field(std::string_view name, std::uint64_t value) {
        return text(name).number(value).blank();
    }
    // "name=word "
    Pen& field(std::string_view name, std::string_view value) {
        return text(name).text(value).blank();
    }
    // Takes back the last letter.
    void back() {
        flush();
        out_.pop_back();
    }

  private:
    static constexpr std::size_t kRoom = 512;

    void make_room(std::size_t bytes) {
        if (static_cast<std::size_t>(buffer_ + kRoom - at_) < bytes) {
            flush();
        }
    }
    void flush() {
        out_.append(buffer_, at_);
        at_ = buffer_;
    }

    std::string& out_;
    char* at_ = buffer_;
    char buffer_[kRoom];
};

// "udp      17 ": the word in eight columns.
void append_word(Pen& pen, std::string_view word, unsigned number) {
    constexpr std::string_view kBlanks = "        ";
    pen.text(word).text(kBlanks.substr(std::min(word.size(), kBlanks.size())));
    pen.blank().number(number).blank();
}

void append_ports(Pen& pen, const Tuple& tuple) {
    if (has_ports(tuple.protocol)) {
        pen.field("sport=", tuple.source.port);
        pen.field("dport=", tuple.destination.port);
    } else if (tuple.protocol == IPPROTO_GRE) {
        pen.field("srckey=", fmt::format("0x{:x}", tuple.source.port));
        pen.field("dstkey=", fmt::format("0x{:x}", tuple.destination.port));
    } else if (tuple.protocol == IPPROTO_ICMP || tuple.protocol == IPPROTO_ICMPV6) {
        const Tuple::Icmp icmp = tuple.icmp.value_or(Tuple::Icmp{});
        pen.field("type=", icmp.type);
        pen.field("code=", icmp.code);
        pen.field("id=", icmp.id);
    }
}

void append_tuple(Pen& pen, const Tuple& tuple) {
    pen.text("src=").ip(tuple.source.address).text(" dst=").ip(tuple.destination.address).blank();
    append_ports(pen, tuple);
}

void append_counters(Pen& pen, const std::optional<Counters>& counters) {
    if (counters) {
        pen.field("packets=", counters->packets);
        pen.field("bytes=", counters->bytes);
    }
}

void append_original(Pen& pen, const Entry& entry) {
    append_tuple(pen, entry.original);
    if (entry.zone_direction == ZoneDirection::kOriginal) {
        pen.field("zone-orig=", entry.zone);
    }
    append_counters(pen, entry.original_counters);
    if (entry.status != 0 && !seen_reply(entry)) {
        pen.text("[UNREPLIED] ");
    }
}

void append_reply(Pen& pen, const Entry& entry) {
    append_tuple(pen, entry.reply);
    if (entry.zone_direction == ZoneDirection::kReply) {
        pen.field("zone-reply=", entry.zone);
    }
    append_counters(pen, entry.reply_counters);
    if (entry.status & kHardwareOffload) {
        pen.text("[HW_OFFLOAD] ");
    } else if (entry.status & status::kOffload) {
        pen.text("[OFFLOAD] ");
    } else if (entry.status & status::kAssured) {
        pen.text("[ASSURED] ");
    }
}

// "[start=Sat Nov 21 03:52:05 2026] ", local time as ctime(3) has it.
void append_time(Pen& pen, std::string_view name, std::uint64_t time_ns) {
    const std::time_t seconds = static_cast<std::time_t>(time_ns / kNanosecondsInSecond);
    std::tm parts{};
    char text[64];
    localtime_r(&seconds, &parts);
    const std::size_t length = std::strftime(text, sizeof text, "%a %b %e %H:%M:%S %Y", &parts);
    pen.text("[").text(name).text("=").text({text, length}).text("] ");
}

void append_times(Pen& pen, const Entry& entry, const TextOptions& options) {
    if (entry.started_ns) {
        const std::uint64_t until = entry.stopped_ns
                                        ? *entry.stopped_ns / kNanosecondsInSecond
                                        : static_cast<std::uint64_t>(std::time(nullptr));
        pen.field("delta-time=", until - *entry.started_ns / kNanosecondsInSecond);
    }
    if (options.kernel_times == TextOptions::Column::kHide) {
        return;
    }
    if (entry.started_ns) {
        append_time(pen, "start", *entry.started_ns);
    }
    if (entry.stopped_ns) {
        append_time(pen, "stop", *entry.stopped_ns);
    }
}

// Bits without a name are left out; when none has one the line says "labels " as conntrack(8) does.
void append_labels(Pen& pen, const Entry& entry, const LabelNames* labels) {
    if (labels == nullptr || entry.labels.empty()) {
        return;
    }
    std::string words;
    for (unsigned bit = 0; bit < entry.labels.size() * 8; ++bit) {
        if ((entry.labels[bit / 8] >> bit % 8 & 1) == 0) {
            continue;
        }
        if (const std::string name = labels->name(bit); !name.empty()) {
            words += words.empty() ? '=' : ',';
            words += name;
        }
    }
    pen.text("labels").text(words).blank();
}

void append_status(Pen& pen, std::uint32_t bits) {
    pen.field("status=", fmt::format("{}", fmt::join(status_names(bits), ",")));
}

void append_rest(Pen& pen, const Entry& entry, const TextOptions& options) {
    if (entry.mark_reported) {
        pen.field("mark=", entry.mark);
    }
    if (!entry.security_context.empty()) {
        pen.field("secctx=", entry.security_context);
    }
    if (entry.zone_direction == ZoneDirection::kBoth && entry.zone != 0) {
        pen.field("zone=", entry.zone);
    }
    append_times(pen, entry, options);
    if (!entry.helper.empty()) {
        pen.field("helper=", entry.helper);
    }
    if (entry.use) {
        pen.field("use=", *entry.use);
    }
    if (options.id == TextOptions::Column::kShow) {
        pen.field("id=", entry.id);
    }
    append_labels(pen, entry, options.labels.get());
    if (options.status_names == TextOptions::Column::kShow) {
        append_status(pen, entry.status);
    }
}

// "    [NEW] ": right-aligned in nine columns.
void append_kind(std::string& out, EventKind kind) {
    fmt::format_to(std::back_inserter(out), "{:>9} ", fmt::format("[{}]", name(kind)));
}

void append_clash_mark(std::string& out, const Entry& entry, const TextOptions& options) {
    if (options.nat_clash == TextOptions::Column::kShow && is_hidden(entry)) {
        out += " [NAT_CLASH]";
    }
}

// The columns of an entry, without a blank at the end.
void append_columns(std::string& out, const Entry& entry, const TextOptions& options) {
    Pen pen(out);
    if (options.layer3 == TextOptions::Column::kShow) {
        const bool ipv4 = entry.original.source.address.family == frame::Family::kIpv4;
        append_word(pen, ipv4 ? "ipv4" : "ipv6", ipv4 ? AF_INET : AF_INET6);
    }
    append_word(pen, protocol_name(entry.original.protocol), entry.original.protocol);
    if (entry.timeout_s) {
        pen.number(*entry.timeout_s).blank();
    }
    if (!entry.protocol_state.empty()) {
        pen.text(entry.protocol_state).blank();
    }
    append_original(pen, entry);
    append_reply(pen, entry);
    append_rest(pen, entry, options);
    pen.back();
}

}  // namespace

void LabelNames::Free::operator()(nfct_labelmap* map) const {
    nfct_labelmap_destroy(map);
}

Result<LabelNames> LabelNames::load(const std::string& path) {
    LabelNames names(nfct_labelmap_new(path.empty() ? nullptr : path.c_str()));
    if (!names.map_) {
        return fail(ErrorCode::kNotFound, "read connection label names from {}: {}",
                    path.empty() ? nfct_labels_get_path() : path, std::strerror(errno));
    }
    return names;
}

std::string LabelNames::name(unsigned bit) const {
    const char* text = nfct_labelmap_get_name(map_.get(), bit);
    return text == nullptr ? std::string() : std::string(text);
}

std::optional<unsigned> LabelNames::bit(const std::string& name) const {
    const int found = nfct_labelmap_get_bit(map_.get(), name.c_str());
    return found < 0 ? std::nullopt : std::optional(static_cast<unsigned>(found));
}

std::string seconds_text(std::int64_t time_ns) {
    return fmt::format("{}.{:06}", time_ns / 1'000'000'000, time_ns % 1'000'000'000 / 1000);
}

void append_text(std::string& out, const Entry& entry, const TextOptions& options) {
    append_columns(out, entry, options);
    append_clash_mark(out, entry, options);
}

void append_text(std::string& out, const Event& event, const TextOptions& options) {
    if (options.event_time == TextOptions::Column::kShow) {
        fmt::format_to(std::back_inserter(out), "[{}]\t", seconds_text(event.time_ns));
    }
    append_kind(out, event.kind);
    append_columns(out, event.entry, options);
    if (event.cause_port != 0) {
        fmt::format_to(std::back_inserter(out), " [USERSPACE] portid={}", event.cause_port);
    }
    append_clash_mark(out, event.entry, options);
    if (event.missed) {
        out += " [MISSED]";
    }
}

void append_text(std::string& out, const CpuStats& stats) {
    fmt::format_to(std::back_inserter(out), "cpu={:<4}\t", stats.cpu);
    for (const auto& [counter, value] : stats.counters) {
        fmt::format_to(std::back_inserter(out), "{}={} ", counter, value);
    }
}

}  // namespace pathproof::netfilter
