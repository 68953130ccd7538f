#include "harness/resolver/resolver.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <sstream>

#include "dataplane/frame/dns.h"
#include "harness/process/child.h"
#include "harness/process/foreign.h"
#include "harness/process/program.h"
#include "harness/resolver/systemd_resolved.h"

namespace pathproof::resolver {
namespace {

using std::chrono::milliseconds;

// Time allowed beyond the lookups' own.
constexpr milliseconds kSlack{20'000};

// Finds a program beside this one, where programs are built and installed.
Result<std::string> program_of(const std::string& name, const std::string& package) {
    const std::string own = process::own_binary();
    std::string program = own.substr(0, own.rfind('/') + 1) + name;
    if (access(program.c_str(), X_OK) == 0) {
        return program;
    }
    return fail(
        ErrorCode::kNotFound, "there is no {}; {}build again", program,
        package.empty() ? "" : "install " + package + ", 'meson setup --reconfigure build' and ");
}

Result<std::vector<std::string>> command_of(Kind kind, unsigned rate) {
    if (kind == Kind::kMusl) {
        return std::vector{TRY(program_of("pathproof-lookups-musl", "musl-tools")),
                           std::to_string(rate)};
    }
    std::vector<std::string> argv{TRY(program_of("pathproof-lookups", "")), std::to_string(rate)};
    if (kind == Kind::kGo) {
        argv.push_back(TRY(program_of("pathproof-lookup-go", "golang-go")));
    }
    return argv;
}

}  // namespace

const char* name(Kind kind) {
    switch (kind) {
        case Kind::kGlibc: return "glibc";
        case Kind::kMusl: return "musl";
        case Kind::kGo: return "Go";
        case Kind::kResolved: return "systemd-resolved";
    }
    return "";
}

Status check_name(const std::string& name) {
    const auto wire = frame::DnsName::from_text(name);
    const bool plain = std::ranges::all_of(
        name, [](unsigned char byte) { return byte > ' ' && byte < 0x7f && byte != '\\'; });
    if (!wire || !plain || name.empty() || name == ".") {
        return fail(ErrorCode::kBadInput, "'{}' is no name that could be looked up{}", name,
                    wire ? "" : ": " + wire.error().message);
    }
    return {};
}

std::string requests_text(const std::vector<Lookup>& lookups) {
    std::string text;
    for (const Lookup& each : lookups) {
        text +=
            fmt::format("{} {} {} {} {}\n", static_cast<int>(each.family), each.addrconfig ? 1 : 0,
                        each.limit.count(), each.resolv_conf.size(), each.name) +
            each.resolv_conf;
    }
    return text;
}

Result<std::vector<Outcome>> read_outcomes(const std::string& said, std::size_t lookups) {
    std::vector<Outcome> outcomes(lookups);
    for (const std::string& line : process::lines_of(said)) {
        std::istringstream words(line);
        std::size_t index = 0;
        Outcome outcome;
        if (!(words >> index >> outcome.word) || index >= lookups) {
            return fail(ErrorCode::kFailed, "what a resolver's program says is no outcome: '{}'",
                        line);
        }
        if (outcome.word == "error") {
            std::string why;
            std::getline(words >> std::ws, why);
            return fail(ErrorCode::kNotSupported, "look up a name: {}", why);
        }
        double microseconds = 0;
        words >> microseconds;
        outcome.milliseconds = microseconds / 1000;
        for (std::string address; words >> address;) {
            if (address.starts_with('+')) {
                outcome.unlisted = std::strtoull(address.c_str() + 1, nullptr, 10);
            } else {
                outcome.addresses.push_back(address);
            }
        }
        if (outcomes[index].word.empty()) {  // or it ended while it was being killed
            outcomes[index] = std::move(outcome);
        }
    }
    const auto missing = std::ranges::find(outcomes, "", &Outcome::word);
    if (missing != outcomes.end()) {
        return fail(ErrorCode::kFailed, "a resolver's program did not say what came of lookup {}",
                    missing - outcomes.begin());
    }
    return outcomes;
}

Redirected redirect(const std::string& resolv_conf, const std::string& instead) {
    static constexpr std::string_view kWord = "nameserver ";
    Redirected redirected;
    for (const std::string& line : process::lines_of(resolv_conf)) {
        if (!line.starts_with(kWord)) {
            redirected.resolv_conf += line + "\n";
        } else if (redirected.nameserver.empty()) {
            redirected.nameserver = line.substr(kWord.size());
            redirected.resolv_conf += fmt::format("{}{}\n", kWord, instead);
        }
    }
    return redirected;
}

Result<std::vector<Outcome>> look_up(const std::string& netns, Kind kind,
                                     const std::vector<Lookup>& lookups, unsigned per_second) {
    milliseconds longest{0};
    std::string nameserver;
    std::vector<Lookup> asked = lookups;
    for (Lookup& each : asked) {
        TRY(check_name(each.name));
        longest = std::max(longest, each.limit);
        if (kind == Kind::kResolved) {
            Redirected behind = redirect(each.resolv_conf, SystemdResolved::kStub);
            each.resolv_conf = std::move(behind.resolv_conf);
            nameserver = nameserver.empty() ? behind.nameserver : nameserver;
        }
    }
    const unsigned rate = std::max(1U, per_second);
    std::optional<SystemdResolved> resolved;
    if (kind == Kind::kResolved) {
        resolved.emplace(TRY(SystemdResolved::start(netns, nameserver)));
    }
    const auto argv = TRY(command_of(kind, rate));
    const auto said = TRY(process::run_checked(
        argv, {.netns = netns,
               .input = requests_text(asked),
               .timeout = longest + kSlack + milliseconds(1000 * asked.size() / rate)}));
    return read_outcomes(said, asked.size());
}

}  // namespace pathproof::resolver
