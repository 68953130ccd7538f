#include "harness/drops/perf_event.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <utility>

#include "harness/drops/raw_value.h"

namespace pathproof::drops {
namespace {

// PERF_FORMAT_LOST, which Debian 12's kernel headers may be too old for.
constexpr std::uint64_t kFormatLost = 1u << 4;

int perf_event_open(perf_event_attr& attributes, int cpu) {
    return static_cast<int>(
        syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC));
}

std::string paranoia() {
    std::string level;
    std::ifstream("/proc/sys/kernel/perf_event_paranoid") >> level;
    return level.empty() ? "" : fmt::format(" (kernel.perf_event_paranoid is {})", level);
}

Failure not_opened(int problem) {
    if (problem == EACCES || problem == EPERM) {
        return fail(ErrorCode::kNotPermitted,
                    "drop reasons need CAP_PERFMON or root: perf_event_open: {}{}",
                    std::strerror(problem), paranoia());
    }
    if (problem == ENOSYS || problem == EOPNOTSUPP || problem == ENOENT) {
        return fail(ErrorCode::kKernelLacks,
                    "this kernel cannot hand over tracepoints (CONFIG_PERF_EVENTS): "
                    "perf_event_open: {}",
                    std::strerror(problem));
    }
    return fail(ErrorCode::kFailed, "perf_event_open: {}", std::strerror(problem));
}

perf_event_attr attributes_of(const PerfRing::Source& source, std::size_t ring_bytes) {
    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    if (source.kind == PerfRing::Source::Kind::kTracepoint) {
        attributes.type = PERF_TYPE_TRACEPOINT;
        attributes.config = source.tracepoint_id;
    } else {
        attributes.type = PERF_TYPE_SOFTWARE;
        attributes.config = PERF_COUNT_SW_BPF_OUTPUT;
    }
    attributes.sample_period = 1;
    attributes.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_RAW;
    attributes.disabled = 1;
    attributes.use_clockid = 1;
    attributes.clockid = CLOCK_MONOTONIC;
    attributes.watermark = 1;
    attributes.wakeup_watermark = static_cast<std::uint32_t>(ring_bytes / 4);
    attributes.read_format = kFormatLost;
    return attributes;
}

std::size_t page_bytes() {
    return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

perf_event_mmap_page& control(void* memory) {
    return *static_cast<perf_event_mmap_page*>(memory);
}

// PERF_SAMPLE_TIME, then PERF_SAMPLE_RAW: u64 time, u32 size, the bytes.
void visit_sample(std::span<const std::byte> body, const PerfRing::Visitor& visit) {
    constexpr std::size_t kRawAt = sizeof(std::uint64_t) + sizeof(std::uint32_t);
    if (body.size() < kRawAt) {
        return;
    }
    const std::size_t size = load<std::uint32_t>(body, sizeof(std::uint64_t));
    if (size <= body.size() - kRawAt) {
        visit(static_cast<std::int64_t>(load<std::uint64_t>(body, 0)), body.subspan(kRawAt, size));
    }
}

}  // namespace

Result<PerfEvent> PerfEvent::count_tracepoint(std::uint64_t id, int cpu) {
    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    attributes.type = PERF_TYPE_TRACEPOINT;
    attributes.config = id;
    attributes.disabled = 1;
    const int fd = perf_event_open(attributes, cpu);
    if (fd < 0) {
        return not_opened(errno);
    }
    return PerfEvent(fd);
}

Status PerfEvent::attach(int program) {
    if (ioctl(fd_.get(), PERF_EVENT_IOC_SET_BPF, program) != 0) {
        return fail(ErrorCode::kKernelLacks, "attach a BPF program to a tracepoint: {}",
                    std::strerror(errno));
    }
    return {};
}

Status PerfEvent::enable() {
    if (ioctl(fd_.get(), PERF_EVENT_IOC_ENABLE, 0) != 0) {
        return fail(ErrorCode::kFailed, "enable a perf event: {}", std::strerror(errno));
    }
    return {};
}

void PerfEvent::disable() {
    ioctl(fd_.get(), PERF_EVENT_IOC_DISABLE, 0);
}

Result<PerfRing> PerfRing::open(const Source& source, int cpu, std::size_t bytes) {
    const std::size_t ring_bytes = std::bit_ceil(std::max(bytes, page_bytes()));
    perf_event_attr attributes = attributes_of(source, ring_bytes);
    int fd = perf_event_open(attributes, cpu);
    if (fd < 0 && errno == EINVAL) {
        attributes.read_format = 0;
        fd = perf_event_open(attributes, cpu);
    }
    if (fd < 0) {
        return not_opened(errno);
    }
    PerfEvent event(fd);
    const std::size_t bytes_of_all = page_bytes() + ring_bytes;
    void* const memory = mmap(nullptr, bytes_of_all, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
        const int problem = errno;
        return fail(
            problem == EPERM ? ErrorCode::kNotPermitted : ErrorCode::kFailed,
            "map {} KiB for the drops of CPU {}: {}{}", ring_bytes / 1024, cpu,
            std::strerror(problem),
            problem == EPERM ? "; raise kernel.perf_event_mlock_kb or run with CAP_IPC_LOCK" : "");
    }
    return PerfRing(std::move(event), Memory(memory, Unmap{bytes_of_all}), ring_bytes,
                    attributes.read_format != 0);
}

void PerfRing::Unmap::operator()(void* memory) const {
    munmap(memory, bytes);
}

void PerfRing::drain(const Visitor& visit) {
    // The kernel publishes data_head after the records before it, and reuses what lies before
    // data_tail (perf_event_open(2)).
    std::atomic_ref<__u64> head_word(control(memory_.get()).data_head);
    std::atomic_ref<__u64> tail_word(control(memory_.get()).data_tail);
    const std::byte* const ring = static_cast<const std::byte*>(memory_.get()) + page_bytes();
    const std::uint64_t head = head_word.load(std::memory_order_acquire);
    std::uint64_t tail = tail_word.load(std::memory_order_relaxed);
    while (tail < head) {
        const std::size_t at = tail & (ring_bytes_ - 1);
        // Records are aligned to eight bytes: the header never wraps.
        const auto header = load<perf_event_header>({ring + at, sizeof(perf_event_header)}, 0);
        if (header.size < sizeof header || header.size > head - tail) {
            break;
        }
        std::span<const std::byte> record(ring + at, header.size);
        if (const std::size_t whole = ring_bytes_ - at; header.size > whole) {
            record_.assign(ring + at, ring + at + whole);
            record_.insert(record_.end(), ring, ring + (header.size - whole));
            record = record_;
        }
        const auto body = record.subspan(sizeof header);
        if (header.type == PERF_RECORD_SAMPLE) {
            visit_sample(body, visit);
        } else if (header.type == PERF_RECORD_LOST && body.size() >= 2 * sizeof(std::uint64_t)) {
            lost_told_ += load<std::uint64_t>(body, sizeof(std::uint64_t));  // after the event's ID
        }
        tail += header.size;
    }
    tail_word.store(head, std::memory_order_release);
}

std::uint64_t PerfRing::lost() const {
    struct {
        std::uint64_t value;
        std::uint64_t lost;
    } counts{};
    if (counts_lost_ && read(event_.fd(), &counts, sizeof counts) == sizeof counts) {
        return counts.lost;
    }
    return lost_told_;
}

std::vector<int> online_cpus() {
    // "0-3,6": Documentation/admin-guide/cputopology.rst.
    std::ifstream list("/sys/devices/system/cpu/online");
    std::vector<int> cpus;
    int first = 0;
    while (list >> first) {
        int last = first;
        if (list.peek() == '-') {
            list.ignore();
            list >> last;
        }
        for (int cpu = first; cpu <= last; ++cpu) {
            cpus.push_back(cpu);
        }
        list.ignore();
    }
    return cpus;
}

}  // namespace pathproof::drops
