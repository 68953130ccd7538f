#include "harness/cli/inspect/place.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>

#include "dataplane/base/number.h"
#include "harness/metrics/cni_cache.h"
#include "harness/process/netns.h"
#include "harness/process/program.h"

namespace pathproof::cli::inspect {
namespace {

constexpr std::size_t kShortestId = 8;

bool is_called(const metrics::CachedPod& cached, const std::string& name) {
    const bool is_pod =
        !cached.pod.name.empty() &&
        (name == cached.pod.name || name == cached.pod.pod_namespace + "/" + cached.pod.name);
    return is_pod || (name.size() >= kShortestId && cached.container.starts_with(name));
}

std::string title_of(const metrics::CachedPod& cached) {
    return cached.pod.name.empty() ? cached.container
                                   : cached.pod.pod_namespace + "/" + cached.pod.name;
}

// Empty: the cache knows none that is still there.
Result<std::string> from_cache(const std::string& name, const std::string& folder) {
    const auto cache = metrics::read_cni_cache(folder);
    if (!cache) {
        return std::string();
    }
    std::set<std::string> places, titles;
    for (const metrics::CachedPod& cached : cache->cached) {
        if (is_called(cached, name) && process::netns_exists(cached.netns)) {
            places.insert(cached.netns);
            titles.insert(title_of(cached));
        }
    }
    if (places.size() > 1) {
        return fail(ErrorCode::kBadInput, "'{}' fits several pods of this node: {}; name one whole",
                    name, fmt::join(titles, ", "));
    }
    return places.empty() ? std::string() : *places.begin();
}

// The namespace of the PID that a runtime printed; empty: it knows no running container of that name.
std::string place_of_process(const Result<process::ProgramOutput>& ran) {
    if (!ran || ran->exit_status != 0) {
        return "";
    }
    const auto pid = whole_number<std::uint32_t>(
        std::string_view(ran->out).substr(0, ran->out.find_first_of(" \r\n")));
    return pid && *pid != 0 ? fmt::format("/proc/{}/ns/net", *pid) : "";
}

Result<process::ProgramOutput> ask_runtime(const std::vector<std::string>& command) {
    return process::run_program(command, {.timeout = std::chrono::seconds(5)});
}

// crictl finds by a regular expression of the name, and inspects by the id.
std::string from_crictl(const std::string& name, const std::string& programs) {
    const std::string crictl = programs + "crictl";
    for (const auto& [list, inspect] : {std::pair{"pods", "inspectp"}, {"ps", "inspect"}}) {
        const auto found = ask_runtime({crictl, list, "--name", "^" + name + "$", "-q"});
        if (!found) {
            return "";  // it is not installed
        }
        const std::string id = found->out.substr(0, found->out.find_first_of(" \r\n"));
        for (const std::string& each : {id, name}) {
            const std::string place =
                each.empty()
                    ? ""
                    : place_of_process(ask_runtime({crictl, inspect, "--output", "go-template",
                                                    "--template", "{{.info.pid}}", each}));
            if (!place.empty()) {
                return place;
            }
        }
    }
    return "";
}

std::string from_runtimes(const std::string& name, const std::string& programs) {
    for (const char* runtime : {"docker", "podman", "nerdctl"}) {
        const std::string place = place_of_process(
            ask_runtime({programs + runtime, "inspect", "--format", "{{.State.Pid}}", "--", name}));
        if (!place.empty()) {
            return place;
        }
    }
    return from_crictl(name, programs);
}

bool is_name(const std::string& text) {
    constexpr std::string_view kLetters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./";
    return !text.empty() && text.front() != '-' && text.front() != '/' &&
           text.find_first_not_of(kLetters) == std::string::npos;
}

}  // namespace

Result<std::string> netns_of(const std::string& name, const std::string& cache,
                             const std::string& programs) {
    if (!is_name(name) || process::netns_exists(name)) {
        return name;
    }
    std::string place = TRY(from_cache(name, cache));
    if (place.empty() && name.find('/') == std::string::npos) {
        place = from_runtimes(name, programs);
    }
    return place.empty() ? name : place;
}

CLI::Validator named_place() {
    return CLI::Validator(
        [](std::string& value) {
            auto place = netns_of(value);
            if (!place) {
                return place.error().message;
            }
            value = std::move(*place);
            return std::string();
        },
        "");
}

}  // namespace pathproof::cli::inspect
