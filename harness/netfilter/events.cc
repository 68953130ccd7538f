#include "harness/netfilter/events.h"

#include <libmnl/libmnl.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <ctime>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "harness/netfilter/kernel_filter.h"
#include "harness/netfilter/netlink.h"
#include "harness/netfilter/parse.h"
#include "harness/netfilter/socket.h"

namespace pathproof::netfilter {
namespace {

constexpr std::size_t kBatch = 64;
// ctnetlink_nlmsg_size is far below this for the largest event (labels, helper, security context).
constexpr std::size_t kDatagramBytes = 8 * 1024;
constexpr std::size_t kChunkBytes = 256 * 1024;

std::int64_t realtime_ns() {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// What stands before each datagram in the backlog. An overrun has no bytes.
struct Record {
    enum class Kind : std::uint32_t { kDatagram, kOverrun };
    std::int64_t time_ns = 0;
    Kind kind = Kind::kDatagram;
    std::uint32_t bytes = 0;
    std::uint64_t overruns = 0;  // so far
};

// Datagrams as they came, one after the other; a chunk never moves once it is filled.
class Backlog {
  public:
    void append(const Record& record, std::span<const std::byte> bytes) {
        const std::size_t size = sizeof record + MNL_ALIGN(record.bytes) + padding(record.bytes);
        if (chunks_.empty() || chunks_.back().used + size > kChunkBytes) {
            chunks_.push_back({std::make_unique_for_overwrite<std::byte[]>(kChunkBytes), 0});
        }
        Chunk& chunk = chunks_.back();
        std::memcpy(chunk.bytes.get() + chunk.used, &record, sizeof record);
        std::copy(bytes.begin(), bytes.end(), chunk.bytes.get() + chunk.used + sizeof record);
        chunk.used += size;
    }

    bool empty() const { return chunks_.empty(); }
    std::size_t bytes() const { return chunks_.size() * kChunkBytes; }

    template <typename Visit>
    void visit_and_free(const Visit& visit) {
        for (; !chunks_.empty(); chunks_.pop_front()) {
            const Chunk& chunk = chunks_.front();
            for (std::size_t at = 0; at < chunk.used;) {
                Record record;
                std::memcpy(&record, chunk.bytes.get() + at, sizeof record);
                at += sizeof record;
                visit(record, chunk.bytes.get() + at);
                at += MNL_ALIGN(record.bytes) + padding(record.bytes);
            }
        }
    }

  private:
    struct Chunk {
        std::unique_ptr<std::byte[]> bytes;
        std::size_t used = 0;
    };

    // Records lie at multiples of eight, so that they and the messages are aligned.
    static std::size_t padding(std::uint32_t bytes) { return MNL_ALIGN(bytes) % 8; }

    std::deque<Chunk> chunks_;
};

// Buffers of one recvmmsg call.
struct Batch {
    std::array<mmsghdr, kBatch> headers{};
    std::array<iovec, kBatch> vectors{};
    std::vector<std::byte> bytes = std::vector<std::byte>(kBatch * kDatagramBytes);

    Batch() {
        for (std::size_t i = 0; i < kBatch; ++i) {
            vectors[i] = {bytes.data() + i * kDatagramBytes, kDatagramBytes};
            headers[i].msg_hdr.msg_iov = &vectors[i];
            headers[i].msg_hdr.msg_iovlen = 1;
        }
    }
};

}  // namespace

struct EventListener::Impl {
    Impl(Socket opened, const ListenOptions& listen, std::size_t buffer_bytes, int stop_handle)
        : options(listen),
          granted(buffer_bytes),
          socket(std::move(opened)),
          stop_event(stop_handle) {}
    ~Impl() {
        end();
        close(stop_event);
    }

    void start() {
        reader = std::thread([this] { drain(); });
    }

    void end() {
        if (!reader.joinable()) {
            return;
        }
        {
            const std::scoped_lock lock(mutex);
            stopping = true;
        }
        const std::uint64_t one = 1;
        [[maybe_unused]] const ssize_t written = write(stop_event, &one, sizeof one);
        room.notify_all();
        reader.join();
    }

    // The reader thread: everything that waits in the socket, then poll.
    void drain() {
        Batch batch;
        while (true) {
            if (!take_all(batch)) {
                return;
            }
            if (stop_asked()) {
                return;
            }
            std::array<pollfd, 2> handles{pollfd{socket.fd(), POLLIN, 0},
                                          pollfd{stop_event, POLLIN, 0}};
            poll(handles.data(), handles.size(), -1);
            if (handles[1].revents != 0 && !take_all(batch)) {
                return;
            }
        }
    }

    bool stop_asked() {
        const std::scoped_lock lock(mutex);
        return stopping;
    }

    // False when the socket failed.
    bool take_all(Batch& batch) {
        while (true) {
            wait_for_room();
            const int got =
                recvmmsg(socket.fd(), batch.headers.data(), kBatch, MSG_DONTWAIT, nullptr);
            const int reason = errno;
            const std::int64_t now = realtime_ns();
            if (got >= 0) {
                keep(batch, static_cast<std::size_t>(got), now);
            } else if (reason == ENOBUFS) {
                note_overrun(now);
            } else if (reason == EAGAIN) {
                return true;
            } else if (reason != EINTR) {
                note_failure(reason);
                return false;
            }
        }
    }

    void wait_for_room() {
        std::unique_lock lock(mutex);
        room.wait(lock, [&] { return stopping || backlog.bytes() < options.backlog_bytes; });
    }

    void keep(const Batch& batch, std::size_t count, std::int64_t now) {
        {
            const std::scoped_lock lock(mutex);
            for (std::size_t i = 0; i < count; ++i) {
                const mmsghdr& header = batch.headers[i];
                if (header.msg_hdr.msg_flags & MSG_TRUNC) {
                    ++unreadable;
                    continue;
                }
                backlog.append({now, Record::Kind::kDatagram, header.msg_len, overruns},
                               {batch.bytes.data() + i * kDatagramBytes, header.msg_len});
            }
        }
        arrived.notify_one();
    }

    void note_overrun(std::int64_t now) {
        {
            const std::scoped_lock lock(mutex);
            backlog.append({now, Record::Kind::kOverrun, 0, ++overruns}, {});
        }
        arrived.notify_one();
    }

    void note_failure(int reason) {
        {
            const std::scoped_lock lock(mutex);
            failure = ctnetlink_error(reason, "read conntrack events", {});
        }
        arrived.notify_one();
    }

    Backlog take(std::chrono::milliseconds timeout) {
        Backlog taken;
        {
            std::unique_lock lock(mutex);
            arrived.wait_for(lock, timeout,
                             [&] { return !backlog.empty() || failure || stopping; });
            std::swap(taken, backlog);
        }
        room.notify_all();
        return taken;
    }

    void give(Backlog taken, const EventSink& sink) {
        taken.visit_and_free([&](const Record& record, const std::byte* bytes) {
            if (record.kind == Record::Kind::kOverrun) {
                sink.overrun({record.time_ns, record.overruns});
                return;
            }
            MessageReader messages({bytes, record.bytes});
            while (const nlmsghdr* message = messages.next()) {
                give_message(*message, record.time_ns, sink);
            }
        });
    }

    void give_message(const nlmsghdr& message, std::int64_t time_ns, const EventSink& sink) {
        if (parse_event(message, time_ns, event) == Parsed::kUnreadable) {
            ++unreadable;
            return;
        }
        if (matches(options.filter, event.entry)) {
            sink.event(event);
        }
    }

    const ListenOptions options;
    const std::size_t granted;
    Socket socket;
    const int stop_event;
    Event event;  // reused from message to message
    std::atomic<std::uint64_t> overruns = 0;
    std::atomic<std::uint64_t> unreadable = 0;

    std::mutex mutex;  // guards what follows
    std::condition_variable arrived;
    std::condition_variable room;
    Backlog backlog;
    bool stopping = false;
    std::optional<Error> failure;

    std::thread reader;
};

EventListener::EventListener() = default;
EventListener::~EventListener() = default;

Result<std::unique_ptr<EventListener>> EventListener::start(const ListenOptions& options) {
    auto socket = Socket::open(options.netns);
    if (!socket) {
        return pass_on(socket.error());
    }
    const auto granted = socket->set_receive_buffer(options.receive_buffer_bytes);
    if (!granted) {
        return pass_on(granted.error());
    }
    if (options.kernel_filter == ListenOptions::KernelFilter::kUse) {
        if (auto attached = attach_event_filter(socket->fd(), options.filter); !attached) {
            return pass_on(attached.error());
        }
    }
    for (const unsigned group :
         {NFNLGRP_CONNTRACK_NEW, NFNLGRP_CONNTRACK_UPDATE, NFNLGRP_CONNTRACK_DESTROY}) {
        if (auto joined = socket->join(group); !joined) {
            return pass_on(joined.error());
        }
    }
    const int stop_event = eventfd(0, EFD_CLOEXEC);
    if (stop_event < 0) {
        return fail(ErrorCode::kFailed, "eventfd: {}", std::strerror(errno));
    }
    std::unique_ptr<EventListener> listener(new EventListener());
    listener->impl_ = std::make_unique<Impl>(std::move(*socket), options, *granted, stop_event);
    listener->impl_->start();
    return listener;
}

Status EventListener::deliver(std::chrono::milliseconds timeout, const EventSink& sink) {
    impl_->give(impl_->take(timeout), sink);
    const std::scoped_lock lock(impl_->mutex);
    if (impl_->failure) {
        return Failure(*impl_->failure);
    }
    if (impl_->stopping) {
        return fail(ErrorCode::kUnavailable, "the conntrack event listener was stopped");
    }
    return {};
}

Result<EventLog> EventListener::stop() {
    impl_->end();
    EventLog log;
    impl_->give(impl_->take(std::chrono::milliseconds(0)),
                {.event = [&](const Event& event) { log.events.push_back(event); },
                 .overrun = [](const Overrun&) {}});
    log.overruns = impl_->overruns;
    log.unreadable = impl_->unreadable;
    if (impl_->failure) {
        return Failure(*impl_->failure);
    }
    return log;
}

std::uint64_t EventListener::overruns() const {
    return impl_->overruns;
}
std::uint64_t EventListener::unreadable() const {
    return impl_->unreadable;
}
std::size_t EventListener::receive_buffer_bytes() const {
    return impl_->granted;
}

}  // namespace pathproof::netfilter
