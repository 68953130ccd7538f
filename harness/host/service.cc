#include "harness/host/service.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "harness/agent/ethtool.h"
#include "harness/agent/feature_trial.h"
#include "harness/agent/offload_message.h"
#include "harness/agent/server.h"
#include "harness/lab/host_apply.h"
#include "harness/lab/journal.h"
#include "harness/lab/netns_identity.h"
#include "harness/lab/recovery.h"
#include "harness/lab/run_lock.h"
#include "harness/lab/signals.h"

namespace pathproof::host {
namespace {

using nlohmann::json;
using std::chrono::steady_clock;

using Wanted = std::vector<std::pair<std::string, bool>>;

constexpr std::chrono::seconds kLongestSilence{20};
constexpr int kStopped = 3;

// The journal is there from the first change until all is put back.
class Host {
  public:
    Host() {
        std::thread([this] { watch(); }).detach();
    }

    // The input ended.
    void finish() {
        const std::lock_guard lock(mutex_);
        static_cast<void>(undo());  // what cannot be put back stays in the journal
    }

    Result<json> apply(const json& args) {
        const auto changes = args.get<std::vector<agent::HostChange>>();
        const std::lock_guard lock(mutex_);
        heard_ = steady_clock::now();
        if (!alone_.empty()) {
            return fail(ErrorCode::kUnavailable, "{}", alone_);
        }
        TRY(open_journal());
        const Status made = lab::apply(changes, *journal_);
        return made ? Result<json>(json()) : pass_on(made.error());
    }

    // What `make` does to features, as apply().
    Result<json> keep_features(const json& args, const Wanted& wanted,
                               const std::function<Result<json>(const std::string&)>& make) {
        const auto device = args.at("device").get<std::string>();
        const std::lock_guard lock(mutex_);
        heard_ = steady_clock::now();
        if (!alone_.empty()) {
            return fail(ErrorCode::kUnavailable, "{}", alone_);
        }
        TRY(open_journal());
        json made;
        TRY(journal_->change_features("", device, wanted, [&]() -> Status {
            made = TRY(make(device));
            return {};
        }));
        return made;
    }

    Result<json> put_back() {
        const std::lock_guard lock(mutex_);
        heard_ = steady_clock::now();
        auto left = undo();
        if (left && !alone_.empty()) {
            return fail(ErrorCode::kUnavailable, "{}", alone_);  // before the controller was done
        }
        return left ? Result<json>(json(*left)) : pass_on(left.error());
    }

    Result<json> beat() {
        const std::lock_guard lock(mutex_);
        heard_ = steady_clock::now();
        return json();
    }

    // Of the thread that ends the process.
    [[noreturn]] void end() {
        std::unique_lock lock(mutex_, std::defer_lock);
        // Whoever changes something now goes on to the end of that change.
        if (lock.try_lock_for(std::chrono::seconds(10))) {
            static_cast<void>(undo());
        }
        _exit(kStopped);
    }

  private:
    Status open_journal() {
        if (journal_) {
            return {};
        }
        const std::string command = fmt::format("pathproof agent (pid {})", getpid());
        const auto netns = lab::current_netns();
        auto held =
            TRY(netns ? lab::RunLock::take_host(lab::journal_directory({}), netns->inode, command)
                      : pass_on(netns.error()));
        auto journal = TRY(lab::Journal::open_unlocked(command));
        lock_.emplace(std::move(held));
        journal_ = std::move(journal);
        return {};
    }

    Result<std::vector<std::string>> undo() {
        if (!journal_) {
            return std::vector<std::string>();
        }
        const Status undone = journal_->undo();
        std::vector<std::string> left = journal_->left_alone();
        journal_.reset();
        lock_.reset();
        return undone ? Result<std::vector<std::string>>(std::move(left)) : pass_on(undone.error());
    }

    void watch() {
        for (;; std::this_thread::sleep_for(std::chrono::seconds(1))) {
            const std::lock_guard lock(mutex_);
            if (journal_ && steady_clock::now() - heard_ > kLongestSilence) {
                alone_ = fmt::format(
                    "nothing was heard of the controller for {} s: the host was put back",
                    kLongestSilence.count());
                if (const auto undone = undo(); !undone) {
                    alone_ += ", but not all of it: " + undone.error().message;
                }
            }
        }
    }

    std::timed_mutex mutex_;
    std::optional<lab::RunLock> lock_;
    std::unique_ptr<lab::Journal> journal_;
    steady_clock::time_point heard_ = steady_clock::now();
    std::string alone_;  // why the host was put back without being asked
};

}  // namespace

void serve(int input, int output) {
    const lab::SignalHold hold;
    const int signals = signalfd(-1, &hold.signals(), SFD_CLOEXEC);
    // Never destroyed: its threads go on to the end of the process.
    Host& host = *new Host;
    std::thread([&host, signals] {
        signalfd_siginfo arrived{};
        while (read(signals, &arrived, sizeof arrived) < 0) {
        }
        host.end();
    }).detach();
    agent::serve(input, output, [&](process::RpcServer& server) {
        server.on("apply", [&](const json& args) { return host.apply(args); });
        server.on("put_back", [&](const json&) { return host.put_back(); });
        server.on("try_feature_kept", [&](const json& args) {
            const auto name = args.at("name").get<std::string>();
            const bool on = args.at("on").get<bool>();
            return host.keep_features(
                args, {{name, on}}, [&](const std::string& device) -> Result<json> {
                    const agent::FeatureTrial trial = TRY(agent::try_feature(device, name, on));
                    return json(trial);
                });
        });
        server.on("request_features_kept", [&](const json& args) {
            const auto wanted = args.at("features").get<Wanted>();
            return host.keep_features(args, wanted, [&](const std::string& device) -> Result<json> {
                TRY(agent::request_features(device, wanted));
                return json();
            });
        });
        server.on("beat", [&](const json&) { return host.beat(); });
    });
    host.finish();
}

}  // namespace pathproof::host
