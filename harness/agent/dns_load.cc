#include "harness/agent/dns_load.h"

#include <sched.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <thread>

#include "dataplane/base/clock.h"
#include "dataplane/frame/dns.h"
#include "harness/agent/operations.h"
#include "harness/agent/socket.h"
#include "harness/process/stop.h"

namespace pathproof::agent {
namespace {

using Bytes = std::vector<std::uint8_t>;
using LoadClock = std::chrono::steady_clock;
using Asks = DnsLoadOptions::Asks;

constexpr milliseconds kLongestWait{20};
constexpr double kLongest = 2;  // times what the rate says
constexpr std::array<std::uint16_t, 2> kTypes = {frame::kDnsTypeA, frame::kDnsTypeAaaa};

struct Open {
    Fd socket;
    std::array<Bytes, 2> queries;
    std::array<bool, 2> answered{};
    LoadClock::time_point began;
};

// The calling thread alone on the nth CPU that it may run on, where there is one.
void stay_on(int nth) {
    cpu_set_t may;
    if (sched_getaffinity(0, sizeof may, &may) != 0 || CPU_COUNT(&may) < 2) {
        return;
    }
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &may) && nth-- == 0) {
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            sched_setaffinity(0, sizeof one, &one);
        }
    }
}

// Sends the second query of each pair, at the moment at which the first is sent.
class SecondSender {
  public:
    explicit SecondSender(const std::vector<Open>& open)
        : thread_([this, &open](const std::stop_token& leaving) {
              stay_on(1);
              for (std::size_t next = 0;; ++next) {
                  waits_.store(next + 1);
                  while (go_.load(std::memory_order_acquire) <= next) {
                      if (leaving.stop_requested()) {
                          return;
                      }
                  }
                  const Bytes& query = open[next].queries[1];
                  (void)!send(open[next].socket.get(), query.data(), query.size(), MSG_NOSIGNAL);
                  done_.store(next + 1);
              }
          }) {}
    // Both threads run from its return on. The second may be without a CPU for long.
    void meet(std::size_t index) const {
        while (waits_.load(std::memory_order_acquire) <= index) {
            std::this_thread::yield();
        }
    }
    void go(std::size_t index) { go_.store(index + 1, std::memory_order_release); }
    void finish(std::size_t index) const {
        while (done_.load() <= index) {
            std::this_thread::yield();
        }
    }

  private:
    std::atomic<std::size_t> waits_ = 0;
    std::atomic<std::size_t> go_ = 0;
    std::atomic<std::size_t> done_ = 0;
    std::jthread thread_;
};

class Load {
  public:
    Load(const DnsLoadOptions& options, Fd epoll) : options_(options), epoll_(std::move(epoll)) {}

    Result<DnsLoadReport> run() {
        allow_descriptors();
        TRY(open_all());
        std::thread receiver([this] { receive(); });
        send_all();
        receiver.join();
        report_.lookups.resize(std::min<std::size_t>(open_.size(), left_out_from_));
        return std::move(report_);
    }

  private:
    bool pairs() const { return options_.asks != Asks::kA; }

    Status open_all() {
        open_.resize(options_.lookups);
        report_.lookups.resize(options_.lookups);
        for (std::size_t i = 0; i < open_.size(); ++i) {
            Open& open = open_[i];
            const auto name =
                TRY(options_.own_names
                        ? frame::sequence_name(static_cast<std::uint32_t>(i), options_.name)
                        : frame::DnsName::from_text(options_.name));
            open.socket = TRY(open_socket(socket_family(options_.server.address), SOCK_DGRAM, 0));
            if (const int refused =
                    connect_before(open.socket.get(), options_.server, Deadline(milliseconds(0)))) {
                return system_failure("reach " + to_string(options_.server), refused);
            }
            for (std::size_t type = 0; type < kTypes.size(); ++type) {
                open.queries[type].resize(512);
                open.queries[type].resize(frame::write_query(
                    open.queries[type], {.id = static_cast<std::uint16_t>(i * 2 + type),
                                         .name = name,
                                         .type = kTypes[type]}));
            }
            const auto local = local_endpoint(open.socket.get());
            report_.lookups[i].port = local ? local->port : std::uint16_t{0};
            epoll_event event{.events = EPOLLIN, .data = {.u64 = i}};
            epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, open.socket.get(), &event);
        }
        return {};
    }

    void send_all() {
        std::optional<SecondSender> second;
        if (options_.asks == Asks::kPairTogether) {
            second.emplace(open_);  // before this thread stays on one CPU: it may run where we may
            stay_on(0);
        }
        const auto begin = LoadClock::now();
        for (std::size_t i = 0; i < open_.size(); ++i) {
            if (process::stopping()) {
                left_out_from_ = i;
                break;
            }
            if (options_.per_second > 0) {
                // On a busy machine both threads seldom run: the rest is left out.
                if (milliseconds_since(begin) >
                    kLongest * 1000.0 * static_cast<double>(open_.size()) / options_.per_second) {
                    left_out_from_ = i;
                    break;
                }
                std::this_thread::sleep_until(
                    begin + std::chrono::nanoseconds(static_cast<std::int64_t>(
                                1e9 * static_cast<double>(i) / options_.per_second)));
            }
            {
                const std::lock_guard lock(mutex_);
                open_[i].began = LoadClock::now();
                report_.lookups[i].start_ns = realtime_ns();
                report_.lookups[i].asked = pairs() ? 2 : 1;
            }
            if (second) {
                second->meet(i);
                second->go(i);
            }
            send_one(open_[i], 0);
            if (second) {
                second->finish(i);
            } else if (pairs()) {
                send_one(open_[i], 1);
            }
        }
        last_sent_ = realtime_ns();
    }

    static void send_one(const Open& open, std::size_t type) {
        // A refusal, by an ICMP message for one, is told by the next recv(2) or is the kernel's loss.
        (void)!send(open.socket.get(), open.queries[type].data(), open.queries[type].size(),
                    MSG_NOSIGNAL);
    }

    // Until all are answered, or the last one's time is over.
    void receive() {
        std::array<epoll_event, 256> events;
        std::size_t finished = 0;
        const std::int64_t patience = std::chrono::nanoseconds(options_.timeout).count();
        while (finished < std::min<std::size_t>(open_.size(), left_out_from_) &&
               (last_sent_ == 0 || realtime_ns() - last_sent_ < patience)) {
            const int ready = epoll_wait(epoll_.get(), events.data(),
                                         static_cast<int>(events.size()), kLongestWait.count());
            for (int i = 0; i < ready; ++i) {
                finished += take(events[static_cast<std::size_t>(i)].data.u64) ? 1 : 0;
            }
        }
    }

    // True where nothing more is to come.
    bool take(std::size_t index) {
        Open& open = open_[index];
        std::array<std::uint8_t, 4096> buffer;
        const ssize_t got = recv(open.socket.get(), buffer.data(), buffer.size(), 0);
        const int reason = got < 0 ? errno : 0;
        const std::lock_guard lock(mutex_);
        DnsLoadReport::Lookup& lookup = report_.lookups[index];
        if (reason != 0) {
            lookup.error = reason == EAGAIN || reason == EINTR ? lookup.error : reason;
            return false;
        }
        const std::span<const std::uint8_t> message(buffer.data(), static_cast<std::size_t>(got));
        if (!is_whole_dns(message)) {
            lookup.error = EBADMSG;
            return false;
        }
        const frame::DnsReader reader(message);
        const frame::DnsHeader& header = reader.header();
        const std::size_t type = header.id - static_cast<std::uint16_t>(index * 2);
        const double took = milliseconds_since(open.began);
        if (!header.response || type >= lookup.asked || open.answered[type] ||
            took > static_cast<double>(options_.timeout.count())) {
            return false;
        }
        open.answered[type] = true;
        ++(header.truncated ? lookup.truncated : lookup.answered);
        lookup.milliseconds = took;
        lookup.rcode = header.rcode != 0 ? header.rcode : lookup.rcode;
        return lookup.answered + lookup.truncated == lookup.asked;
    }

    const DnsLoadOptions& options_;
    Fd epoll_;
    std::vector<Open> open_;
    std::mutex mutex_;  // of the report, and of when each began
    DnsLoadReport report_;
    std::atomic<std::int64_t> last_sent_ = 0;
    std::atomic<std::size_t> left_out_from_ = SIZE_MAX;
};

}  // namespace

bool is_whole_dns(std::span<const std::uint8_t> message) {
    frame::DnsReader reader(message);
    while (reader.next_record()) {
    }
    return reader.defect() == frame::DnsDefect::kNone;
}

Result<DnsLoadReport> dns_load(const DnsLoadOptions& options) {
    Fd epoll(epoll_create1(EPOLL_CLOEXEC));
    if (!epoll) {
        return system_failure("make an event loop", errno);
    }
    Result<DnsLoadReport> report = fail(ErrorCode::kFailed, "nothing was sent");
    // A thread of its own: it stays on one CPU.
    std::thread([&] { report = Load(options, std::move(epoll)).run(); }).join();
    return report;
}

Status check(const DnsLoadOptions& options) {
    constexpr std::uint32_t kMostLookups = 12'000;  // a descriptor each
    if (options.lookups > kMostLookups || !(options.per_second >= 0)) {
        return fail(ErrorCode::kBadInput, "{} lookups at {} a second: allowed are up to {}",
                    options.lookups, options.per_second, kMostLookups);
    }
    return {};
}

Result<DnsLoadReport> Client::dns_load(const DnsLoadOptions& options) {
    return impl_->ask_for<DnsLoadReport>(options.timeout + kBulkTime, "dns_load", options);
}

void add_dns_load(Operations& operations) {
    operations.add("dns_load", agent::dns_load);
}

}  // namespace pathproof::agent
