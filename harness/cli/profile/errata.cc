// pathproof profile errata
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

#include "harness/cli/generate/number_checks.h"
#include "harness/cli/profile/commands.h"
#include "harness/cli/profile/json.h"
#include "harness/cli/profile/parts.h"
#include "harness/process/json_text.h"

namespace pathproof::cli::profiles {
namespace {

using namespace profile;

constexpr const char* kJsonHelp = "One JSON object a line";

const CLI::Validator kVersion =
    check_of("a version, such as 6.1.0 or 22.11.5", "",
             [](const std::string& text) { return parse_version(text).has_value(); });

struct ErrataOptions {
    std::string id;
    std::string signature;
    Sighting sighting;
    bool json = false;
};

Result<int> list(const ErrataOptions& options) {
    const auto errata = TRY(load_errata(profile_directory()));
    for (const Erratum& erratum : errata) {
        if (options.json) {
            fmt::print("{}\n", process::to_text(brief(erratum)));
        } else {
            fmt::print("{:<36} {:<9} {}\n", erratum.id, name(erratum.evidence()), erratum.title);
        }
    }
    return 0;
}

void print_line(const char* label, const std::string& text) {
    if (!text.empty()) {
        fmt::print("{:<12} {}\n", label, text);
    }
}

std::string describe(const Affected& affected) {
    const bool any = affected.kernel_driver == std::vector<std::string>{"*"};
    return joined(
        {any ? "any kernel driver" : fmt::format("{}", fmt::join(affected.kernel_driver, ", ")),
         fmt::format("{}", fmt::join(affected.pmd, ", ")), affected.hardware, affected.software,
         affected.firmware, span_of("Linux", affected.kernel), span_of("DPDK", affected.dpdk),
         affected.only_ports.empty()
             ? ""
             : fmt::format("ports {} only", fmt::join(affected.only_ports, ", ")),
         affected.except_ports.empty()
             ? ""
             : fmt::format("ports other than {}", fmt::join(affected.except_ports, ", "))});
}

void print_sources(const std::vector<Source>& sources) {
    for (const Source& source : sources) {
        fmt::print("{:<12} {} [{}]: {}\n", "source", source.reference, name(source.evidence),
                   source.says);
        print_line("", source.url);
    }
}

void print_cure(const std::vector<std::string>& workaround, const std::string& advice) {
    for (const std::string& command : workaround) {
        print_line("workaround", command);
    }
    print_line("advice", advice);
}

void print_erratum(const Erratum& erratum) {
    fmt::print("{}: {}\n", erratum.id, erratum.title);
    for (const Signature& signature : erratum.signatures) {
        print_line("signature", to_text(signature));
    }
    print_line("conditions", fmt::format("{}", fmt::join(erratum.conditions, " ")));
    for (const Affected& affected : erratum.affected) {
        print_line("affected", describe(affected));
    }
    print_line("seen", erratum.seen);
    print_line("counters", fmt::format("{}", fmt::join(erratum.counters, "; ")));
    print_cure(erratum.workaround, erratum.advice);
    for (const std::string& fault : erratum.faults) {
        print_line("fault model", fault);
    }
    print_sources(erratum.sources);
    print_line("file", erratum.file);
}

Result<int> show(const ErrataOptions& options) {
    const auto erratum = TRY(find_erratum(profile_directory(), options.id));
    if (options.json) {
        fmt::print("{}\n", process::to_text(in_full(erratum)));
    } else {
        print_erratum(erratum);
    }
    return 0;
}

void print_match(const ErratumMatch& match, bool json) {
    if (!json) {
        fmt::print("{}: {}\n", match.id, match.title);
        print_line("certainty", fmt::format("{}: {}", name(match.certainty), match.why));
        print_cure(match.workaround, match.advice);
        print_sources(match.sources);
        fmt::print("\n");
        return;
    }
    nlohmann::ordered_json sources = nlohmann::ordered_json::array();
    for (const Source& source : match.sources) {
        sources.push_back({{"reference", source.reference}, {"url", source.url}});
    }
    const nlohmann::ordered_json line{{"id", match.id},
                                      {"title", match.title},
                                      {"certainty", name(match.certainty)},
                                      {"why", match.why},
                                      {"workaround", match.workaround},
                                      {"advice", match.advice},
                                      {"sources", std::move(sources)}};
    fmt::print("{}\n", process::to_text(line));
}

Result<int> match(const ErrataOptions& options) {
    Sighting sighting = options.sighting;
    sighting.signature = TRY(parse_signature(options.signature));
    for (const std::string& condition : sighting.conditions) {
        TRY(check_condition(condition));
    }
    const auto errata = TRY(load_errata(profile_directory()));
    const auto matches = match_errata(errata, sighting);
    for (const ErratumMatch& one : matches) {
        print_match(one, options.json);
    }
    fmt::print(stderr, "{} documented defect{} look{} like {}\n", matches.size(),
               matches.size() == 1 ? "" : "s", matches.size() == 1 ? "s" : "", options.signature);
    return matches.empty() ? 1 : 0;
}

void add_match(CLI::App& errata, Command& chosen) {
    CLI::App* app = errata.add_subcommand(
        "match", "Look up what was seen on the wire; exit status 1 when nothing looks like it");
    const auto options = options_for<ErrataOptions>(*app, chosen, match);
    app->add_option("SIGNATURE", options->signature,
                    "direction.depth.protocol.NAME, as tx.outer.udp.NAT0")
        ->required();
    Sighting& sighting = options->sighting;
    app->add_option("--driver", sighting.driver, "Driver of the kernel or of DPDK (net_ice)");
    app->add_option("--kernel", sighting.kernel, "Release of the kernel, as uname -r prints it")
        ->check(kVersion);
    app->add_option("--dpdk", sighting.dpdk, "Version of DPDK, as 22.11.5")->check(kVersion);
    app->add_option("--tunnel-port", sighting.tunnel_port, "Destination port of the outer UDP")
        ->check(CLI::Range(1, 65535));
    app->add_option("--condition", sighting.conditions, "What held, as nat=outer; repeatable");
    app->add_flag("--json", options->json, kJsonHelp);
}

}  // namespace

void add_errata(CLI::App& profile, Command& chosen) {
    CLI::App* errata = profile.add_subcommand("errata", "The documented offload defects");
    errata->require_subcommand(1);
    CLI::App* list_app = errata->add_subcommand("list", "Print the errata there are");
    const auto listed = options_for<ErrataOptions>(*list_app, chosen, list);
    list_app->add_flag("--json", listed->json, kJsonHelp);

    CLI::App* show_app = errata->add_subcommand("show", "Print one erratum");
    const auto shown = options_for<ErrataOptions>(*show_app, chosen, show);
    show_app->add_option("ID", shown->id, "E01, or the whole id, or part of it")->required();
    show_app->add_flag("--json", shown->json, kJsonHelp);

    add_match(*errata, chosen);
}

}  // namespace pathproof::cli::profiles
