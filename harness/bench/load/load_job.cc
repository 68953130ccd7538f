#include "harness/bench/load/load_job.h"

#include <nlohmann/json.hpp>

#include "harness/process/json_text.h"

namespace pathproof::bench {

using nlohmann::json;

NLOHMANN_JSON_SERIALIZE_ENUM(LoadJob::Back, {{LoadJob::Back::kNothing, "nothing"},
                                             {LoadJob::Back::kFrames, "frames"},
                                             {LoadJob::Back::kAnswers, "answers"}})
NLOHMANN_JSON_SERIALIZE_ENUM(LoadJob::Envelope, {{LoadJob::Envelope::kNone, "none"},
                                                 {LoadJob::Envelope::kVxlan, "vxlan"}})
NLOHMANN_JSON_SERIALIZE_ENUM(LoadJob::Traffic, {{LoadJob::Traffic::kDnsPairs, "dns"},
                                                {LoadJob::Traffic::kUdp, "udp"}})
NLOHMANN_JSON_SERIALIZE_ENUM(LoadJob::UdpChecksum, {{LoadJob::UdpChecksum::kValid, "valid"},
                                                    {LoadJob::UdpChecksum::kZero, "zero"}})
NLOHMANN_JSON_SERIALIZE_ENUM(LoadJob::Rate, {{LoadJob::Rate::kAsFastAsItGoes, "max"},
                                             {LoadJob::Rate::kWithoutLoss, "without loss"},
                                             {LoadJob::Rate::kClosedLoop, "closed loop"}})

namespace {

json read(const std::string& text) {
    json value = process::json_or_null(text);
    return value.is_object() ? value : json();
}

// Addresses are texts in JSON; both must be there and be what they say.
Status read_addresses(const json& value, LoadJob& job) {
    const auto word = [&](const char* key) { return value.value(key, std::string()); };
    const auto source_mac = frame::parse_mac(word("source_mac"));
    const auto destination_mac = frame::parse_mac(word("destination_mac"));
    const auto source = frame::parse_ip(word("source"));
    const auto destination = frame::parse_ip(word("destination"));
    if (!source_mac || !destination_mac || !source || !destination) {
        return fail(ErrorCode::kBadInput, "the job's addresses cannot be read");
    }
    job.source_mac = *source_mac;
    job.destination_mac = *destination_mac;
    job.source = *source;
    job.destination = *destination;
    return {};
}

std::optional<double> read_bound(const json& value) {
    const auto bound = value.find("loss_bound");
    return bound != value.end() && bound->is_number() ? std::optional(bound->get<double>())
                                                      : std::nullopt;
}

}  // namespace

LoadJob load_job() {
    LoadJob job;
    job.source_mac = {{0x02, 0, 0, 0xbe, 0, 1}};
    job.destination_mac = {{0x02, 0, 0, 0xbe, 0, 2}};
    job.source = frame::IpAddress::v4(0xc612'0001);       // 198.18.0.1
    job.destination = frame::IpAddress::v4(0xc613'0001);  // 198.19.0.1
    return job;
}

std::string to_text(const LoadJob& job) {
    return process::to_text(json{{"vdev", job.vdev},
                                 {"control_cpu", job.control_cpu},
                                 {"cpus", job.cpus},
                                 {"back", job.back},
                                 {"envelope", job.envelope},
                                 {"traffic", job.traffic},
                                 {"checksum", job.checksum},
                                 {"source_mac", frame::to_string(job.source_mac)},
                                 {"destination_mac", frame::to_string(job.destination_mac)},
                                 {"source", frame::to_string(job.source)},
                                 {"destination", frame::to_string(job.destination)},
                                 {"flows", job.flows},
                                 {"frame_bytes", job.frame_bytes},
                                 {"seconds", job.seconds},
                                 {"rate", job.rate},
                                 {"outstanding", job.outstanding}});
}

Result<LoadJob> parse_load_job(const std::string& text) {
    const json value = read(text);
    if (!value.is_object()) {
        return fail(ErrorCode::kBadInput, "the job is no JSON object: '{}'", text.substr(0, 100));
    }
    LoadJob job;
    TRY(read_addresses(value, job));
    job.vdev = value.value("vdev", job.vdev);
    job.control_cpu = value.value("control_cpu", job.control_cpu);
    job.cpus = value.value("cpus", job.cpus);
    job.back = value.value("back", job.back);
    job.envelope = value.value("envelope", job.envelope);
    job.traffic = value.value("traffic", job.traffic);
    job.checksum = value.value("checksum", job.checksum);
    job.flows = value.value("flows", job.flows);
    job.frame_bytes = value.value("frame_bytes", job.frame_bytes);
    job.seconds = value.value("seconds", job.seconds);
    job.rate = value.value("rate", job.rate);
    job.outstanding = value.value("outstanding", job.outstanding);
    if (job.cpus.empty() || !(job.seconds > 0)) {
        return fail(ErrorCode::kBadInput, "the job needs a CPU and a time");
    }
    return job;
}

std::string to_text(const LoadOutcome& outcome) {
    return process::to_text(
        json{{"sent", outcome.sent},
             {"unique", outcome.unique},
             {"missing", outcome.missing},
             {"bad_checksums", outcome.bad_checksums},
             {"cycles_per_frame", outcome.cycles_per_frame},
             {"frames_per_second", outcome.frames_per_second},
             {"seconds", outcome.seconds},
             {"frame_bytes", outcome.frame_bytes},
             {"tsc_mhz", outcome.tsc_mhz},
             {"loss_bound", outcome.loss_bound ? json(*outcome.loss_bound) : json()},
             {"objections", outcome.objections}});
}

Result<LoadOutcome> parse_load_outcome(const std::string& text) {
    const json value = read(text);
    if (!value.is_object() || !value.contains("sent")) {
        return fail(ErrorCode::kFailed, "the worker did not say what it did: '{}'",
                    text.substr(0, 200));
    }
    return LoadOutcome{.sent = value.value("sent", std::uint64_t{0}),
                       .unique = value.value("unique", std::uint64_t{0}),
                       .missing = value.value("missing", std::uint64_t{0}),
                       .bad_checksums = value.value("bad_checksums", std::uint64_t{0}),
                       .cycles_per_frame = value.value("cycles_per_frame", 0.0),
                       .frames_per_second = value.value("frames_per_second", 0.0),
                       .seconds = value.value("seconds", 0.0),
                       .frame_bytes = value.value("frame_bytes", 0.0),
                       .tsc_mhz = value.value("tsc_mhz", 0.0),
                       .loss_bound = read_bound(value),
                       .objections = value.value("objections", std::vector<std::string>{})};
}

}  // namespace pathproof::bench
