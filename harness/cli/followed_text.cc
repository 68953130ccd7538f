#include "harness/cli/followed_text.h"

#include <fmt/ranges.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "dataplane/base/new_file.h"
#include "dataplane/base/plural.h"
#include "dataplane/follow/evidence_file.h"
#include "dataplane/judge/explain.h"

namespace pathproof::cli {
namespace {

using follow::Class;
using nlohmann::json;

constexpr std::array kDirections = {"in -> out", "out -> in"};

std::string names_of(follow::Transformations set) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < follow::kTransformations; ++i) {
        if (set.test(i)) {
            names.push_back(follow::name(static_cast<follow::Transformation>(i)));
        }
    }
    return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

// The other way is shown where any frame went it.
bool shows(const follow::Totals& totals) {
    return totals.sent + totals.received != 0;
}

const char* class_name(const follow::Finding& finding) {
    return finding.unknown ? "never went in" : follow::name(finding.fault);
}

std::string frame_text(const follow::FrameName& frame,
                       const std::vector<follow::FileFacts>& files) {
    const std::string file =
        std::filesystem::path(files[std::min<std::size_t>(frame.file, files.size() - 1)].path)
            .filename();
    return fmt::format("{}#{}", file, frame.number);
}

// Frames that a description does not hold for, one of each sort.
std::string exceptions(const follow::Description& description,
                       const std::vector<follow::FileFacts>& sent_files) {
    std::string text;
    if (description.right_that_fit != 0) {
        text += fmt::format("      right all the same: {}{}\n",
                            frame_text(description.counter_example, sent_files),
                            description.right_that_fit > 1 ? ", ..." : "");
    }
    if (description.left_out.number != 0 && description.separates()) {
        text += fmt::format("      wrong without it: {}{}\n",
                            frame_text(description.left_out, sent_files),
                            description.wrong - description.wrong_that_fit > 1 ? ", ..." : "");
    }
    return text;
}

std::string finding_text(const follow::Finding& finding, const follow::Followed& followed) {
    const bool forward = finding.direction == follow::Direction::kForward;
    const auto& sent_files = forward ? followed.in : followed.out;
    const auto& received_files = forward ? followed.out : followed.in;
    std::string text = fmt::format("! {} {}: {}{}\n", finding.count, class_name(finding),
                                   finding.one_text ? "" : "for example ", finding.text);
    text += fmt::format("    {}, {} to {} bytes: {}{}\n", fmt::join(finding.kinds, ", "),
                        finding.shortest, finding.longest, fmt::join(finding.flows, ", "),
                        finding.more_flows ? ", and others" : "");
    if (!finding.located.empty()) {
        text += fmt::format("    located: {}\n", finding.located);
    }
    text += exceptions(finding.description, sent_files);
    for (const std::string& line : finding.confirmed) {
        text += fmt::format("    made for it: {}\n", line);
    }
    std::vector<std::string> frames;
    for (const follow::Specimen& specimen : finding.specimens) {
        std::string one;
        if (specimen.in.number != 0) {
            one = frame_text(specimen.in, sent_files);
        }
        if (specimen.out.number != 0) {
            one += (one.empty() ? "" : " -> ") + frame_text(specimen.out, received_files);
        }
        frames.push_back(one);
    }
    if (!frames.empty()) {
        text += fmt::format("    frames: {}{}\n", fmt::join(frames, ", "),
                            finding.count > frames.size() ? ", ..." : "");
    }
    return text;
}

std::string table(const follow::Followed& followed) {
    std::vector<std::size_t> columns = {0};
    if (shows(followed.outcome.totals[1])) {
        columns.push_back(1);
    }
    std::string text = fmt::format("{:<24}", "frames");
    for (const std::size_t column : columns) {
        text += fmt::format("{:>14}", kDirections[column]);
    }
    text += "\n";
    const auto row = [&](const std::string& name, auto value, bool always) {
        std::string line = fmt::format("{:<24}", name);
        bool any = always;
        for (const std::size_t column : columns) {
            const std::uint64_t count = value(followed.outcome.totals[column]);
            any = any || count != 0;
            line += fmt::format("{:>14}", count);
        }
        text += any ? line + "\n" : "";
    };
    using follow::Totals;
    row(
        "sent", [](const Totals& totals) { return totals.sent; }, true);
    for (std::size_t i = 0; i < follow::kClasses; ++i) {
        const auto one = static_cast<Class>(i);
        row(
            fmt::format("  {}", follow::name(one)),
            [&](const Totals& totals) { return totals.of(one); },
            one == Class::kAsSent || is_fault(one));
    }
    row(
        "received", [](const Totals& totals) { return totals.received; }, true);
    row(
        "  carry what was sent", [](const Totals& totals) { return totals.arrived; }, true);
    row(
        "  copies", [](const Totals& totals) { return totals.copies; }, true);
    row(
        "  never went in", [](const Totals& totals) { return totals.unknown; }, true);
    row(
        "  of the device itself", [](const Totals& totals) { return totals.local; }, false);
    row(
        "  outside the time", [](const Totals& totals) { return totals.outside; }, false);
    row(
        "  cannot be told", [](const Totals& totals) { return totals.untold; }, false);
    return text;
}

std::string file_line(const char* side, const follow::FileFacts& file) {
    return fmt::format("{:<4} {}: {}, {:.3f} s{}\n", side, file.path, plural(file.frames, "frame"),
                       static_cast<double>(file.last_ns - file.first_ns) / 1e9,
                       file.dropped == 0 ? "" : fmt::format(", {} dropped", file.dropped));
}

json json_of_totals(const follow::Totals& totals) {
    json classes = json::object();
    for (std::size_t i = 0; i < follow::kClasses; ++i) {
        classes[follow::word(static_cast<Class>(i))] = totals.classes[i];
    }
    return {{"sent", totals.sent},       {"classes", classes},        {"received", totals.received},
            {"arrived", totals.arrived}, {"copies", totals.copies},   {"unknown", totals.unknown},
            {"local", totals.local},     {"outside", totals.outside}, {"untold", totals.untold}};
}

// Null: nothing separates them.
json json_of_description(const follow::Description& description) {
    if (!description.separates()) {
        return nullptr;
    }
    json rules = json::array();
    for (const follow::Rule& rule : description.rules) {
        json conditions = json::array();
        for (std::size_t i = 0; i < rule.conditions.size(); ++i) {
            json alike = json::array();
            for (const follow::Condition& other : rule.alike[i]) {
                alike.push_back(other.text);
            }
            conditions.push_back({{"text", rule.conditions[i].text}, {"same_frames", alike}});
        }
        rules.push_back(conditions);
    }
    const auto frame = [](const follow::FrameName& name) {
        return name.number == 0 ? json(nullptr) : json{{"file", name.file}, {"frame", name.number}};
    };
    return {{"text", description.text},
            {"rules", rules},
            {"wrong", description.wrong},
            {"wrong_that_fit", description.wrong_that_fit},
            {"right", description.right},
            {"right_that_fit", description.right_that_fit},
            {"counter_example", frame(description.counter_example)},
            {"left_out", frame(description.left_out)}};
}

json json_of_finding(const follow::Finding& finding) {
    json frames = json::array();
    for (const follow::Specimen& specimen : finding.specimens) {
        json one = {{"text", specimen.text}};
        if (specimen.in.number != 0) {
            one["in"] = {{"file", specimen.in.file}, {"frame", specimen.in.number}};
        }
        if (specimen.out.number != 0) {
            one["out"] = {{"file", specimen.out.file}, {"frame", specimen.out.number}};
        }
        frames.push_back(one);
    }
    return {
        {"direction", finding.direction == follow::Direction::kForward ? "forward" : "backward"},
        {"class", finding.unknown ? "unknown" : follow::word(finding.fault)},
        {"text", finding.text},
        {"one_text", finding.one_text},
        {"count", finding.count},
        {"kinds", finding.kinds},
        {"flows", finding.flows},
        {"more_flows", finding.more_flows},
        {"shortest", finding.shortest},
        {"longest", finding.longest},
        {"located", finding.located},
        {"description", json_of_description(finding.description)},
        {"made_for_it", finding.confirmed},
        {"frames", frames}};
}

json json_of_files(const std::vector<follow::FileFacts>& files) {
    json all = json::array();
    for (const follow::FileFacts& file : files) {
        json one = {{"path", file.path},         {"frames", file.frames},   {"bytes", file.bytes},
                    {"first_ns", file.first_ns}, {"last_ns", file.last_ns}, {"dropped", nullptr}};
        if (file.counts_drops) {
            one["dropped"] = file.dropped;
        }
        all.push_back(one);
    }
    return all;
}

}  // namespace

std::string transformation_names() {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < follow::kTransformations; ++i) {
        names.push_back(follow::name(static_cast<follow::Transformation>(i)));
    }
    return fmt::format("{}", fmt::join(names, ", "));
}

Result<follow::Transformations> allowed_of(const std::vector<std::string>& words) {
    follow::Transformations allowed;
    for (const std::string& word : words) {
        const auto one = follow::transformation(word);
        if (!one) {
            return fail(ErrorCode::kBadInput, "--allow {}: there are {}", word,
                        transformation_names());
        }
        allowed.set(bit(*one));
    }
    return allowed;
}

std::string followed_counts(const follow::Followed& followed) {
    std::uint64_t sent = 0, as_sent = 0, unknown = 0;
    std::array<std::uint64_t, follow::kClasses> classes{};
    for (const follow::Totals& totals : followed.outcome.totals) {
        sent += totals.sent;
        as_sent += totals.of(Class::kAsSent);
        unknown += totals.unknown;
        for (std::size_t i = 0; i < follow::kClasses; ++i) {
            classes[i] += totals.classes[i];
        }
    }
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < follow::kClasses; ++i) {
        const auto one = static_cast<Class>(i);
        if (classes[i] != 0 && one != Class::kAsSent) {
            parts.push_back(fmt::format("{} {}", classes[i], follow::name(one)));
        }
    }
    if (unknown != 0) {
        parts.push_back(fmt::format("{} never went in", unknown));
    }
    return fmt::format("{} of {} as sent{}{}", as_sent, plural(sent, "frame"),
                       parts.empty() ? "" : ", ", fmt::join(parts, ", "));
}

std::string findings_text(const follow::Followed& followed) {
    std::string text;
    for (const follow::Finding& finding : followed.outcome.findings) {
        text += finding_text(finding, followed);
    }
    for (std::size_t way = 0; way < followed.outcome.wrong.size(); ++way) {
        const follow::Description& wrong = followed.outcome.wrong[way];
        if (wrong.separates()) {
            text += fmt::format("all that is wrong {}: {}\n{}", kDirections[way], wrong.sentence(),
                                exceptions(wrong, way == 0 ? followed.in : followed.out));
        }
    }
    return text;
}

std::string followed_text(const follow::Followed& followed, const follow::Conclusion& conclusion,
                          follow::Transformations allowed) {
    std::string text;
    for (const follow::FileFacts& file : followed.in) {
        text += file_line("in", file);
    }
    for (const follow::FileFacts& file : followed.out) {
        text += file_line("out", file);
    }
    std::string used;
    for (std::size_t i = 0; i < follow::kTransformations; ++i) {
        if (followed.outcome.used_by[i] != 0) {
            used += fmt::format("{}{} {}", used.empty() ? "" : ", ",
                                follow::name(static_cast<follow::Transformation>(i)),
                                followed.outcome.used_by[i]);
        }
    }
    text += fmt::format("allowed: {}; seen: {}\n", names_of(allowed), used.empty() ? "none" : used);
    if (followed.outcome.any_pair) {
        text += fmt::format("delay {:.3f} to {:.3f} ms{}\n",
                            static_cast<double>(followed.outcome.shortest_delay_ns) / 1e6,
                            static_cast<double>(followed.outcome.longest_delay_ns) / 1e6,
                            followed.clock_offset_ns == 0 ? "" : ", clocks brought together");
    }
    text += table(followed) + findings_text(followed);
    for (const std::string& note : conclusion.notes) {
        text += fmt::format("note: {}\n", note);
    }
    for (const std::string& why : conclusion.why) {
        text += fmt::format("cannot be told: {}\n", why);
    }
    return text;
}

json followed_json(const follow::Followed& followed, const follow::Conclusion& conclusion) {
    const follow::Outcome& outcome = followed.outcome;
    json findings = json::array();
    for (const follow::Finding& finding : outcome.findings) {
        findings.push_back(json_of_finding(finding));
    }
    json used = json::object();
    for (std::size_t i = 0; i < follow::kTransformations; ++i) {
        used[follow::name(static_cast<follow::Transformation>(i))] = outcome.used_by[i];
    }
    return {{"in", json_of_files(followed.in)},
            {"out", json_of_files(followed.out)},
            {"forward", json_of_totals(outcome.totals[0])},
            {"backward", json_of_totals(outcome.totals[1])},
            {"findings", findings},
            {"wrong",
             {{"forward", json_of_description(outcome.wrong[0])},
              {"backward", json_of_description(outcome.wrong[1])}}},
            {"used", used},
            {"partial_in", outcome.partial_in},
            {"partial_out", outcome.partial_out},
            {"wrong_already", outcome.wrong_already},
            {"cut", outcome.cut},
            {"decided_early", outcome.forced},
            {"clock_offset_ns", followed.clock_offset_ns},
            {"shortest_delay_ns", outcome.shortest_delay_ns},
            {"longest_delay_ns", outcome.longest_delay_ns},
            {"notes", conclusion.notes},
            {"why", conclusion.why}};
}

Status write_followed_evidence(const follow::Followed& followed, const std::string& folder,
                               const std::string& about) {
    TRY(make_folders(folder, ErrorCode::kBadInput));
    std::size_t number = 0;
    for (const follow::Finding& finding : followed.outcome.findings) {
        const std::string word = finding.unknown ? "unknown" : follow::word(finding.fault);
        const std::string stem = fmt::format("{}/{:03}-{}", folder, ++number, word);
        TRY(follow::write_evidence(
            stem + ".pcapng", finding,
            fmt::format("{}: {} {}: {}", about, finding.count, class_name(finding), finding.text)));
        std::string text = finding_text(finding, followed);
        for (const follow::Specimen& specimen : finding.specimens) {
            const judge::Evidence before{.before = specimen.in_bytes};
            if (specimen.in.number != 0) {
                text += fmt::format("\nwent in as frame {}\n{}", specimen.in.number,
                                    judge::explain(specimen.in_bytes, {}));
            }
            if (specimen.out.number != 0) {
                text += fmt::format("\ncame out as frame {}\n{}", specimen.out.number,
                                    judge::explain(specimen.out_bytes, before));
            }
        }
        TRY(replace_file(stem + ".txt", text));
    }
    return {};
}

}  // namespace pathproof::cli
