// Finds the documented defects that look like a defect seen on the wire.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "dataplane/base/contains.h"
#include "harness/profile/errata.h"
#include "harness/profile/lists.h"

namespace pathproof::profile {
namespace {

bool looks_like(const Erratum& erratum, const Signature& seen) {
    return seen.name != "UNKNOWN" &&
           std::ranges::any_of(erratum.signatures, [&](const Signature& known) {
               return known.direction == seen.direction && layer_covers(known.layer, seen.layer) &&
                      same_name(known.name, seen.name);
           });
}

std::string key_of(const std::string& condition) {
    return condition.substr(0, condition.find('='));
}

// encapsulation=any is every tunnel, and lengths may be ranges; else one key has one value.
bool contradict(const std::string& wanted, const std::string& held) {
    const auto wanted_lengths = lengths_of(wanted);
    const auto held_lengths = lengths_of(held);
    if (wanted_lengths && held_lengths) {
        return !may_be_both(*wanted_lengths, *held_lengths);
    }
    if (key_of(wanted) != key_of(held) || wanted == held) {
        return false;
    }
    return !(wanted == "encapsulation=any" && held != "encapsulation=none");
}

bool contradicted(const Erratum& erratum, const std::vector<std::string>& held) {
    return std::ranges::any_of(erratum.conditions, [&](const std::string& wanted) {
        return std::ranges::any_of(held,
                                   [&](const std::string& one) { return contradict(wanted, one); });
    });
}

bool known_key(const std::vector<std::string>& held, const std::string& wanted) {
    return std::ranges::any_of(
        held, [&](const std::string& one) { return key_of(one) == key_of(wanted); });
}

std::vector<std::string> unknown_conditions(const Erratum& erratum,
                                            const std::vector<std::string>& held) {
    std::vector<std::string> open = erratum.conditions;
    std::erase_if(open, [&](const std::string& wanted) { return known_key(held, wanted); });
    return open;
}

bool port_fits(const Affected& affected, const std::optional<std::uint16_t>& port) {
    if (!port) {
        return true;
    }
    return (affected.only_ports.empty() || contains(affected.only_ports, *port)) &&
           !contains(affected.except_ports, *port);
}

// DPDK calls its drivers net_x, and mlx4_pci and mlx5_pci.
bool is_pmd(const std::string& driver) {
    return driver.starts_with("net_") || driver.ends_with("_pci");
}

enum class Named { kDriver, kAnyDriver };

struct Judgement {
    Certainty certainty = Certainty::kSignature;
    std::string why;
    Named named = Named::kDriver;
};

// A stable release of a series that the entry does not speak of.
bool perhaps_mended(const VersionRange& range, const Version& version) {
    return range.fixed_in && version.patch > 0 &&
           std::ranges::none_of(range.backports, [&](const Version& known) {
               return known.major == version.major && known.minor == version.minor;
           });
}

// Judges by the versions of one product.
Judgement judge_range(const VersionRange& range, const std::string& running,
                      const std::string& product, const std::string& driver) {
    if (range.everything()) {
        return {Certainty::kDriverAndRange,
                fmt::format("it is known of {}; no version of {} is said to be free of it", driver,
                            product)};
    }
    const auto version = parse_version(running);
    if (!version) {
        return {Certainty::kDriver, fmt::format("it is known of {}, {} {}; which runs is not known",
                                                driver, product, to_text(range))};
    }
    if (range.contains(*version) && perhaps_mended(range, *version)) {
        return {Certainty::kDriver,
                fmt::format("it is known of {}, {} {}; {} runs, a stable series that may have got "
                            "the repair",
                            driver, product, to_text(range), running)};
    }
    if (range.contains(*version)) {
        return {Certainty::kDriverAndRange, fmt::format("it is known of {}, {} {}; {} runs", driver,
                                                        product, to_text(range), running)};
    }
    return {Certainty::kSignature,
            fmt::format("it is known of {}, but {} {}, and {} runs: a repair that was lost, or "
                        "another cause",
                        driver, product, to_text(range), running)};
}

Judgement judge_affected(const Affected& affected, const Sighting& sighting) {
    Judgement judgement;
    if (lists(affected.pmd, sighting.driver)) {
        judgement = judge_range(affected.dpdk, sighting.dpdk, "DPDK", sighting.driver);
    } else if (lists(affected.kernel_driver, sighting.driver)) {
        judgement = judge_range(affected.kernel, sighting.kernel, "Linux", sighting.driver);
    } else if (lists(affected.kernel_driver, "*") && !is_pmd(sighting.driver)) {
        judgement = judge_range(affected.kernel, sighting.kernel, "Linux", "any driver");
        judgement.named = Named::kAnyDriver;
    } else if (sighting.driver.empty()) {
        judgement.why = "it looks like it; the driver is not known";
    } else {
        judgement.why =
            fmt::format("it looks like it, but the entry does not name {}", sighting.driver);
    }
    // Versions say nothing about the chip, the firmware or another program: that stays open.
    for (const auto& [what, text] : {std::pair{"only on", affected.hardware},
                                     {"with firmware", affected.firmware},
                                     {"with", affected.software}}) {
        if (text.empty()) {
            continue;
        }
        judgement.why += fmt::format("; {} {}", what, text);
        judgement.certainty = std::max(judgement.certainty, Certainty::kDriver);
    }
    return judgement;
}

std::optional<Judgement> best_judgement(const Erratum& erratum, const Sighting& sighting) {
    std::vector<Judgement> all;
    for (const Affected& affected : erratum.affected) {
        if (port_fits(affected, sighting.tunnel_port)) {
            all.push_back(judge_affected(affected, sighting));
        }
    }
    const auto best = std::ranges::min_element(all, {}, &Judgement::certainty);
    return best == all.end() ? std::nullopt : std::optional(std::move(*best));
}

// Adds the conditions that the layer implies: its protocol, and whether there is a tunnel.
std::vector<std::string> with_implied(const Sighting& sighting) {
    std::vector<std::string> held = sighting.conditions;
    const auto imply = [&](const std::string& condition) {
        if (!known_key(held, condition)) {
            held.push_back(condition);
        }
    };
    const std::string& layer = sighting.signature.layer;
    for (const char* protocol : {"udp", "tcp", "sctp"}) {
        if (layer.ends_with(std::string(".") + protocol) && !layer.starts_with("outer.")) {
            imply(std::string("l4=") + protocol);
        }
    }
    if (layer.ends_with(".icmp") || layer.ends_with(".icmpv6")) {
        imply("l4=icmp");
    }
    if (layer.starts_with("plain.")) {
        imply("encapsulation=none");
    }
    return held;
}

struct Ranked {
    ErratumMatch match;
    Named named = Named::kDriver;
    std::size_t open = 0;  // conditions that nothing is known of

    // An entry that names the driver, though of an unknown version, comes before one that is said
    // of any driver.
    auto key() const {
        const int grade = static_cast<int>(match.certainty) + (named == Named::kAnyDriver ? 1 : 0);
        return std::tuple(grade, named, open);
    }
};

}  // namespace

std::vector<ErratumMatch> match_errata(const std::vector<Erratum>& errata,
                                       const Sighting& sighting) {
    const std::vector<std::string> held = with_implied(sighting);
    std::vector<Ranked> ranked;
    for (const Erratum& erratum : errata) {
        if (!looks_like(erratum, sighting.signature) || contradicted(erratum, held)) {
            continue;
        }
        auto judgement = best_judgement(erratum, sighting);
        if (!judgement) {
            continue;
        }
        const auto open = unknown_conditions(erratum, held);
        if (!open.empty()) {
            judgement->why += fmt::format("; provided that {}", fmt::join(open, ", "));
        }
        const ErratumMatch match{.id = erratum.id,
                                 .title = erratum.title,
                                 .certainty = judgement->certainty,
                                 .why = judgement->why,
                                 .workaround = erratum.workaround,
                                 .advice = erratum.advice,
                                 .sources = erratum.sources};
        ranked.push_back({match, judgement->named, open.size()});
    }
    std::ranges::stable_sort(ranked, {}, &Ranked::key);
    std::vector<ErratumMatch> matches;
    for (Ranked& one : ranked) {
        matches.push_back(std::move(one.match));
    }
    return matches;
}

}  // namespace pathproof::profile
