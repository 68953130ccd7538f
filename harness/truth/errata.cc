#include "harness/truth/errata.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "dataplane/base/contains.h"

namespace pathproof::truth {

Circumstances circumstances_of(const port::PortInfo& device, const std::string& dpdk_version) {
    return {.driver = device.evidence == port::Evidence::kSimulated ? "" : device.driver,
            .kernel = "",
            .dpdk = dpdk_version.substr(dpdk_version.find(' ') + 1)};
}

profile::Sighting sighting_of(const Defect& defect, const Circumstances& circumstances) {
    const bool lost = defect.place == "frame";
    const bool no_layer = lost || defect.place == "counter";
    profile::Sighting sighting{
        .signature = {lost ? profile::Direction::kPath : defect.direction,
                      no_layer ? "plain." + defect.place : layer_part(defect.place), defect.title},
        .driver = circumstances.driver,
        .kernel = circumstances.kernel,
        .dpdk = circumstances.dpdk};
    sighting.conditions = defect.conditions;
    if (defect.tunnel_ports.size() == 1 && *defect.tunnel_ports.begin() != 0) {
        sighting.tunnel_port = *defect.tunnel_ports.begin();
    }
    return sighting;
}

void explain_by_errata(std::vector<Defect>& defects, const std::vector<profile::Erratum>& errata,
                       const Circumstances& circumstances) {
    for (Defect& defect : defects) {
        auto matches = profile::match_errata(errata, sighting_of(defect, circumstances));
        // Strangers' defects explain nothing; of a driver that is not known any may be its own.
        if (!circumstances.driver.empty()) {
            std::erase_if(matches, [](const profile::ErratumMatch& match) {
                return match.certainty == profile::Certainty::kSignature;
            });
        }
        for (std::size_t i = 0; i < std::min(matches.size(), kMostErrata); ++i) {
            defect.errata.push_back(known_erratum(matches[i]));
        }
    }
}

std::vector<verdict::KnownErratum> errata_of(const std::vector<Defect>& defects) {
    std::vector<verdict::KnownErratum> known;
    for (const Defect& defect : defects) {
        for (const verdict::KnownErratum& erratum : defect.errata) {
            if (known.size() < kMostErrata &&
                !contains(known, erratum.id, &verdict::KnownErratum::id)) {
                known.push_back(erratum);
            }
        }
    }
    return known;
}

verdict::KnownErratum known_erratum(const profile::ErratumMatch& match) {
    verdict::KnownErratum erratum{
        .id = match.id, .title = match.title, .certainty = profile::name(match.certainty)};
    erratum.workaround = match.workaround.empty()
                             ? match.advice
                             : fmt::format("`{}`", fmt::join(match.workaround, "`; `"));
    if (!match.sources.empty()) {
        const profile::Source& source = match.sources.front();
        erratum.source = source.url.empty() ? source.reference : source.url;
    }
    return erratum;
}

}  // namespace pathproof::truth
