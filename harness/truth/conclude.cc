#include "harness/truth/conclude.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "dataplane/base/plural.h"

namespace pathproof::truth {
namespace {

using Sentences = std::vector<std::string>;

// Adds a sentence where its count is not zero.
template <typename... Args>
void add_if(Sentences& sentences, std::uint64_t count, fmt::format_string<Args...> text,
            Args&&... args) {
    if (count != 0) {
        sentences.push_back(fmt::format(text, std::forward<Args>(args)...));
    }
}

// The likely cause of a drop with this reason, and the command that shows or mends it.
std::string hint(const PathDrop& drop) {
    const auto is = [&](const char* part) { return drop.reason.find(part) != std::string::npos; };
    if (is("NETFILTER")) {
        return fmt::format("a firewall rule; {} and {} list them",
                           drop.at.command("nft list ruleset"), drop.at.command("iptables-save"));
    }
    if (is("TC_EGRESS") || is("TC_INGRESS")) {
        return fmt::format("a tc filter; {} lists it",
                           drop.at.command(fmt::format("tc filter show dev {} {}", drop.at.name,
                                                       is("EGRESS") ? "egress" : "ingress")));
    }
    if (is("QDISC")) {
        return fmt::format("a full queue; {} shows it",
                           drop.at.command("tc -s qdisc show dev " + drop.at.name));
    }
    if (is("XDP") || is("BPF")) {
        return fmt::format("a BPF program; {} lists them", drop.at.command("bpftool net"));
    }
    if (is("BACKLOG") || is("FULL_RING") || is("RCVBUFF")) {
        return "a full buffer: the machine is too busy to be measured on";
    }
    return "see include/net/dropreason-core.h";
}

// Names who joined, dropped or changed frames on their way to this end, as far as it was read.
void add_culprits(const PathCount& count, const PathEnd& end, std::vector<std::string>& sentences) {
    if (count.merged != 0 && !end.merging.empty()) {
        sentences.push_back(fmt::format("{} joins what it receives ({} on); {} turns that off",
                                        end.name, fmt::join(end.merging, ", "),
                                        end.command(fmt::format("ethtool -K {} {} off", end.name,
                                                                fmt::join(end.merging, " off ")))));
    } else if (count.merged != 0) {
        sentences.push_back(
            "somebody between the two joins them (GRO or LRO of a bridge's port, "
            "a middlebox)");
    }
    if (!count.proven() && !end.xdp.empty()) {
        sentences.push_back(
            fmt::format("an XDP program is attached to {}: {}; {} takes it off", end.name, end.xdp,
                        end.command(fmt::format("ip link set dev {} xdp off", end.name))));
    }
    add_if(sentences, count.own_loss,
           "{} were lost for want of room in the receiver's own ring or socket at {}",
           plural(count.own_loss, "frame"), end.name);
}

void add_way(const PathCount& count, const PathEnd& from, const PathEnd& to,
             std::vector<std::string>& sentences) {
    if (count.sent == 0 || count.proven()) {
        return;
    }
    add_if(
        sentences, count.silent(),
        "none of {} from {} came at {}, which may not be the far end of its cable (--tester names "
        "it)",
        plural(count.sent, "plain frame"), from.name, to.name);
    for (const auto& [frames, what] :
         {std::pair{count.silent() ? 0 : count.missing(), "never came"},
          {count.merged, "came joined into longer ones"},
          {count.changed, "came with other bytes"}}) {
        add_if(sentences, frames, "{} of {} from {} to {} {}", frames,
               plural(count.sent, "plain frame"), from.name, to.name, what);
    }
    add_culprits(count, to, sentences);
}

std::string frames_of(const WrongValue& wrong) {
    return fmt::format("{} of {}", wrong.wrong, plural(wrong.frames, "frame"));
}

std::string value_of(const WrongValue& wrong) {
    const std::string clause = clause_of(wrong.place);
    return fmt::format("{} at {}{}", wrong.title, wrong.place.empty() ? "the frame" : wrong.place,
                       clause.empty() ? "" : " (" + clause + ")");
}

std::string sentence_of(const std::string& device, const WrongValue& wrong) {
    const std::string seen = fmt::format("{}, in {}, in {} observations", wrong.where,
                                         frames_of(wrong), wrong.observations);
    switch (wrong.part) {
        case TruthPart::kSent:
            return fmt::format(
                "{} puts wrong frames on the wire with its offloads {}: {}, {}.{}{}", device,
                wrong.setting, value_of(wrong), seen,
                wrong.meaning.empty() ? "" : " " + wrong.meaning,
                wrong.in_time.empty() ? "" : fmt::format(" In time, {}.", wrong.in_time));
        case TruthPart::kReceived:
            return fmt::format("{} receives wrongly with its offloads {}: {}, {}.", device,
                               wrong.setting, value_of(wrong), seen);
        case TruthPart::kCounters:
            return fmt::format("{} receives wrongly: counters with its offloads {}: {} of {}, {}.",
                               device, wrong.setting, wrong.title, wrong.place, seen);
        case TruthPart::kSegments:
            return fmt::format("Super-frames in the kernel's VXLAN tunnel ({}): {}, {}.",
                               wrong.setting, wrong.title, seen);
        case TruthPart::kTunnels: break;
    }
    return fmt::format("The kernel's own tunnel, {}: {}, {}.", wrong.setting, wrong.title, seen);
}

std::string nothing_wrong(const TruthValues& values) {
    std::string text =
        fmt::format("No defect found in {} frames through {} under {} settings of its offloads.",
                    values.sent, values.device, values.settings);
    if (values.unfinished != 0) {
        text += fmt::format(
            " {} of them were handed over unfinished, by design of such a device, and are right "
            "behind a healthy NIC.",
            values.unfinished);
    }
    return text;
}

// A limitation, and no defect. Of the setting that was measured first: the others are alike.
void add_unvouched(const TruthValues& values, std::vector<std::string>& sentences) {
    std::vector<std::string> places;
    std::uint64_t frames = 0;
    for (const Unvouched& each : values.unvouched) {
        if (each.setting == values.unvouched.front().setting && each.frames != 0) {
            places.push_back(each.place);
            frames += each.frames;
        }
    }
    if (frames != 0) {
        sentences.push_back(fmt::format(
            "A limitation, no defect: with its offloads {} it vouches for none of {} received "
            "checksums ({}) though rx-checksum is on, and the kernel checks each by itself, which "
            "costs CPU.",
            values.unvouched.front().setting, frames, fmt::join(places, ", ")));
    }
}

bool is_missing(const WrongValue& wrong) {
    return wrong.wrong != 0 && wrong.title == "MISSING";
}

// Frames that are missing in one observation and there in the next are lost by chance, where the
// tester, a queue or the far end has no room: then a missing frame says nothing of the device.
bool lost_by_chance(const std::vector<WrongValue>& wrong) {
    return std::ranges::any_of(
        wrong, [](const WrongValue& each) { return is_missing(each) && !each.confirmed(); });
}

// The confirmed value of most frames of each part.
std::vector<const WrongValue*> leading(const TruthValues& values) {
    const bool by_chance = values.losses_in_time.empty() && lost_by_chance(values.wrong);
    std::vector<const WrongValue*> first;
    for (const WrongValue& each : values.wrong) {
        if (!each.confirmed() || (by_chance && is_missing(each))) {
            continue;
        }
        const auto told = std::ranges::find(first, each.part, &WrongValue::part);
        if (told == first.end()) {
            first.push_back(&each);
        } else if ((*told)->wrong < each.wrong) {
            *told = &each;
        }
    }
    return first;
}

// The others of its part, each in a few words.
std::string others_beside(const TruthValues& values, const WrongValue& leader) {
    constexpr std::size_t kMost = 4;
    std::vector<std::string> texts;
    for (const WrongValue& each : values.wrong) {
        if (&each != &leader && each.part == leader.part && each.confirmed() &&
            !(is_missing(each) && lost_by_chance(values.wrong))) {
            texts.push_back(fmt::format("{}, {}", value_of(each), frames_of(each)));
        }
    }
    const std::size_t more = texts.size() > kMost ? texts.size() - kMost : 0;
    texts.resize(std::min(texts.size(), kMost));
    if (texts.empty()) {
        return "";
    }
    return fmt::format(" Beside it: {}{}.", fmt::join(texts, "; "),
                       more == 0 ? "" : fmt::format("; and {} more", more));
}

// Tells what the other device's frames say of the path.
std::string proof_text(const PathFacts& path) {
    const PathProof& proof = path.proof;
    const std::string frames =
        fmt::format("{} of {} by {}", proof.right, plural(proof.sent, "plain frame"), proof.name);
    if (!proof.carries()) {
        return fmt::format(
            "Only {} came right: it is no device whose frames take the same path, and "
            "tells nothing",
            frames);
    }
    if (proof.faults.empty()) {
        return fmt::format("The same frames by another device come right, {}", frames);
    }
    const PathFault& first = proof.faults.front();
    return fmt::format(
        "The same frames by another device come wrong too ({} right; {}: {}): the path changes or "
        "loses frames itself, which is to be mended first",
        frames, first.where, first.what);
}

void conclude_path(const TruthValues& values, verdict::ScenarioResult& result) {
    const PathFacts& path = values.path;
    const std::vector<PathFault> own = path.own_faults();
    if (!own.empty()) {
        std::vector<std::string> sentences;
        for (const PathFault& fault : own) {
            const bool from = fault.way == Way::kFromDevice;
            sentences.push_back(fault_sentence(fault, from ? path.device.name : path.far.name,
                                               from ? path.far.name : path.device.name));
        }
        result.verdict = verdict::ScenarioVerdict::kDefectFound;
        result.headline =
            path.proof.name.empty()
                ? fmt::format(
                      "The path changes or loses plain frames, with nothing left to {}: {}. "
                      "Between {} and {} nothing else that could is known: it is {}, its "
                      "cable or {}. Another port as --tester, or another device as "
                      "--path-proven-by, tells which.",
                      values.device, fmt::join(sentences, "; "), path.device.name, path.far.name,
                      path.device.name, path.far.name)
                : fmt::format(
                      "{} or its cable changes or loses plain frames, with nothing left to "
                      "it: {}. {}: it is not the rest of the path.",
                      values.device, fmt::join(sentences, "; "), proof_text(path));
        result.headline += fmt::format(
            " Nothing else is said of {}, for its frames would meet the same.", path.device.name);
        result.cause = fmt::format("Plain frames: {}: {}.", own.front().where, own.front().what);
        return;
    }
    std::vector<std::string> sentences = path_sentences(path);
    for (const PathFault& fault : path.faults) {
        const bool from = fault.way == Way::kFromDevice;
        sentences.push_back(fault_sentence(fault, from ? path.device.name : path.far.name,
                                           from ? path.far.name : path.device.name));
    }
    std::string text = fmt::format("Nothing is said of {}, for the path to it is not proven: {}.",
                                   values.device, fmt::join(sentences, "; "));
    if (!path.faults.empty() && !path.proof.name.empty()) {
        text += fmt::format(" {}.", proof_text(path));
    }
    if (!path.faults.empty() && !path.between.empty()) {
        text += fmt::format(" Whether {} does it cannot be told beside {}: without that it can.",
                            path.device.name, fmt::join(path.between, "; "));
    }
    result.headline = std::move(text);
}

}  // namespace

std::string PathEnd::command(const std::string& words) const {
    return fmt::format("`{}{}`{}", netns.empty() ? "" : "ip netns exec " + netns + " ", words,
                       host.empty() ? "" : " on " + host);
}

std::string drop_sentence(const PathDrop& drop) {
    return fmt::format("the kernel dropped {} for {} at {}: {}", plural(drop.packets, "packet"),
                       drop.reason, drop.location, hint(drop));
}

std::vector<std::string> path_sentences(const PathFacts& path) {
    std::vector<std::string> sentences;
    if (path.proven()) {
        return sentences;
    }
    if (path.to_tester.sent == 0 || (path.to_tester.proven() && path.to_device.sent == 0)) {
        sentences.push_back("not one plain frame could be sent");
    }
    add_way(path.to_tester, path.device, path.far, sentences);
    add_way(path.to_device, path.far, path.device, sentences);
    for (const PathDrop& drop : path.drops) {
        add_if(sentences, drop.packets, "{}", drop_sentence(drop));
    }
    add_if(
        sentences, path.backlog,
        "the CPUs' backlogs were full and dropped {} (/proc/net/softnet_stat): the machine is too "
        "busy to be measured on",
        plural(path.backlog, "packet"));
    return sentences;
}

bool PathProof::shows_faults(Way way) const {
    return std::ranges::any_of(faults, [&](const PathFault& fault) { return fault.way == way; });
}

std::vector<PathFault> PathFacts::own_faults() const {
    if (!between.empty()) {
        return {};
    }
    std::vector<PathFault> own;
    for (const PathFault& fault : faults) {
        if (!proof.name.empty()) {
            if (proof.carries() && !proof.shows_faults(fault.way)) {
                own.push_back(fault);
            }
            continue;
        }
        const bool from = fault.way == Way::kFromDevice;
        const PathCount& count = from ? to_tester : to_device;
        const auto& receiver = from ? far : device;
        // A loss may be anybody's who drops or has no room, a change only of who joins frames.
        const bool excused = fault.lost ? !drops.empty() || backlog != 0 || count.own_loss != 0 ||
                                              2 * fault.frames > fault.sent
                                        : !receiver.merging.empty();
        if (!excused) {
            own.push_back(fault);
        }
    }
    return own;
}

std::string path_remark(const PathFacts& path) {
    std::string text;
    const std::uint32_t least =
        path.far.mtu == 0 ? path.device.mtu : std::min(path.device.mtu, path.far.mtu);
    if (path.far.mtu != 0 && path.far.mtu != path.device.mtu) {
        const PathEnd& narrow = path.far.mtu < path.device.mtu ? path.far : path.device;
        text += fmt::format(
            " The MTU of {} is {} and that of {} is {}: packets of more than {} bytes cannot cross "
            "and were not judged; {} would let them.",
            path.device.name, path.device.mtu, path.far.name, path.far.mtu, path.mtu,
            narrow.command(fmt::format("ip link set dev {} mtu {}", narrow.name,
                                       std::max(path.far.mtu, path.device.mtu))));
    } else if (path.mtu != 0 &&
               path.mtu < std::min<std::uint32_t>(least, path.far.mtu == 0 ? 1500 : 9000)) {
        text += fmt::format(
            " The path cuts at {} bytes, below the MTU {} of its ends: longer packets were not "
            "judged.",
            path.mtu, least);
    }
    if (path.late != 0) {
        text += fmt::format(" The path answers late: {} came only when waited for longer.",
                            plural(path.late, "plain frame"));
    }
    if (path.paced != 0) {
        text += fmt::format(" {} came only when fewer were sent at a time.",
                            plural(path.paced, "plain frame"));
    }
    return text;
}

std::string clause_of(const std::string& place) {
    const auto has = [&](const char* part) { return place.find(part) != std::string::npos; };
    if (has("gre")) {
        return "RFC 2784 section 2.3";
    }
    if (place.starts_with("outer.udp")) {
        return "RFC 768, RFC 7348 section 5";
    }
    for (const auto& [layer, clause] : {std::pair{".udp", "RFC 768, RFC 8200 section 8.1"},
                                        {".tcp", "RFC 9293 section 3.1"},
                                        {".ipv4", "RFC 791 section 3.1"},
                                        {".icmpv6", "RFC 4443 section 2.3"},
                                        {".icmp", "RFC 792"},
                                        {".sctp", "RFC 9260 section 6.8"}}) {
        if (has(layer)) {
            return clause;
        }
    }
    return "";
}

void conclude_truth(const TruthValues& values, verdict::ScenarioResult& result) {
    using verdict::ScenarioVerdict;
    result.verdict = ScenarioVerdict::kInconclusive;
    if (!values.path.proven()) {
        conclude_path(values, result);
        return;
    }
    const std::vector<const WrongValue*> defects = leading(values);
    std::vector<std::string> sentences;
    if (!values.stalls.empty()) {
        sentences.push_back(
            fmt::format("{} {}: {}.", values.device,
                        values.stalls_confirmed() ? "stops sending" : "stopped sending once",
                        stalls_text(values.stalls)));
    }
    for (const WrongValue* defect : defects) {
        sentences.push_back(sentence_of(values.device, *defect) + others_beside(values, *defect));
    }
    if (!values.losses_in_time.empty()) {
        sentences.push_back(
            fmt::format("Frames that never came, in time: {}.", values.losses_in_time));
    }
    if (std::ranges::none_of(
            defects, [](const WrongValue* defect) { return defect->part == TruthPart::kSent; })) {
        const bool alone = defects.empty() && values.stalls.empty();
        sentences.push_back((alone ? "" : "Apart from that: ") + nothing_wrong(values));
    }
    const bool receipt = std::ranges::any_of(values.wrong, [](const WrongValue& wrong) {
        return wrong.part == TruthPart::kReceived || wrong.part == TruthPart::kCounters;
    });
    add_if(sentences, receipt ? 0 : values.received,
           "{} frames were sent to it, good and bad: nothing false was said of any.",
           values.received);
    add_unvouched(values, sentences);
    bool doubt = !values.hidden.empty() || (!values.stalls.empty() && !values.stalls_confirmed());
    const bool by_chance = values.losses_in_time.empty() && lost_by_chance(values.wrong);
    for (const WrongValue& wrong : values.wrong) {
        if (wrong.wrong != 0 && !wrong.confirmed()) {
            doubt = true;
            sentences.push_back(
                fmt::format("Seen once, not confirmed: {} with the offloads {}, in {}.",
                            value_of(wrong), wrong.setting, frames_of(wrong)));
        } else if (wrong.confirmed() && is_missing(wrong) && by_chance) {
            sentences.push_back(fmt::format(
                "Not judged: MISSING with the offloads {}, in {}: frames are lost by chance here.",
                wrong.setting, frames_of(wrong)));
        }
    }
    for (const std::string& hidden : values.hidden) {
        sentences.push_back("Not judged: " + hidden + ".");
    }
    result.headline = fmt::format("{}{}", fmt::join(sentences, " "), path_remark(values.path));
    if (values.stalls_confirmed()) {
        result.verdict = ScenarioVerdict::kDefectFound;
        result.cause = fmt::format("It stops sending: {}.", stalls_text(values.stalls));
        result.cure = values.stall_cure;
        result.cure_shown = !values.stall_cure.empty();
        return;
    }
    if (defects.empty()) {
        result.verdict = doubt ? ScenarioVerdict::kInconclusive : ScenarioVerdict::kNoDefectFound;
        return;
    }
    result.verdict = ScenarioVerdict::kDefectFound;
    const WrongValue& first = *defects.front();
    result.cause = first.meaning;
    result.cure = first.cure;
    result.cure_shown = !first.cure.empty();
    result.before_cell = first.before;
    result.after_cell = first.after;
}

}  // namespace pathproof::truth
