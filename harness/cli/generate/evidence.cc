#include "harness/cli/generate/evidence.h"

#include <filesystem>

#include "dataplane/port/capture.h"

namespace pathproof::cli {
namespace {

namespace fs = std::filesystem;

// Ports count as LoadRun counts them: the sending one first.
std::uint16_t port_id(Lanes& lanes, std::size_t number) {
    return number == 0 ? lanes.sending().id() : lanes.receiving().id();
}

Status write_bad(const fs::path& file, const std::string& command, load::LoadRun& run, Lanes& lanes,
                 const std::vector<judge::KeptFrame>& bad) {
    std::vector<port::CapturedFrame> frames;
    for (const judge::KeptFrame& one : bad) {
        frames.push_back({.port_id = port_id(lanes, one.port),
                          .unix_ns = run.unix_start_ns() + one.time_ns,
                          .bytes = one.bytes});
    }
    return port::write_capture(file, command + ": received with a wrong checksum", frames);
}

Status write_anomaly(const fs::path& file, const std::string& command, load::LoadRun& run,
                     Lanes& lanes, const load::Anomaly& anomaly) {
    std::vector<port::CapturedFrame> frames;
    std::size_t place = 0;
    for (const load::RingFrame& one : anomaly.around) {
        place = one.number == anomaly.number ? frames.size() + 1 : place;
        frames.push_back({.port_id = lanes.receiving().id(),
                          .unix_ns = run.unix_start_ns() + one.at_ns,
                          .bytes = one.bytes});
    }
    const std::string about =
        fmt::format("{}: around a frame judged {}, number {} here, {} of all received", command,
                    name(anomaly.kind), place, anomaly.number + 1);
    return port::write_capture(file, about, frames);
}

}  // namespace

const char* name(load::Anomaly::Kind kind) {
    switch (kind) {
        case load::Anomaly::Kind::kBadChecksum:
            return "bad-checksum";
        case load::Anomaly::Kind::kDuplicate:
            return "duplicate";
        case load::Anomaly::Kind::kReordered:
            return "reordered";
        case load::Anomaly::Kind::kLate:
            return "late";
        case load::Anomaly::Kind::kWrongAnswer:
            return "wrong-answer";
    }
    return "unknown";
}

Result<std::vector<std::string>> write_evidence(const std::string& folder,
                                                const std::string& command, load::LoadRun& run,
                                                Lanes& lanes) {
    const std::vector<judge::KeptFrame> bad = run.take_bad_frames();
    const std::vector<load::Anomaly> anomalies = run.take_anomalies();
    std::vector<std::string> files;
    std::error_code wrong;
    fs::create_directories(folder, wrong);
    if (wrong) {
        return fail(ErrorCode::kBadInput, "--evidence {}: {}", folder, wrong.message());
    }
    // Those of an earlier run would be taken for this one's.
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, wrong)) {
        const std::string name = entry.path().filename();
        if (name == "bad.pcapng" || (name.starts_with("anomaly-") && name.ends_with(".pcapng"))) {
            fs::remove(entry.path(), wrong);
        }
    }
    const auto keep = [&](const std::string& file, const Status& written) {
        files.push_back(file);
        return written;
    };
    Status written;
    if (!bad.empty()) {
        const fs::path file = fs::path(folder) / "bad.pcapng";
        written = keep(file, write_bad(file, command, run, lanes, bad));
    }
    for (std::size_t n = 0; written && n < anomalies.size(); ++n) {
        const fs::path file =
            fs::path(folder) / fmt::format("anomaly-{}-{}.pcapng", n + 1, name(anomalies[n].kind));
        written = keep(file, write_anomaly(file, command, run, lanes, anomalies[n]));
    }
    if (!written) {
        return pass_on(written.error());
    }
    return files;
}

}  // namespace pathproof::cli
