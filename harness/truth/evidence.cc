#include "harness/truth/evidence.h"

#include <cctype>

#include "dataplane/base/new_file.h"
#include "dataplane/judge/explain.h"

namespace pathproof::truth {
namespace {

// Prints offsets and bytes as text2pcap and od have them.
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

// The signature as a file name.
std::string file_name(const Defect& defect) {
    std::string name = defect.signature();
    for (char& letter : name) {
        const bool plain = std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '.' ||
                           letter == '_' || letter == '-';
        letter = plain ? letter : '-';
    }
    return name;
}

std::vector<const matrix::Specimen*> on_the_wire(const Defect& defect) {
    std::vector<const matrix::Specimen*> all;
    if (!defect.specimen.wire.empty()) {
        all.push_back(&defect.specimen);
    }
    for (const matrix::Specimen& specimen : defect.more) {
        all.push_back(&specimen);
    }
    return all;
}

// Every frame of the capture, field by field.
std::string explanation(const Defect& defect, const RowsRun& run) {
    std::string text = fmt::format("{}\nwhere: {}\n", defect.signature(), defect.where);
    std::size_t number = 0;
    for (const matrix::Specimen* specimen : on_the_wire(defect)) {
        const matrix::Row& row = run.row(defect.direction, specimen->label.row);
        judge::Evidence evidence{.tunnels = matrix::tunnels_of(row)};
        evidence.handed_over = specimen->handed;
        text += fmt::format("\nframe {}, of the row: {}\n{}", ++number, matrix::describe(row),
                            judge::explain(specimen->wire, evidence));
    }
    return text;
}

std::string page(const Defect& defect, const RowsRun& run) {
    std::string text = explanation(defect, run);
    if (defect.specimen.wire.empty()) {
        text += fmt::format("\nnothing came of the row: {}\n",
                            matrix::describe(run.row(defect.direction, defect.specimen.label.row)));
    }
    text += fmt::format("\non the wire\n{}\nintended\n{}", dump(defect.specimen.wire),
                        dump(defect.specimen.intended));
    if (!defect.specimen.handed.empty()) {
        text += fmt::format("\nhanded to the port\n{}", dump(defect.specimen.handed));
    }
    return text;
}

// A pcapng option has 16 bits for its length (draft-ietf-opsawg-pcapng section 3.5).
std::string as_comment(std::string text) {
    constexpr std::size_t kMost = 60'000;
    constexpr std::string_view kCut = "\n(cut short: the text file beside this one has it all)\n";
    if (text.size() > kMost) {
        text.resize(text.rfind('\n', kMost));
        text += kCut;
    }
    return text;
}

Status write_capture(tester::Client& tester, const std::string& path, const Defect& defect,
                     const RowsRun& run) {
    std::vector<matrix::FrameBytes> frames;
    for (const matrix::Specimen* specimen : on_the_wire(defect)) {
        frames.push_back(specimen->wire);
    }
    return tester.write_frames(path, as_comment(explanation(defect, run)), frames);
}

}  // namespace

std::vector<verdict::EvidenceFile> keep_evidence(tester::Client& tester, const Findings& findings,
                                                 const RowsRun& run, const std::string& out_dir) {
    std::vector<verdict::EvidenceFile> files;
    if (out_dir.empty()) {
        return files;
    }
    for (const Defect& defect : findings.defects) {
        if (defect.rows.empty() ||
            (defect.specimen.wire.empty() && defect.specimen.intended.empty())) {
            continue;
        }
        const std::string name = "evidence/" + file_name(defect);
        // A file that could not be written is missed, and reported, when the report is written.
        if (!on_the_wire(defect).empty()) {
            static_cast<void>(
                write_capture(tester, fmt::format("{}/{}.pcapng", out_dir, name), defect, run));
            files.push_back({name + ".pcapng",
                             fmt::format("frames that show {}, as they were on the wire (pcapng; "
                                         "tcpdump, Wireshark)",
                                         defect.signature())});
        }
        static_cast<void>(replace_file(fmt::format("{}/{}.txt", out_dir, name), page(defect, run)));
        files.push_back(
            {name + ".txt",
             "the same field by field; the first one's bytes, intended and handed over, "
             "as `text2pcap` reads them"});
    }
    return files;
}

}  // namespace pathproof::truth
