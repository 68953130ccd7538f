#include "harness/netfilter/events.h"

#include <libmnl/libmnl.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

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

// Header before each datagram in the backlog. An overrun is followed by an Overrun, a mark by
// nothing.
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

class SocketListener final : public EventListener {
  public:
    SocketListener(Socket socket, const ListenOptions& options, std::size_t granted, Fd wake_event)
        : options_(options),
          granted_(granted),
          socket_(std::move(socket)),
          wake_event_(std::move(wake_event)),
          reader_([this] { drain(); }) {}
    ~SocketListener() override { end(); }

    Status deliver(std::chrono::milliseconds timeout, const EventSink& sink) override {
        give(take(timeout), sink);
        const std::scoped_lock lock(mutex_);
        if (failure_) {
            return Failure(*failure_);
        }
        if (stopping_) {
            return fail(ErrorCode::kUnavailable, "the conntrack event listener was stopped");
        }
        return {};
    }

    void request_mark(std::uint64_t number) override {
        {
            const std::scoped_lock lock(mutex_);
            wanted_mark_ = number;
        }
        wake_reader();
    }

    Status stop(const EventSink& sink) override {
        end();
        give(take(std::chrono::milliseconds(0)), sink);
        return failure_ ? Status(Failure(*failure_)) : Status();
    }

    Result<EventLog> stop() override {
        EventLog log;
        TRY(stop({.event = [&](const Event& event) { log.events.push_back(event); },
                  .overrun = [](const Overrun&) {},
                  .mark = {}}));
        log.overruns = overruns_;
        log.unreadable = unreadable_;
        return log;
    }

    std::uint64_t overruns() const override { return overruns_; }
    std::uint64_t unreadable() const override { return unreadable_; }
    std::size_t receive_buffer_bytes() const override { return granted_; }

  private:
    void end() {
        if (!reader_.joinable()) {
            return;
        }
        {
            const std::scoped_lock lock(mutex_);
            stopping_ = true;
        }
        wake_reader();
        room_.notify_all();
        reader_.join();
    }

    void wake_reader() { (void)eventfd_write(wake_event_.get(), 1); }

    // The reader thread: everything that waits in the socket, then sleep.
    void drain() {
        Batch batch;
        complete_until_ = realtime_ns();
        while (take_all(batch)) {
            if (sleep() == Woken::kAsked && !answer_wake(batch)) {
                return;
            }
        }
    }

    enum class Woken { kAsked, kForEvents };

    // While events come they are left to gather for a moment: a reader that sleeps on the socket is
    // woken for each of them, by the CPU that forwards the packet and at its cost
    // (sock_def_readable). A small buffer has no room for that.
    Woken sleep() {
        const bool gather = std::exchange(drained_, 0) > 0 && granted_ >= kGatherFrom;
        std::array<pollfd, 2> handles{pollfd{wake_event_.get(), POLLIN, 0},
                                      pollfd{socket_.fd(), POLLIN, 0}};
        poll(handles.data(), gather ? 1 : 2, gather ? kGatherMs : -1);
        return handles[0].revents != 0 ? Woken::kAsked : Woken::kForEvents;
    }

    // Empties the socket after it was asked to, and puts the mark that was asked for behind. False
    // when the thread is to end.
    bool answer_wake(Batch& batch) {
        eventfd_t wakes = 0;
        (void)eventfd_read(wake_event_.get(), &wakes);
        std::optional<std::uint64_t> mark;
        bool end = false;
        {
            const std::scoped_lock lock(mutex_);
            mark = std::exchange(wanted_mark_, std::nullopt);
            end = stopping_;
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
                recvmmsg(socket_.fd(), batch.headers.data(), kBatch, MSG_DONTWAIT, nullptr);
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
        std::unique_lock lock(mutex_);
        room_.wait(lock, [&] { return stopping_ || backlog_.bytes() < options_.backlog_bytes; });
    }

    void keep(const Batch& batch, std::size_t count, std::int64_t now) {
        if (count == 0) {
            return;
        }
        drained_ += count;
        {
            const std::scoped_lock lock(mutex_);
            for (std::size_t i = 0; i < count; ++i) {
                const mmsghdr& header = batch.headers[i];
                if (header.msg_hdr.msg_flags & MSG_TRUNC) {
                    ++unreadable_;
                    continue;
                }
                backlog_.append({now, Record::Kind::kDatagram, header.msg_len, 0},
                                {batch.bytes.data() + i * kDatagramBytes, header.msg_len});
            }
        }
        arrived_.notify_one();
    }

    void append(const Record& record, std::span<const std::byte> bytes) {
        {
            const std::scoped_lock lock(mutex_);
            backlog_.append(record, bytes);
        }
        arrived_.notify_one();
    }

    void note_overrun(std::int64_t now) {
        ++overruns_;
        if (!open_overrun_) {
            open_overrun_ = Overrun{.time_ns = now, .from_ns = complete_until_};
        }
        open_overrun_->total = overruns_;
    }

    enum class Queue { kEmpty, kMore };

    // A call that was not told of an overrun: up to `asked` nothing was lost, or all that was lost
    // lies before this place when the queue is empty.
    void note_complete(std::int64_t asked, Queue queue) {
        if (!open_overrun_) {
            complete_until_ = asked;
            return;
        }
        if (queue == Queue::kMore) {
            return;
        }
        complete_until_ = open_overrun_->until_ns = realtime_ns();
        append({complete_until_, Record::Kind::kOverrun, sizeof(Overrun), 0},
               std::as_bytes(std::span(&*open_overrun_, 1)));
        open_overrun_.reset();
    }

    void note_failure(int reason) {
        {
            const std::scoped_lock lock(mutex_);
            failure_ = ctnetlink_error(reason, "read conntrack events", {});
        }
        arrived_.notify_one();
    }

    Backlog take(std::chrono::milliseconds timeout) {
        Backlog taken;
        {
            std::unique_lock lock(mutex_);
            arrived_.wait_for(lock, timeout,
                              [&] { return !backlog_.empty() || failure_ || stopping_; });
            std::swap(taken, backlog_);
        }
        room_.notify_all();
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
            if (parse_event(*message, time_ns, event_) == Parsed::kUnreadable) {
                ++unreadable_;
            } else if (matches(options_.filter, event_.entry)) {
                sink.event(event_);
            }
        }
    }

    const ListenOptions options_;
    const std::size_t granted_;
    Socket socket_;
    const Fd wake_event_;
    Event event_;  // reused from message to message
    std::atomic<std::uint64_t> overruns_ = 0;
    std::atomic<std::uint64_t> unreadable_ = 0;

    // The reader's own.
    std::int64_t complete_until_ = 0;  // nothing was lost before
    std::optional<Overrun> open_overrun_;
    std::size_t drained_ = 0;  // datagrams since the reader slept

    std::mutex mutex_;  // guards what follows
    std::condition_variable arrived_;
    std::condition_variable room_;
    Backlog backlog_;
    bool stopping_ = false;
    std::optional<std::uint64_t> wanted_mark_;
    std::optional<Error> failure_;

    std::thread reader_;
};

}  // namespace

Result<std::unique_ptr<EventListener>> EventListener::start(const ListenOptions& options) {
    auto socket = TRY(Socket::open(options.netns));
    const auto granted = TRY(socket.set_receive_buffer(options.receive_buffer_bytes));
    TRY(attach_event_filter(socket.fd(), options.filter));
    for (const unsigned group :
         {NFNLGRP_CONNTRACK_NEW, NFNLGRP_CONNTRACK_UPDATE, NFNLGRP_CONNTRACK_DESTROY}) {
        if (group != NFNLGRP_CONNTRACK_UPDATE || options.updates) {
            TRY(socket.join(group));
        }
    }
    Fd wake_event(eventfd(0, EFD_CLOEXEC));
    if (!wake_event) {
        return fail(ErrorCode::kFailed, "eventfd: {}", std::strerror(errno));
    }
    return std::make_unique<SocketListener>(std::move(socket), options, granted,
                                            std::move(wake_event));
}

}  // namespace pathproof::netfilter
