#include "harness/drops/tracer.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <mutex>
#include <thread>

#include "dataplane/base/file.h"
#include "harness/drops/perf_event.h"
#include "harness/drops/tally.h"
#include "harness/drops/tracefs.h"
#include "harness/process/netns.h"

namespace pathproof::drops {
namespace {

using Clock = std::chrono::steady_clock;
using Kind = PerfRing::Source::Kind;

// Rings wake us when a quarter full; between that, drops are taken out this often.
constexpr int kLongestWaitMs = 100;

Result<std::uint32_t> netns_inode(const std::string& netns) {
    return process::in_netns(netns, []() -> Result<std::uint32_t> {
        struct stat file {};
        if (stat("/proc/thread-self/ns/net", &file) != 0) {
            return fail(ErrorCode::kFailed, "look at /proc/thread-self/ns/net: {}",
                        std::strerror(errno));
        }
        return static_cast<std::uint32_t>(file.st_ino);
    });
}

std::int64_t clock_ns(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// The program and the event that it runs at.
struct Attached {
    PacketProgram program;
    PerfEvent event;
};

Result<Attached> attach_program(const DropEvent& event, std::optional<std::uint32_t> inode,
                                int cpu) {
    const auto layout = TRY(kernel_layout());
    auto program = TRY(PacketProgram::load(event, layout, inode));
    auto counted = TRY(PerfEvent::count_tracepoint(event.id, cpu));
    TRY(counted.attach(program.fd()));
    return Attached{.program = std::move(program), .event = std::move(counted)};
}

// Symbols that all tracers of this process share: it is the same few places that drop packets, and
// reading the list of all symbols takes a tenth of a second.
struct Symbols {
    std::mutex mutex;  // taken before that of a tracer
    KernelSymbols names;
};
Symbols& all_symbols() {
    static Symbols symbols;
    return symbols;
}

class RingTracer final : public DropTracer {
  public:
    ~RingTracer() override { end(); }

    Status open(const TraceOptions& options) {
        const auto inode = TRY(netns_inode(options.netns));
        const auto text = TRY(read_event_format("skb/kfree_skb"));
        const auto event = TRY(parse_drop_event(text));
        event_ = event;
        const std::vector<int> cpus = online_cpus();
        if (cpus.empty()) {
            return fail(ErrorCode::kFailed, "no CPU is listed in /sys/devices/system/cpu/online");
        }
        Scope scope = options.scope;
        if (options.detail == TraceOptions::Detail::kPacket) {
            auto attached = attach_program(
                event, scope == Scope::kNamespace ? std::optional(inode) : std::nullopt, cpus[0]);
            if (attached) {
                attached_.emplace(std::move(*attached));
            } else {
                scope_reason_ = attached.error().message;
            }
        } else {
            scope_reason_ = "the tracepoint does not carry it";
        }
        if (scope == Scope::kMachine) {
            scope_reason_.clear();
        }
        tally_.emplace(event, attached_ ? scope : Scope::kMachine);
        return open_rings(event, options.buffer_bytes);
    }

    void run() {
        reader_ = std::thread([this] {
            std::vector<pollfd> waited{{.fd = stop_event_.get(), .events = POLLIN, .revents = 0}};
            for (const PerfRing& ring : rings_) {
                waited.push_back({.fd = ring.fd(), .events = POLLIN, .revents = 0});
            }
            while ((waited[0].revents & POLLIN) == 0) {
                ::poll(waited.data(), waited.size(), kLongestWaitMs);
                const std::lock_guard lock(mutex_);
                drain();
            }
        });
    }

    DropSummary poll() override {
        Symbols& symbols = all_symbols();
        const std::lock_guard one_at_a_time(symbols.mutex);
        std::unique_lock lock(mutex_);
        drain();
        const Tally tally = *tally_;
        const Clock::time_point until = ended_.value_or(Clock::now());
        std::uint64_t lost = 0;
        for (const PerfRing& ring : rings_) {
            lost += ring.lost();
        }
        // Looking symbols up takes a while, and the reader has to go on draining.
        lock.unlock();
        DropSummary summary = tally.summary(symbols.names);
        summary.scope_reason = scope_reason_;
        summary.seconds = std::chrono::duration<double>(until - started_).count();
        summary.lost = lost;
        return summary;
    }

    DropSummary stop() override {
        end();
        return poll();
    }

  private:
    Status open_rings(const DropEvent& event, std::size_t bytes) {
        const PerfRing::Source source{.kind = attached_ ? Kind::kBpfOutput : Kind::kTracepoint,
                                      .tracepoint_id = event.id};
        for (const int cpu : online_cpus()) {
            auto ring = TRY(PerfRing::open(source, cpu, bytes));
            if (attached_) {
                TRY(attached_->program.send_to(cpu, ring.fd()));
            }
            rings_.push_back(std::move(ring));
        }
        stop_event_ = Fd(eventfd(0, EFD_CLOEXEC));
        if (!stop_event_) {
            return fail(ErrorCode::kFailed, "eventfd: {}", std::strerror(errno));
        }
        to_realtime_ns_ = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
        started_ = Clock::now();
        for (PerfRing& ring : rings_) {
            TRY(ring.event().enable());
        }
        // Last, so that the program never finds a ring that is not ready.
        return attached_ ? attached_->event.enable() : Status{};
    }

    void drain() {
        const auto add = [this](std::int64_t time_ns, std::span<const std::byte> raw) {
            const auto facts = attached_ ? read_program_output(raw) : read_tracepoint(raw, *event_);
            if (facts) {
                tally_->add(*facts, time_ns + to_realtime_ns_);
            }
        };
        for (PerfRing& ring : rings_) {
            ring.drain(add);
        }
    }

    void end() {
        if (!ended_ && reader_.joinable()) {
            if (attached_) {
                attached_->event.disable();
            }
            for (PerfRing& ring : rings_) {
                ring.event().disable();
            }
            {
                const std::lock_guard lock(mutex_);
                ended_ = Clock::now();
            }
            while (eventfd_write(stop_event_.get(), 1) < 0 && errno == EINTR) {
            }
            reader_.join();
        }
    }

    std::optional<Attached> attached_;
    std::vector<PerfRing> rings_;
    Fd stop_event_;
    std::thread reader_;

    // Written before the reader starts.
    std::optional<DropEvent> event_;
    std::string scope_reason_;
    Clock::time_point started_;
    std::int64_t to_realtime_ns_ = 0;

    std::mutex mutex_;  // guards the rings' reading ends and what follows
    std::optional<Tally> tally_;
    std::optional<Clock::time_point> ended_;
};

}  // namespace

Result<std::unique_ptr<DropTracer>> DropTracer::start(const TraceOptions& options) {
    auto tracer = std::make_unique<RingTracer>();
    TRY(tracer->open(options));
    tracer->run();
    return tracer;
}

}  // namespace pathproof::drops
