#include "harness/cli/generate/evidence.h"

#include <filesystem>

#include "dataplane/base/new_file.h"
#include "dataplane/port/capture.h"

namespace pathproof::cli {
namespace {

namespace fs = std::filesystem;

// Ports count as LoadRun counts them: the sending one first.
std::uint16_t port_id(Lanes& lanes, std::size_t number) {
    return number == 0 ? lanes.sending().id() : lanes.receiving().id();
}

port::CapturedFrame captured(const std::vector<std::uint8_t>& bytes, std::size_t port,
                             std::int64_t at_ns, const load::LoadRun& run, Lanes& lanes) {
    return {
        .port_id = port_id(lanes, port), .unix_ns = run.unix_start_ns() + at_ns, .bytes = bytes};
}

// Each frame behind the one that left, where that is known; the comments say which is which, and
// how they differ.
std::vector<port::CapturedFrame> before_and_after(const std::vector<load::WrongFrame>& frames,
                                                  const load::LoadRun& run, Lanes& lanes) {
    std::vector<port::CapturedFrame> both;
    for (std::size_t n = 0; n < frames.size(); ++n) {
        const load::WrongFrame& one = frames[n];
        port::CapturedFrame after = captured(one.bytes, one.port, one.at_ns, run, lanes);
        after.comment = fmt::format("frame {} as it was received: {}", n + 1, one.what);
        if (!one.sent.empty()) {
            port::CapturedFrame before = captured(one.sent, 0, one.at_ns, run, lanes);
            before.direction = port::CaptureDirection::kOut;
            before.comment = fmt::format("frame {} as it was sent (its time stamp is zero)", n + 1);
            both.push_back(std::move(before));
        }
        both.push_back(std::move(after));
    }
    return both;
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
        case load::Anomaly::Kind::kBadChecksum: return "bad-checksum";
        case load::Anomaly::Kind::kMalformed: return "malformed";
        case load::Anomaly::Kind::kDuplicate: return "duplicate";
        case load::Anomaly::Kind::kReordered: return "reordered";
        case load::Anomaly::Kind::kLate: return "late";
        case load::Anomaly::Kind::kWrongAnswer: return "wrong-answer";
    }
    return "unknown";
}

Result<std::vector<std::string>> write_evidence(const std::string& folder,
                                                const GenerateResult& result, load::LoadRun& run,
                                                Lanes& lanes) {
    std::vector<port::CapturedFrame> bad;
    for (const judge::KeptFrame& one : result.bad_frames) {
        bad.push_back(captured(one.bytes, one.port, one.time_ns, run, lanes));
    }
    const auto wrong_frames = before_and_after(result.wrong_frames, run, lanes);
    const auto damaged = before_and_after(result.damaged_frames, run, lanes);
    const std::vector<load::Anomaly> anomalies = run.take_anomalies();
    std::vector<std::string> files;
    TRY(doing(make_folders(folder, ErrorCode::kBadInput), "--evidence {}", folder));
    // Files of an earlier run would be taken for this one's.
    std::error_code wrong;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, wrong)) {
        const std::string name = entry.path().filename();
        if (name == "bad.pcapng" || name == "wrong.pcapng" || name == "damaged.pcapng" ||
            name == "quotes.pcapng" ||
            (name.starts_with("anomaly-") && name.ends_with(".pcapng"))) {
            fs::remove(entry.path(), wrong);
        }
    }
    const auto next_file = [&](const std::string& name) {
        return files.emplace_back((fs::path(folder) / name).string());
    };
    if (!bad.empty()) {
        TRY(port::write_capture(next_file("bad.pcapng"),
                                result.repeat + ": received with a wrong checksum", bad));
    }
    if (!wrong_frames.empty()) {
        TRY(port::write_capture(next_file("wrong.pcapng"),
                                result.repeat + ": not as they have to be", wrong_frames));
    }
    if (!damaged.empty()) {
        TRY(port::write_capture(
            next_file("damaged.pcapng"),
            result.repeat + ": a checksum is wrong, or they cannot be read to their end", damaged));
    }
    std::vector<port::CapturedFrame> quotes;
    for (const load::IcmpErrorCount& count : result.report.intake.icmp_errors) {
        if (!count.frame.empty()) {
            quotes.push_back(captured(count.frame, count.kind.port, 0, run, lanes));
            quotes.back().comment = fmt::format("{}, {} times: quotes {}", load::text(count.kind),
                                                count.wrong_quotes, count.example);
        }
    }
    if (!quotes.empty()) {
        TRY(port::write_capture(next_file("quotes.pcapng"),
                                result.repeat + ": ICMP errors that quote another packet", quotes));
    }
    for (std::size_t n = 0; n < anomalies.size(); ++n) {
        const std::string file =
            next_file(fmt::format("anomaly-{}-{}.pcapng", n + 1, name(anomalies[n].kind)));
        TRY(write_anomaly(file, result.repeat, run, lanes, anomalies[n]));
    }
    return files;
}

}  // namespace pathproof::cli
