// perf_event_open(2): events of one CPU and the ring in which the kernel hands them over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "dataplane/base/file.h"
#include "dataplane/base/result.h"

namespace pathproof::drops {

// An event that somebody has to close: a file descriptor of perf_event_open(2).
class PerfEvent {
  public:
    // The tracepoint of this ID, counting only: what a BPF program is attached to.
    static Result<PerfEvent> count_tracepoint(std::uint64_t id, int cpu);

    int fd() const { return fd_.get(); }
    // Runs a loaded BPF program of type tracepoint at each of these events, on all CPUs.
    Status attach(int program);
    Status enable();
    // A disabled event starts no new sample; what is in its ring stays there.
    void disable();

  private:
    friend class PerfRing;
    explicit PerfEvent(int fd) : fd_(fd) {}
    Fd fd_;
};

// Samples of one CPU: a time (CLOCK_MONOTONIC, nanoseconds) and the raw bytes of the sample.
class PerfRing {
  public:
    // The bytes that a tracepoint records, or those that bpf_perf_event_output() is called with.
    struct Source {
        enum class Kind { kTracepoint, kBpfOutput } kind = Kind::kTracepoint;
        std::uint64_t tracepoint_id = 0;
    };
    // Disabled at first. `bytes` is rounded up to a power of two of pages.
    static Result<PerfRing> open(const Source& source, int cpu, std::size_t bytes);

    PerfEvent& event() { return event_; }
    int fd() const { return event_.fd(); }

    using Visitor = std::function<void(std::int64_t time_ns, std::span<const std::byte> raw)>;
    // Takes everything out of the ring.
    void drain(const Visitor& visit);
    // Samples that found the ring full: as the event counts them (PERF_FORMAT_LOST, Linux 6.0),
    // else as the ring has told so far, which is when the next sample finds room.
    std::uint64_t lost() const;

  private:
    struct Unmap {
        std::size_t bytes = 0;
        void operator()(void* memory) const;
    };
    using Memory = std::unique_ptr<void, Unmap>;
    PerfRing(PerfEvent event, Memory memory, std::size_t bytes, bool counts_lost)
        : event_(std::move(event)),
          memory_(std::move(memory)),
          ring_bytes_(bytes),
          counts_lost_(counts_lost) {}

    PerfEvent event_;
    Memory memory_;  // one page of control data, then the ring
    std::size_t ring_bytes_ = 0;
    bool counts_lost_ = false;
    std::uint64_t lost_told_ = 0;
    std::vector<std::byte> record_;  // one that wraps around the end of the ring
};

// The CPUs of this machine that are online.
std::vector<int> online_cpus();

}  // namespace pathproof::drops
