#include "harness/kubernetes/cluster.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "dataplane/base/join_each.h"
#include "harness/process/foreign.h"
#include "harness/process/json_text.h"
#include "harness/process/program.h"
#include "harness/process/stop.h"

namespace pathproof::kubernetes {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr auto kLook = std::chrono::milliseconds(500);
constexpr auto kCall = std::chrono::seconds(60);  // of kubectl

struct Side {
    const char* from;
    const char* job;
};
constexpr Side kSides[] = {{"pod", "pathproof-preflight-pod"},
                           {"node", "pathproof-preflight-node"}};

class Cluster {
  public:
    explicit Cluster(const ClusterOptions& options) : options_(options) {}

    Result<ClusterResult> run() {
        const std::string objects = TRY(manifest());
        // Jobs of before cannot be changed.
        TRY(kubectl({"delete", "--ignore-not-found", "-f", "-"}, jobs_of(objects)));
        const auto laid = kubectl({"apply", "-f", "-"}, objects);
        Result<ClusterResult> result =
            laid ? watch() : Result<ClusterResult>(pass_on(laid.error()));
        if (!options_.keep) {
            const auto gone = kubectl({"delete", "--ignore-not-found", "--wait=false", "-f", "-"},
                                      jobs_of(objects));
            if (result && !gone) {
                return pass_on(gone.error());
            }
        }
        return result;
    }

  private:
    Result<std::string> manifest() const {
        ManifestOptions values{.values = {{"--client-node", options_.client_node},
                                          {"--server-node", options_.server_node},
                                          {"--namespace", options_.name_space}}};
        if (!options_.image.empty()) {
            values.values.emplace_back("--image", options_.image);
        }
        TRY(check(values));
        std::string text;
        for (const ManifestFile& file : manifest_files()) {
            const std::string name = file.name;
            text += name == "namespace" || name == "preflight" ? fill_in(file.text, values) : "";
        }
        return text;
    }

    // Without the namespace, which may hold the exporter.
    static std::string jobs_of(const std::string& objects) {
        const auto second = objects.find("\n---\n");
        return second == std::string::npos ? objects : objects.substr(second + 1);
    }

    Result<std::string> kubectl(std::vector<std::string> words,
                                const std::string& input = "") const {
        std::vector<std::string> command = options_.kubectl;
        command.insert(command.end(), words.begin(), words.end());
        const auto ran = process::run_program(command, {.input = input, .timeout = kCall});
        if (!ran) {
            return fail(ErrorCode::kBadInput, "{}", ran.error().message);
        }
        if (ran->exit_status != 0) {
            const std::string said = process::without_controls(ran->err);
            return fail(ErrorCode::kUnavailable, "`{}` ended with {}: {}", fmt::join(command, " "),
                        ran->exit_status, said.substr(0, said.find('\n')));
        }
        return ran->out;
    }

    Result<std::string> in_namespace(std::vector<std::string> words) const {
        words.insert(words.begin(), {"--namespace", options_.name_space});
        return kubectl(std::move(words));
    }

    // Returns whether the Job has come to its end.
    Result<bool> is_over(const std::string& job) const {
        const json object = process::parse_foreign(
            process::valid_utf8(TRY(in_namespace({"get", "job", job, "-o", "json"}))));
        const json& conditions = process::part(process::part(object, "status"), "conditions");
        return conditions.is_array() && std::ranges::any_of(conditions, [](const json& each) {
                   const std::string type = process::text_of(process::part(each, "type"));
                   return process::text_of(process::part(each, "status")) == "True" &&
                          (type == "Complete" || type == "Failed");
               });
    }

    Result<ClusterResult> watch() const {
        const auto deadline = Clock::now() + options_.wait;
        ClusterResult result;
        for (const Side& side : kSides) {
            bool over = TRY(is_over(side.job));
            while (!over && Clock::now() < deadline && !process::stopping()) {
                process::sleep_until(std::min(Clock::now() + kLook, deadline));
                over = TRY(is_over(side.job));
            }
            result.sides.push_back(over ? TRY(read(side)) : late(side));
        }
        result.line = fmt::format("{} > {}: {}", options_.client_node, options_.server_node,
                                  join_each(
                                      result.sides,
                                      [](const FromOneSide& side) {
                                          return fmt::format("from a {}: {}", side.from, side.line);
                                      },
                                      "; "));
        return result;
    }

    FromOneSide late(const Side& side) const {
        return {
            .from = side.from,
            .line = fmt::format("the Job {} was not done in {} s: `kubectl -n {} describe pods` "
                                "says why",
                                side.job, options_.wait.count(), options_.name_space)};
    }

    // The last line that is an object of JSON with a line.
    Result<FromOneSide> read(const Side& side) const {
        FromOneSide found{.from = side.from, .line = "the Job printed no result"};
        const std::string logs = TRY(in_namespace({"logs", std::string("job/") + side.job}));
        for (const std::string& text : process::lines_of(process::valid_utf8(logs))) {
            const json value = process::parse_foreign(text);
            if (value.is_object() && process::part(value, "preflight").is_string()) {
                found.line =
                    process::without_controls(process::text_of(process::part(value, "preflight")));
                found.exit_code =
                    static_cast<int>(process::number_of(process::part(value, "exit_code")));
            }
        }
        return found;
    }

    const ClusterOptions& options_;
};

}  // namespace

int ClusterResult::exit_code() const {
    const auto any = [&](int code) {
        return std::ranges::any_of(sides,
                                   [&](const FromOneSide& side) { return side.exit_code == code; });
    };
    const bool all_right =
        !sides.empty() &&
        std::ranges::all_of(sides, [](const FromOneSide& side) { return side.exit_code == 0; });
    if (any(1)) {
        return 1;
    }
    return all_right ? 0 : 3;
}

Result<ClusterResult> preflight(const ClusterOptions& options) {
    return Cluster(options).run();
}

}  // namespace pathproof::kubernetes
