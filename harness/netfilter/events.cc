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
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "dataplane/base/clock.h"
#include "dataplane/base/file.h"
#include "harness/netfilter/kernel_filter.h"
#include "harness/netfilter/netlink.h"
#include "harness/netfilter/parse.h"
#include "harness/netfilter/socket.h"

namespace pathproof::netfilter {
namespace {

constexpr std::size_t kBatch = 64;
constexpr int kGatherMs = 1;  // at 1,000,000 events a second some 1,000 messages, 2 MiB of buffer
constexpr std::size_t kGatherFrom = 16u << 20;
// ctnetlink_nlmsg_size is far below this for the largest event (labels, helper, security context).
constexpr std::size_t kDatagramBytes = 8 * 1024;
constexpr std::size_t kChunkBytes = 256 * 1024;

// What stands before each datagram in the backlog. An overrun's bytes are an Overrun, a mark has
// none.
struct Record {
    enum class Kind : std::uint32_t { kDatagram, kOverrun, kMark };
    std::int64_t time_ns = 0;
    Kind kind = Kind::kDatagram;
    std::uint32_t bytes = 0;
    std::uint64_t mark = 0;
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
        std::ranges::copy(bytes, chunk.bytes.get() + chunk.used + sizeof record);
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
    Impl(Socket opened, const ListenOptions& listen, std::size_t buffer_bytes, Fd wake_handle)
        : options(listen),
          granted(buffer_bytes),
          socket(std::move(opened)),
          wake_event(std::move(wake_handle)) {}
    ~Impl() { end(); }

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
        wake_reader();
        room.notify_all();
        reader.join();
    }

    void wake_reader() {
        const std::uint64_t one = 1;
        [[maybe_unused]] const ssize_t written = write(wake_event.get(), &one, sizeof one);
    }

    // The reader thread: everything that waits in the socket, then sleep.
    void drain() {
        Batch batch;
        complete_until = realtime_ns();
        while (take_all(batch)) {
            if (sleep() == Woken::kAsked && !answer_wake(batch)) {
                return;
            }
        }
    }

    enum class Woken { kAsked, kEvents };

    // While events come they are left to gather for a moment: a reader that sleeps on the socket is
    // woken for each of them, by the CPU that forwards the packet and at its cost
    // (sock_def_readable). A small buffer has no room for that.
    Woken sleep() {
        const bool gather = std::exchange(drained, 0) > 0 && granted >= kGatherFrom;
        std::array<pollfd, 2> handles{pollfd{wake_event.get(), POLLIN, 0},
                                      pollfd{socket.fd(), POLLIN, 0}};
        poll(handles.data(), gather ? 1 : 2, gather ? kGatherMs : -1);
        return handles[0].revents != 0 ? Woken::kAsked : Woken::kEvents;
    }

    // Empties the socket after it was asked to, and puts the mark that was asked for behind. False
    // when the thread is to end.
    bool answer_wake(Batch& batch) {
        std::uint64_t wakes = 0;
        [[maybe_unused]] const ssize_t got = read(wake_event.get(), &wakes, sizeof wakes);
        std::optional<std::uint64_t> mark;
        bool end = false;
        {
            const std::scoped_lock lock(mutex);
            mark = std::exchange(wanted_mark, std::nullopt);
            end = stopping;
        }
        if (!take_all(batch)) {
            return false;
        }
        if (mark) {
            append({realtime_ns(), Record::Kind::kMark, 0, *mark}, {});
        }
        return !end;
    }

    // False when the socket failed.
    bool take_all(Batch& batch) {
        while (true) {
            wait_for_room();
            const std::int64_t asked = realtime_ns();
            const int got =
                recvmmsg(socket.fd(), batch.headers.data(), kBatch, MSG_DONTWAIT, nullptr);
            const int reason = got < 0 ? errno : 0;
            if (reason == ENOBUFS) {
                note_overrun(asked);
                continue;
            }
            if (reason == EINTR) {
                continue;
            }
            if (reason != 0 && reason != EAGAIN) {
                note_failure(reason);
                return false;
            }
            keep(batch, static_cast<std::size_t>(std::max(got, 0)), realtime_ns());
            note_complete(asked, got < static_cast<int>(kBatch) ? Queue::kEmpty : Queue::kMore);
            if (reason == EAGAIN) {
                return true;
            }
        }
    }

    void wait_for_room() {
        std::unique_lock lock(mutex);
        room.wait(lock, [&] { return stopping || backlog.bytes() < options.backlog_bytes; });
    }

    void keep(const Batch& batch, std::size_t count, std::int64_t now) {
        if (count == 0) {
            return;
        }
        drained += count;
        {
            const std::scoped_lock lock(mutex);
            for (std::size_t i = 0; i < count; ++i) {
                const mmsghdr& header = batch.headers[i];
                if (header.msg_hdr.msg_flags & MSG_TRUNC) {
                    ++unreadable;
                    continue;
                }
                backlog.append({now, Record::Kind::kDatagram, header.msg_len, 0},
                               {batch.bytes.data() + i * kDatagramBytes, header.msg_len});
            }
        }
        arrived.notify_one();
    }

    void append(const Record& record, std::span<const std::byte> bytes) {
        {
            const std::scoped_lock lock(mutex);
            backlog.append(record, bytes);
        }
        arrived.notify_one();
    }

    void note_overrun(std::int64_t now) {
        ++overruns;
        if (!open_overrun) {
            open_overrun = Overrun{.time_ns = now, .from_ns = complete_until};
        }
        open_overrun->total = overruns;
    }

    enum class Queue { kEmpty, kMore };

    // A call that was not told of an overrun: up to `asked` nothing was lost, or all that was lost
    // lies before this place when the queue is empty.
    void note_complete(std::int64_t asked, Queue queue) {
        if (!open_overrun) {
            complete_until = asked;
            return;
        }
        if (queue == Queue::kMore) {
            return;
        }
        complete_until = open_overrun->until_ns = realtime_ns();
        append({complete_until, Record::Kind::kOverrun, sizeof(Overrun), 0},
               std::as_bytes(std::span(&*open_overrun, 1)));
        open_overrun.reset();
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
            switch (record.kind) {
                case Record::Kind::kDatagram:
                    give_datagram({bytes, record.bytes}, record.time_ns, sink);
                    break;
                case Record::Kind::kOverrun: {
                    Overrun overrun;
                    std::memcpy(&overrun, bytes, sizeof overrun);
                    sink.overrun(overrun);
                    break;
                }
                case Record::Kind::kMark:
                    if (sink.mark) {
                        sink.mark(record.mark);
                    }
                    break;
            }
        });
    }

    void give_datagram(std::span<const std::byte> datagram, std::int64_t time_ns,
                       const EventSink& sink) {
        MessageReader messages(datagram);
        while (const nlmsghdr* message = messages.next()) {
            if (parse_event(*message, time_ns, event) == Parsed::kUnreadable) {
                ++unreadable;
            } else if (matches(options.filter, event.entry)) {
                sink.event(event);
            }
        }
    }

    const ListenOptions options;
    const std::size_t granted;
    Socket socket;
    const Fd wake_event;
    Event event;  // reused from message to message
    std::atomic<std::uint64_t> overruns = 0;
    std::atomic<std::uint64_t> unreadable = 0;

    // The reader's own.
    std::int64_t complete_until = 0;  // nothing was lost before
    std::optional<Overrun> open_overrun;
    std::size_t drained = 0;  // datagrams since the reader slept

    std::mutex mutex;  // guards what follows
    std::condition_variable arrived;
    std::condition_variable room;
    Backlog backlog;
    bool stopping = false;
    std::optional<std::uint64_t> wanted_mark;
    std::optional<Error> failure;

    std::thread reader;
};

EventListener::EventListener() = default;
EventListener::~EventListener() = default;

Result<std::unique_ptr<EventListener>> EventListener::start(const ListenOptions& options) {
    auto socket = TRY(Socket::open(options.netns));
    const auto granted = TRY(socket.set_receive_buffer(options.receive_buffer_bytes));
    if (options.kernel_filter == ListenOptions::KernelFilter::kUse) {
        TRY(attach_event_filter(socket.fd(), options.filter));
    }
    for (const unsigned group :
         {NFNLGRP_CONNTRACK_NEW, NFNLGRP_CONNTRACK_UPDATE, NFNLGRP_CONNTRACK_DESTROY}) {
        TRY(socket.join(group));
    }
    Fd wake_event(eventfd(0, EFD_CLOEXEC));
    if (!wake_event) {
        return fail(ErrorCode::kFailed, "eventfd: {}", std::strerror(errno));
    }
    std::unique_ptr<EventListener> listener(new EventListener());
    listener->impl_ =
        std::make_unique<Impl>(std::move(socket), options, granted, std::move(wake_event));
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

void EventListener::request_mark(std::uint64_t number) {
    {
        const std::scoped_lock lock(impl_->mutex);
        impl_->wanted_mark = number;
    }
    impl_->wake_reader();
}

Status EventListener::stop(const EventSink& sink) {
    impl_->end();
    impl_->give(impl_->take(std::chrono::milliseconds(0)), sink);
    if (impl_->failure) {
        return Failure(*impl_->failure);
    }
    return {};
}

Result<EventLog> EventListener::stop() {
    EventLog log;
    TRY(stop({.event = [&](const Event& event) { log.events.push_back(event); },
              .overrun = [](const Overrun&) {},
              .mark = {}}));
    log.overruns = impl_->overruns;
    log.unreadable = impl_->unreadable;
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
