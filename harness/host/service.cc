#include "harness/host/service.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "dataplane/base/exit_code.h"
#include "harness/agent/ethtool.h"
#include "harness/agent/feature_trial.h"
#include "harness/agent/server.h"
#include "harness/lab/host_apply.h"
#include "harness/lab/journal.h"
#include "harness/lab/netns_identity.h"
#include "harness/lab/recovery.h"
#include "harness/lab/run_lock.h"
#include "harness/lab/signals.h"
#include "harness/message/calls.h"

namespace pathproof::host {
namespace {

using std::chrono::steady_clock;

using Wanted = std::vector<std::pair<std::string, bool>>;

constexpr std::chrono::seconds kLongestSilence{20};

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

    Status apply(const std::vector<agent::HostChange>& changes) {
        const std::lock_guard lock(mutex_);
        TRY(begin_change());
        made_netns_ = made_netns_ || std::ranges::count(changes, agent::HostChange::Kind::kNetns,
                                                        &agent::HostChange::kind) != 0;
        return lab::apply(changes, *journal_, fronts_);
    }

    // Has `make` change features, and undoes it as apply()'s changes.
    Status keep_features(const std::string& device, const Wanted& wanted,
                         const std::function<Status()>& make) {
        const std::lock_guard lock(mutex_);
        TRY(begin_change());
        return journal_->change_features("", device, wanted, make);
    }

    Result<std::vector<std::string>> put_back() {
        const std::lock_guard lock(mutex_);
        heard_ = steady_clock::now();
        auto left = undo();
        if (left && !alone_.empty()) {
            return fail(ErrorCode::kUnavailable, "{}", alone_);  // before the controller was done
        }
        return left;
    }

    Status leave() {
        const std::lock_guard lock(mutex_);
        heard_ = steady_clock::now();
        TRY(journal_ ? journal_->abandon() : Status());
        journal_.reset();
        fronts_.clear();
        lock_.reset();
        return {};
    }

    Status beat() {
        const std::lock_guard lock(mutex_);
        heard_ = steady_clock::now();
        return {};
    }

    // Ends the process, and undoes all before that if a change in progress ends within 10 s.
    [[noreturn]] void end() {
        std::unique_lock lock(mutex_, std::defer_lock);
        // Whoever changes something now goes on to the end of that change.
        if (lock.try_lock_for(std::chrono::seconds(10))) {
            static_cast<void>(undo());
        }
        _exit(kIncomplete);
    }

  private:
    // With the lock held.
    Status begin_change() {
        heard_ = steady_clock::now();
        if (!alone_.empty()) {
            return fail(ErrorCode::kUnavailable, "{}", alone_);
        }
        if (journal_) {
            return {};
        }
        const std::string command = fmt::format("pathproof agent (pid {})", getpid());
        const lab::NetnsIdentity netns = TRY(lab::current_netns());
        auto held = TRY(lab::RunLock::take_host(lab::journal_directory({}), netns.inode, command));
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
        fronts_.clear();
        lock_.reset();
        if (made_netns_) {
            undo_of_agents_inside();
        }
        return undone ? Result<std::vector<std::string>>(std::move(left)) : pass_on(undone.error());
    }

    // Agents that were in the namespaces ended with them, and may have left a journal.
    static void undo_of_agents_inside() {
        const std::string directory = lab::journal_directory({});
        static_cast<void>(lab::recover_journals(directory, {}, lab::Tell::kOnce));
        rmdir(directory.c_str());  // fails while anything else is in it, as it should
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
    lab::HostFronts fronts_;
    bool made_netns_ = false;
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
        using message::operation;
        server.on("apply", operation([&](const std::vector<agent::HostChange>& changes) {
                      return host.apply(changes);
                  }));
        server.on("put_back", operation([&] { return host.put_back(); }));
        server.on("try_feature", operation([&](const std::string& device, const std::string& name,
                                               bool on) -> Result<agent::FeatureTrial> {
                      agent::FeatureTrial trial;
                      TRY(host.keep_features(device, {{name, on}}, [&]() -> Status {
                          trial = TRY(agent::try_feature(device, name, on));
                          return {};
                      }));
                      return trial;
                  }));
        server.on("request_features",
                  operation([&](const std::string& device, const Wanted& wanted) {
                      return host.keep_features(
                          device, wanted, [&] { return agent::request_features(device, wanted); });
                  }));
        server.on("leave", operation([&] { return host.leave(); }));
        server.on("beat", operation([&] { return host.beat(); }));
    });
    host.finish();
}

}  // namespace pathproof::host
