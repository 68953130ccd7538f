#include "harness/kubernetes/answer_sizes.h"

#include <algorithm>

namespace pathproof::kubernetes {
namespace {

using agent::SizeTrial;

// The longest answer in one IPv4 packet on Ethernet: a longer one travels in fragments.
constexpr std::uint32_t kOnePacket = 1472;

bool is_answered(const SizeTrial& trial) {
    return trial.whole + trial.truncated != 0;
}

std::string name_of(const SizeTrial& trial) {
    if (trial.tcp) {
        return "TCP";
    }
    return trial.udp_size == 0 ? "UDP, no EDNS" : fmt::format("UDP, EDNS {}", trial.udp_size);
}

std::string outcome_of(const SizeTrial& trial) {
    if (trial.whole != 0) {
        return fmt::format("{} bytes, {} {}", trial.bytes, trial.records,
                           trial.records == 1 ? "record" : "records");
    }
    if (trial.truncated != 0) {
        return "truncated (TC): no answer, to be asked for over TCP";
    }
    return fmt::format("{} ({} of {})", trial.trouble, trial.lost(), trial.asked);
}

const SizeTrial* first_lost(const AnswerSizes& sizes) {
    const auto lost = std::ranges::find_if(
        sizes.trials, [](const SizeTrial& trial) { return !trial.tcp && !is_answered(trial); });
    return lost == sizes.trials.end() ? nullptr : &*lost;
}

// Over TCP or with any size.
std::uint32_t longest_of(const AnswerSizes& sizes) {
    std::uint32_t longest = 0;
    for (const SizeTrial& trial : sizes.trials) {
        longest = std::max(longest, trial.bytes);
    }
    return longest;
}

bool any(const AnswerSizes& sizes, bool (*is)(const SizeTrial&)) {
    return std::ranges::any_of(sizes.trials, is);
}

std::string conclusion_of(const AnswerSizes& sizes) {
    if (!any(sizes, is_answered)) {
        return "lost: no size is answered, nor is TCP";
    }
    const SizeTrial& tcp = sizes.trials.back();
    const std::uint32_t longest = longest_of(sizes);
    if (const SizeTrial* lost = first_lost(sizes)) {
        // The answer that the size allows is the whole one, or as much of it.
        const bool in_fragments = longest > kOnePacket && lost->udp_size > kOnePacket;
        return fmt::format(
            "lost: with {} no answer comes, with smaller sizes one does{}", name_of(*lost),
            in_fragments
                ? fmt::format(". The whole answer has {} bytes and travels in fragments over UDP: "
                              "one of them is dropped on the way. Cure: a smaller EDNS size "
                              "(1232), as `bufsize 1232` in CoreDNS or `edns-packet-max=1232` in "
                              "dnsmasq",
                              longest)
                : "");
    }
    const bool needs_tcp = any(sizes, [](const SizeTrial& trial) { return trial.truncated != 0; });
    if (needs_tcp && !is_answered(tcp)) {
        return fmt::format(
            "lost: the answer over UDP is truncated, and TCP gives none ({}). Cure: port 53 over "
            "TCP, on the server and in each filter and Service on the way",
            tcp.trouble);
    }
    if (!is_answered(tcp)) {
        return fmt::format(
            "each size is answered; TCP is not ({}), which a longer answer would need",
            tcp.trouble);
    }
    return "each size is answered";
}

}  // namespace

Result<AnswerSizes> try_sizes(const agent::SizeQuestion& question,
                              const std::vector<std::uint16_t>& sizes) {
    AnswerSizes tried;
    for (const std::uint16_t size : sizes) {
        tried.trials.push_back(TRY(agent::ask_with_size(question, size)));
    }
    tried.trials.push_back(TRY(agent::ask_over_tcp(question)));
    return tried;
}

bool fails(const AnswerSizes& sizes) {
    return conclusion_of(sizes).starts_with("lost: ");
}

std::string text_of(const AnswerSizes& sizes) {
    std::string text = "sizes of the answer\n";
    for (const SizeTrial& trial : sizes.trials) {
        text += fmt::format("  {:<16}  {}\n", name_of(trial), outcome_of(trial));
    }
    return text + conclusion_of(sizes);
}

}  // namespace pathproof::kubernetes
