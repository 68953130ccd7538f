#include "harness/agent/offload_message.h"

#include <nlohmann/json.hpp>

#include "harness/agent/feature_trial.h"
#include "harness/agent/message.h"

namespace pathproof::agent {
namespace {

using nlohmann::json;
using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t kMostFrameBytes = 65'550;
constexpr std::uint32_t kMostCapturedFrames = 1'000'000;

std::string to_hex(const Bytes& bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    text.reserve(2 * bytes.size());
    for (const std::uint8_t byte : bytes) {
        text += kDigits[byte >> 4];
        text += kDigits[byte & 15];
    }
    return text;
}

int digit(char letter) {
    if (letter >= '0' && letter <= '9') {
        return letter - '0';
    }
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

Result<Bytes> bytes_of(const json& in) {
    const std::string& text = in.get_ref<const std::string&>();
    if (text.size() % 2 != 0 || text.size() / 2 > kMostFrameBytes) {
        return fail(ErrorCode::kBadInput,
                    "{} hexadecimal digits are no frame; it has two a byte and at most {} bytes",
                    text.size(), kMostFrameBytes);
    }
    Bytes bytes(text.size() / 2);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const int high = digit(text[2 * i]);
        const int low = digit(text[2 * i + 1]);
        if (high < 0 || low < 0) {
            return fail(ErrorCode::kBadInput, "'{}' are no two lower-case hexadecimal digits",
                        text.substr(2 * i, 2));
        }
        bytes[i] = static_cast<std::uint8_t>(high << 4 | low);
    }
    return bytes;
}

json request_to_json(const frame::VirtioRequest& request) {
    return {{"flags", request.flags},           {"gso_type", request.gso_type},
            {"hdr_len", request.header_length}, {"gso_size", request.gso_size},
            {"csum_start", request.csum_start}, {"csum_offset", request.csum_offset}};
}

frame::VirtioRequest request_from_json(const json& in) {
    return {.flags = in.at("flags").get<std::uint8_t>(),
            .gso_type = in.at("gso_type").get<std::uint8_t>(),
            .header_length = in.at("hdr_len").get<std::uint16_t>(),
            .gso_size = in.at("gso_size").get<std::uint16_t>(),
            .csum_start = in.at("csum_start").get<std::uint16_t>(),
            .csum_offset = in.at("csum_offset").get<std::uint16_t>()};
}

json captured_to_json(const CapturedFrame& frame) {
    json out = {{"bytes", to_hex(frame.bytes)},
                {"length", frame.length},
                {"checksum", name(frame.checksum)}};
    if (frame.request.any()) {
        out["request"] = request_to_json(frame.request);
    }
    if (frame.vlan_tci) {
        out["vlan_tci"] = *frame.vlan_tci;
    }
    if (frame.time_ns != 0) {
        out["time_ns"] = frame.time_ns;
    }
    return out;
}

Result<CapturedFrame> captured_from_json(const json& in) {
    Bytes bytes = TRY(bytes_of(in.at("bytes")));
    CapturedFrame frame{.bytes = std::move(bytes), .length = in.at("length").get<std::uint32_t>()};
    const auto word = in.at("checksum").get<std::string>();
    const auto status = checksum_status(word);
    if (!status) {
        return fail(ErrorCode::kBadInput, "'{}' is no checksum status", word);
    }
    frame.checksum = *status;
    if (in.contains("request")) {
        frame.request = request_from_json(in.at("request"));
    }
    if (in.contains("vlan_tci")) {
        frame.vlan_tci = in.at("vlan_tci").get<std::uint16_t>();
    }
    frame.time_ns = in.value("time_ns", std::int64_t{0});
    return frame;
}

}  // namespace

void to_json(json& out, const FeatureTrial& trial) {
    out = {{"name", trial.name},
           {"wanted", trial.wanted},
           {"outcome", name(trial.outcome)},
           {"reason", trial.reason},
           {"along", trial.along}};
}

void from_json(const json& in, FeatureTrial& trial) {
    trial.name = in.at("name").get<std::string>();
    trial.wanted = in.at("wanted").get<bool>();
    trial.outcome =
        trial_outcome(in.at("outcome").get<std::string>()).value_or(TrialOutcome::kIgnored);
    trial.reason = in.at("reason").get<std::string>();
    trial.along = in.at("along").get<std::vector<FeatureChange>>();
}

json send_report_to_json(const SendReport& report) {
    json refusals = json::array();
    for (const SendRefusal& refusal : report.refusals) {
        refusals.push_back({{"index", refusal.index}, {"reason", refusal.reason}});
    }
    return {{"sent", report.sent}, {"refusals", std::move(refusals)}};
}

SendReport send_report_from_json(const json& in) {
    SendReport report{.sent = in.at("sent").get<std::uint64_t>()};
    for (const json& refusal : in.at("refusals")) {
        report.refusals.push_back(
            {refusal.at("index").get<std::uint32_t>(), refusal.at("reason").get<std::string>()});
    }
    return report;
}

json capture_to_json(const Capture& capture) {
    json frames = json::array();
    for (const CapturedFrame& frame : capture.frames) {
        frames.push_back(captured_to_json(frame));
    }
    return {{"frames", std::move(frames)},
            {"left_out", capture.left_out},
            {"dropped", capture.dropped}};
}

Result<Capture> capture_from_json(const json& in) {
    Capture capture{.left_out = in.at("left_out").get<std::uint64_t>(),
                    .dropped = in.at("dropped").get<std::uint64_t>()};
    for (const json& each : in.at("frames")) {
        CapturedFrame frame = TRY(captured_from_json(each));
        capture.frames.push_back(std::move(frame));
    }
    return capture;
}

json frames_to_json(const std::vector<OffloadFrame>& frames) {
    json out = json::array();
    for (const OffloadFrame& frame : frames) {
        json each = {{"bytes", to_hex(frame.bytes)}};
        if (frame.request != frame::VirtioRequest{}) {
            each["request"] = request_to_json(frame.request);
        }
        out.push_back(std::move(each));
    }
    return out;
}

Result<std::vector<OffloadFrame>> frames_from_json(const json& in) {
    std::vector<OffloadFrame> frames;
    for (const json& each : in) {
        Bytes bytes = TRY(bytes_of(each.at("bytes")));
        OffloadFrame frame{.bytes = std::move(bytes)};
        if (each.contains("request")) {
            frame.request = request_from_json(each.at("request"));
        }
        frames.push_back(std::move(frame));
    }
    return frames;
}

json capture_options_to_json(const CaptureOptions& options) {
    return {{"device", options.device},
            {"most_frames", options.most_frames},
            {"most_bytes", options.most_bytes},
            {"tcp_flags", options.tcp_flags}};
}

Result<CaptureOptions> capture_options_from_json(const json& in) {
    CaptureOptions options{.device = in.at("device").get<std::string>(),
                           .most_frames = in.at("most_frames").get<std::uint32_t>(),
                           .most_bytes = in.at("most_bytes").get<std::uint32_t>(),
                           .tcp_flags = in.at("tcp_flags").get<std::uint8_t>()};
    if (options.most_frames > kMostCapturedFrames || options.most_bytes > kMostFrameBytes) {
        return fail(ErrorCode::kBadInput, "{} frames of {} bytes are over {} of {}",
                    options.most_frames, options.most_bytes, kMostCapturedFrames, kMostFrameBytes);
    }
    return options;
}

json datagrams_to_json(const DatagramOptions& options) {
    json payloads = json::array();
    for (const Bytes& payload : options.payloads) {
        payloads.push_back(to_hex(payload));
    }
    return {{"source", frame::to_string(options.source)},
            {"destination", frame::to_string(options.destination)},
            {"payloads", std::move(payloads)},
            {"source_ports", options.source_ports},
            {"segment_bytes", options.segment_bytes},
            {"checksum", options.checksum == UdpChecksum::kOn}};
}

Result<DatagramOptions> datagrams_from_json(const json& in) {
    const auto source = frame::parse_endpoint(in.at("source").get<std::string>());
    const auto destination = frame::parse_endpoint(in.at("destination").get<std::string>());
    if (!source || !destination) {
        return pass_on(source ? destination.error() : source.error());
    }
    DatagramOptions options{
        .source = *source,
        .destination = *destination,
        .source_ports = in.at("source_ports").get<std::uint16_t>(),
        .segment_bytes = in.at("segment_bytes").get<std::uint16_t>(),
        .checksum = in.at("checksum").get<bool>() ? UdpChecksum::kOn : UdpChecksum::kOff};
    for (const json& each : in.at("payloads")) {
        Bytes payload = TRY(bytes_of(each));
        options.payloads.push_back(std::move(payload));
    }
    return options;
}

}  // namespace pathproof::agent
