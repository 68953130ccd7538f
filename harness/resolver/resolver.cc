#include "harness/resolver/resolver.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <sstream>

#include "dataplane/frame/dns.h"
#include "harness/process/child.h"
#include "harness/process/program.h"

namespace pathproof::resolver {
namespace {

using std::chrono::milliseconds;

// Beyond what the lookups themselves may take.
constexpr milliseconds kSlack{20'000};

Result<std::string> program_of(Libc libc) {
    const std::string own = process::own_binary();
    std::string program = own.substr(0, own.rfind('/') + 1) + "pathproof-lookups" +
                          (libc == Libc::kMusl ? "-musl" : "");
    if (access(program.c_str(), X_OK) == 0) {
        return program;
    }
    return fail(
        ErrorCode::kNotFound, "there is no {}; {}build again", program,
        libc == Libc::kMusl ? "install musl-tools, 'meson setup --reconfigure build' and " : "");
}

}  // namespace

const char* name(Libc libc) {
    return libc == Libc::kGlibc ? "glibc" : "musl";
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
    std::istringstream lines(said);
    for (std::string line; std::getline(lines, line);) {
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
            outcome.addresses.push_back(address);
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

Result<std::vector<Outcome>> look_up(const std::string& netns, Libc libc,
                                     const std::vector<Lookup>& lookups, unsigned per_second) {
    milliseconds longest{0};
    for (const Lookup& each : lookups) {
        TRY(check_name(each.name));
        longest = std::max(longest, each.limit);
    }
    const unsigned rate = std::max(1U, per_second);
    const auto program = TRY(program_of(libc));
    const auto said = TRY(process::run_checked(
        {program, std::to_string(rate)},
        {.netns = netns,
         .input = requests_text(lookups),
         .timeout = longest + kSlack + milliseconds(1000 * lookups.size() / rate)}));
    return read_outcomes(said, lookups.size());
}

}  // namespace pathproof::resolver
