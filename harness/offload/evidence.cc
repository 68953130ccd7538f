#include "harness/offload/evidence.h"

#include <cctype>
#include <fstream>

#include "dataplane/judge/explain.h"

namespace pathproof::offload {
namespace {

// Offset and bytes, as text2pcap and od have it.
std::string dump(const matrix::FrameBytes& frame) {
    constexpr std::size_t kPerLine = 16;
    std::string text;
    for (std::size_t at = 0; at < frame.size(); ++at) {
        if (at % kPerLine == 0) {
            text += fmt::format("{}{:06x}", at == 0 ? "" : "\n", at);
        }
        text += fmt::format(" {:02x}", frame[at]);
    }
    return text.empty() ? "(no frame)\n" : text + "\n";
}

std::string file_name(const Defect& defect) {
    std::string name = defect.signature();
    for (char& letter : name) {
        const bool plain = std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '.' ||
                           letter == '_' || letter == '-';
        letter = plain ? letter : '-';
    }
    return name + ".txt";
}

std::string page(const Defect& defect, const matrix::Row& row) {
    const frame::TunnelPorts tunnels = matrix::tunnels_of(row);
    std::string text = fmt::format("{}\nwhere: {}\nrow of the matrix: {}\nframe {} of the row\n\n",
                                   defect.signature(), defect.where, matrix::describe(row),
                                   defect.specimen.label.index);
    if (!defect.specimen.wire.empty()) {
        text += judge::explain(defect.specimen.wire, judge::Evidence{.tunnels = tunnels});
    }
    text += fmt::format("\non the wire\n{}\nintended\n{}", dump(defect.specimen.wire),
                        dump(defect.specimen.intended));
    if (!defect.specimen.handed.empty()) {
        text += fmt::format("\nhanded to the port\n{}", dump(defect.specimen.handed));
    }
    return text;
}

}  // namespace

Result<std::vector<verdict::EvidenceFile>> keep_evidence(const Findings& findings,
                                                         const RowsRun& run,
                                                         const std::string& out_dir) {
    std::vector<verdict::EvidenceFile> files;
    if (out_dir.empty()) {
        return files;
    }
    for (const Defect& defect : findings.defects) {
        if (defect.rows.empty() ||
            (defect.specimen.wire.empty() && defect.specimen.intended.empty())) {
            continue;
        }
        const bool sent = defect.direction == profile::Direction::kTransmit;
        const std::size_t row = defect.specimen.label.row;
        const std::string name = "evidence/" + file_name(defect);
        std::ofstream file(out_dir + "/" + name);
        file << page(defect, sent ? run.sent.at(row).row : run.received.at(row).row);
        if (!file.flush()) {
            return fail(ErrorCode::kFailed, "{}/{} cannot be written", out_dir, name);
        }
        files.push_back(
            {name, "the first frame that shows " + defect.signature() +
                       ": field by field, and as bytes that `text2pcap` turns into a capture"});
    }
    return files;
}

}  // namespace pathproof::offload
