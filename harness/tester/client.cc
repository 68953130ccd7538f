#include "harness/tester/client.h"

#include <unistd.h>

#include <filesystem>

#include "harness/message/calls.h"
#include "harness/process/child.h"
#include "harness/process/netns.h"
#include "harness/tester/messages.h"

namespace pathproof::tester {
namespace {

using std::chrono::milliseconds;

// Patience for operations that take no time of their own.
constexpr milliseconds kPatience = std::chrono::seconds(30);
// EAL start-up, allocation of the report and its way through the socket, on a busy machine.
// The longest burst of a number of frames, which has no duration.
constexpr milliseconds kBurstTime = std::chrono::seconds(60);
constexpr milliseconds kMargin = std::chrono::seconds(60);

milliseconds longest_run(const pairs::PairPlan& plan,
                         const std::optional<traffic::ResponderPlan>& responder) {
    const auto delay = responder ? responder->longest_delay() : traffic::Nanoseconds(0);
    const double sending =
        plan.pairs_per_second > 0 ? static_cast<double>(plan.pairs) / plan.pairs_per_second : 0;
    return std::chrono::duration_cast<milliseconds>(std::chrono::duration<double>(sending) + delay +
                                                    plan.drain) +
           kMargin;
}

}  // namespace

Result<std::unique_ptr<Client>> Client::start(const TesterOptions& options) {
    if (!options.netns.empty() && !process::netns_exists(options.netns)) {
        return fail(ErrorCode::kNotFound, "start the tester: network namespace '{}' does not exist",
                    options.netns);
    }
    auto child = TRY(
        doing(process::Child::start({process::own_binary(), "tester"}, {.netns = options.netns}),
              "start the tester"));
    const std::string who =
        options.netns.empty() ? "tester" : fmt::format("tester in namespace {}", options.netns);
    std::unique_ptr<Client> client(new Client(std::move(child), who));
    client->opened_ = TRY(message::ask<Opened>(client->rpc_, "open", kPatience, options));
    return client;
}

Result<judge::PairReport> Client::run_pairs(const pairs::PairPlan& plan,
                                            const std::optional<traffic::ResponderPlan>& responder,
                                            const std::string& evidence_path) {
    return message::ask<judge::PairReport>(rpc_, "run_pairs", longest_run(plan, responder), plan,
                                           responder, evidence_path);
}

Result<search::TrialOutput> Client::try_pairs(
    const pairs::PairPlan& plan, const std::optional<traffic::ResponderPlan>& responder,
    double offered_tolerance) {
    return message::ask<search::TrialOutput>(rpc_, "try_pairs", longest_run(plan, responder), plan,
                                             responder, offered_tolerance);
}

Status Client::cancel() {
    return message::ask<void>(rpc_, "cancel", kPatience);
}

Status Client::start_wire(const softnic::WirePlan& plan, std::uint32_t wire) {
    return message::ask<void>(rpc_, "start_wire", kPatience, plan, wire);
}

Result<bool> Client::wire_broken() {
    return message::ask<bool>(rpc_, "wire_broken", kPatience);
}

Result<softnic::WireReport> Client::stop_wire(const std::string& evidence_path,
                                              std::uint32_t wire) {
    return message::ask<softnic::WireReport>(rpc_, "stop_wire", kPatience, evidence_path, wire);
}

Result<traffic::ExchangeReport> Client::exchange(const traffic::ExchangePlan& plan) {
    const auto longest = std::chrono::duration_cast<milliseconds>(plan.quiet) + kMargin;
    return message::ask<traffic::ExchangeReport>(rpc_, "exchange", longest, plan);
}

Result<softnic::NicLinkReport> Client::stop_software_nic() {
    return message::ask<softnic::NicLinkReport>(rpc_, "stop_software_nic", kPatience);
}

Status Client::start_recording(const traffic::RecordPlan& plan) {
    return message::ask<void>(rpc_, "start_recording", kPatience, plan);
}

Result<traffic::Recording> Client::stop_recording(const traffic::RecordEnd& end) {
    const auto longest = std::chrono::duration_cast<milliseconds>(end.longest) + kMargin;
    return message::ask<traffic::Recording>(rpc_, "stop_recording", longest, end);
}

Status Client::write_frames(const std::string& path, const std::string& about,
                            const std::vector<std::vector<std::uint8_t>>& frames) {
    return message::ask<void>(rpc_, "write_frames", kPatience, path, about, frames);
}

Status Client::start_load(const measure::PathLoad& load) {
    return message::ask<void>(rpc_, "start_load", kPatience, load);
}

Result<search::TrialOutput> Client::run_trial(const search::TrialInput& trial) {
    const auto longest =
        std::chrono::duration_cast<milliseconds>(trial.whole_duration() + kBurstTime) + kMargin;
    return message::ask<search::TrialOutput>(rpc_, "run_trial", longest, trial);
}

Result<LoadEnd> Client::stop_load() {
    return message::ask<LoadEnd>(rpc_, "stop_load", kPatience);
}

Status check_evidence_path(const std::string& path) {
    if (path.empty()) {
        return {};
    }
    std::error_code unreadable;
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    if (access(folder.empty() ? "." : folder.c_str(), W_OK) != 0 ||
        std::filesystem::is_directory(path, unreadable)) {
        return fail(ErrorCode::kBadInput,
                    "evidence file {}: its folder is missing or not writable, or it is one", path);
    }
    return {};
}

}  // namespace pathproof::tester
