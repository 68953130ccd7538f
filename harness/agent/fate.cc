#include "harness/agent/operations.h"
#include "harness/fate/follower.h"

namespace pathproof::agent {
namespace {

class FateWatch {
  public:
    static Result<std::unique_ptr<FateWatch>> start(const fate::FollowOptions& options) {
        auto watch = std::make_unique<FateWatch>();
        auto follower = fate::Follower::start(options);
        if (follower) {
            watch->follower_ = std::move(*follower);
        } else {
            watch->not_followed_ = follower.error().message;
        }
        return watch;
    }

    fate::Fates stop() {
        return follower_ ? follower_->stop() : fate::Fates{.not_followed = not_followed_};
    }

  private:
    std::unique_ptr<fate::Follower> follower_;
    std::string not_followed_;
};

}  // namespace

Status Client::start_fate(const fate::FollowOptions& options) {
    return impl_->ask_for<void>(kStartTime, "start_fate", options);
}

Result<fate::Fates> Client::stop_fate() {
    return impl_->ask_for<fate::Fates>(kBulkTime, "stop_fate");
}

void add_fate(Operations& operations) {
    operations.add_one<FateWatch, fate::FollowOptions>("fate", "a watch of packets' fates");
}

}  // namespace pathproof::agent
