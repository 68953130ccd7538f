#include "dataplane/load/load_worker.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <array>

#include "dataplane/load/thread_time.h"

namespace pathproof::load {
namespace {

constexpr std::uint16_t kReceiveBurst = 64;
// Time between the last worker's arrival and the first deadline.
constexpr Nanoseconds kLead{200'000};
constexpr Nanoseconds kStall{100'000};
// Stall limit of a turn that moved frames: a virtual port's driver does the kernel's work in it.
constexpr Nanoseconds kBusyStall{1'000'000};
// Highest rate at which a worker without a deadline of its own may sleep between frames.
constexpr double kNapRate = 20'000;
// A trial that is called off listens on for so long, so that what is under way counts.
constexpr Nanoseconds kShortDrain = std::chrono::milliseconds(100);
// Any time longer than a nap.
constexpr Tsc kNoDeadline = Tsc{1} << 40;
// Highest cost of a frame where the DUT's kernel works inside our sendto(): bounds what a punctual
// lcore begins shortly before a departure.
constexpr Nanoseconds kFrameCost{20'000};
// Time to wait, while none comes, for answers that the responders sent.
constexpr Nanoseconds kPatience = std::chrono::seconds(2);
// The end of a drain is put off when it is so near.
constexpr Nanoseconds kPutOff = std::chrono::milliseconds(4);

bool prompt(const TrialOrder& order, unsigned at_once) {
    return order.frames_per_second > 0 && order.frames_per_second / at_once <= traffic::kPromptRate;
}

}  // namespace

LoadWorker::LoadWorker(unsigned number, const LoadPlan& plan, const traffic::RunClock& clock,
                       TrialBoard& board, const List& all)
    : number_(number),
      punctual_(plan.punctual),
      least_read_(std::clamp<std::uint16_t>(plan.least_read, 1, kReceiveBurst)),
      at_once_(plan.frames_in_unit()),
      clock_(clock),
      board_(board),
      all_(all),
      napper_(clock.tsc),
      stall_cycles_(clock.tsc.ticks(kStall)),
      busy_stall_cycles_(clock.tsc.ticks(kBusyStall)) {}

void LoadWorker::watch_returns() {
    for (Sender& sender : senders_) {
        Window::Tallies tallies;
        for (const auto& worker : all_) {
            if (worker->returns_) {
                tallies.push_back(&worker->returns_->of_stream(sender.setup().number));
            }
        }
        sender.watch(std::move(tallies));
    }
}

int LoadWorker::serve() noexcept {
    std::uint64_t seen = 0;
    while (const Trial* trial = board_.next(seen)) {
        run(*trial);
        board_.done();
    }
    return 0;
}

void LoadWorker::run(const Trial& trial) noexcept {
    std::optional<traffic::Promptness> promptness;
    if (prompt(trial.order, at_once_)) {
        promptness.emplace();
    }
    live_.clear();
    time_ = {};
    stopped_ = false;
    push_end_ = 0;
    drain_from_ = drain_end_ = 0;
    emptied_ = 0;
    // A trial sees no frame from before it.
    for (const auto& desk : desks_) {
        desk->clear();
    }
    for (const auto& relay : relays_) {
        relay->clear();
    }
    for (const Receiver& receiver : receivers_) {
        empty(receiver);
    }
    if (tracked_) {
        tracked_->reset(static_cast<std::uint64_t>(clock_.now_ns()));
        tracked_->tell(trial.order.outstanding > 0 ? &*returns_ : nullptr);
    }
    others_ = intake_ == nullptr ? 0 : intake_->received().other_traffic;
    time_.clocks_before = port::read_clocks();
    const Tsc start = board_.arrive(clock_.tsc.ticks(kLead));
    begin(trial.order, start);
    const ThreadTime before = ThreadTime::of_caller();
    loop(trial);
    time_.ended = traffic::tsc_now();
    const ThreadTime after = ThreadTime::of_caller();
    time_.ran_ns = after.ran_ns - before.ran_ns;
    time_.waited_ns = after.waited_ns - before.waited_ns;
    time_.clocks_after = port::read_clocks();
}

void LoadWorker::begin(const TrialOrder& order, Tsc start) noexcept {
    sending_ = !senders_.empty();
    for (Sender& sender : senders_) {
        sender.begin(order, start);
    }
    time_.began = start;
}

void LoadWorker::loop(const Trial& trial) noexcept {
    Tsc began = traffic::tsc_now();
    for (;;) {
        stopped_ = stopped_ || board_.called_off();
        const std::uint16_t most = room(began);
        unsigned moved = receive(most) + answer(most) + pass_on();
        moved += sending_ && !stopped_ ? send(traffic::tsc_now()) : 0;
        const Tsc now = traffic::tsc_now();
        if (sending_ && (stopped_ || all_sent(now)) && pushed_out(now)) {
            end_sending();
        } else if (!sending_ && drained(trial.order, now)) {
            break;
        }
        account(began, now, moved);
        const Tsc next = moved == 0 && idle(trial.order, now) ? traffic::tsc_now() : now;
        note_look(next - began);
        began = next;
    }
    if (!receivers_.empty()) {
        board_.listening_is_over();
    }
    pass_on();
}

// Returns how many frames may be read at one look: at least one, so that queues are read even at
// rates that leave no time in between.
std::uint16_t LoadWorker::room(Tsc now) const noexcept {
    if (!punctual_ || !sending_) {
        return kReceiveBurst;
    }
    Tsc departure = now + kNoDeadline;
    for (const Sender& sender : senders_) {
        departure = std::min(departure, std::max(sender.wake(), now));
    }
    return static_cast<std::uint16_t>(std::clamp<std::int64_t>(
        clock_.tsc.nanoseconds(now, departure) / kFrameCost.count(), least_read_, kReceiveBurst));
}

unsigned LoadWorker::receive(std::uint16_t most) noexcept {
    std::array<rte_mbuf*, kReceiveBurst> burst;
    unsigned frames = 0;
    for (const Receiver& receiver : receivers_) {
        const std::uint16_t count =
            receiver.queue.port->rx_burst(receiver.queue.queue, burst.data(), most);
        if (count > 0) {
            // The time that counts for them is read right after they were.
            const auto now_ns = static_cast<std::uint64_t>(clock_.now_ns());
            if (receiver.only_errors) [[unlikely]] {
                tracked_->listen({burst.data(), count}, receiver.port_number);
                look_aside(receiver, {burst.data(), count});
            } else {
                intake_->take({burst.data(), count}, receiver.port_number, now_ns);
                if (const std::uint64_t others = intake_->received().other_traffic;
                    others != others_) [[unlikely]] {
                    others_ = others;
                    look_aside(receiver, {burst.data(), count});
                }
            }
            rte_pktmbuf_free_bulk(burst.data(), count);
            frames += count;
        }
    }
    if (frames > 0) {
        const judge::ReceiveTally& tally = intake_->received();
        live_.received.store(tally.received, std::memory_order_relaxed);
        live_.bad.store(tally.bad_checksum, std::memory_order_relaxed);
    }
    return frames;
}

// Empties a receive queue before the trial. Requests for an address are answered all the same:
// their senders still wait for it.
void LoadWorker::empty(const Receiver& receiver) noexcept {
    if (receiver.desk == nullptr) {
        emptied_ += receiver.queue.port->empty(receiver.queue.queue);
        return;
    }
    std::array<rte_mbuf*, kReceiveBurst> burst;
    while (const std::uint16_t count =
               receiver.queue.port->rx_burst(receiver.queue.queue, burst.data(), kReceiveBurst)) {
        look_aside(receiver, {burst.data(), count});
        rte_pktmbuf_free_bulk(burst.data(), count);
        emptied_ += count;
    }
}

void LoadWorker::look_aside(const Receiver& receiver, std::span<rte_mbuf* const> burst) noexcept {
    if (receiver.desk != nullptr) {
        receiver.desk->look(burst);
    }
}

unsigned LoadWorker::pass_on() noexcept {
    unsigned frames = 0;
    for (const auto& relay : relays_) {
        frames += relay->pass_on();
    }
    return frames;
}

neighbour::Relay* LoadWorker::relay_to(const port::Port& port) noexcept {
    const auto found =
        std::ranges::find_if(relays_, [&](const auto& relay) { return &relay->port() == &port; });
    return found == relays_.end() ? nullptr : found->get();
}

unsigned LoadWorker::answer(std::uint16_t most) noexcept {
    if (responder_ == nullptr) {
        return 0;
    }
    const std::size_t frames = responder_->serve(clock_, most);
    if (frames > 0) {
        live_.answered.store(responder_->responder().counts().answered, std::memory_order_relaxed);
    }
    return static_cast<unsigned>(frames);
}

unsigned LoadWorker::send(Tsc now) noexcept {
    unsigned frames = 0;
    for (Sender& sender : senders_) {
        frames += sender.turn(now);
    }
    if (frames > 0) {
        live_.sent.store(live_.sent.load(std::memory_order_relaxed) + frames,
                         std::memory_order_relaxed);
    }
    return frames;
}

bool LoadWorker::all_sent(Tsc now) const noexcept {
    return std::ranges::all_of(senders_,
                               [now](const Sender& sender) { return sender.finished(now); });
}

bool LoadWorker::pushed_out(Tsc now) noexcept {
    if (push_end_ == 0) {
        push_end_ = now + clock_.tsc.ticks(kStuckAfter);
    }
    bool all_out = true;
    for (Sender& sender : senders_) {
        all_out &= sender.push_out();
    }
    return all_out || now >= push_end_;
}

void LoadWorker::end_sending() noexcept {
    for (Sender& sender : senders_) {
        sender.end();
    }
    sending_ = false;
    board_.sending_is_over();
}

bool LoadWorker::drained(const TrialOrder& order, Tsc now) noexcept {
    if (receivers_.empty()) {
        const bool serves_others = responder_ != nullptr || !relays_.empty();
        return !serves_others || !(board_.somebody_sends() || board_.somebody_listens());
    }
    if (board_.somebody_sends()) {
        return false;
    }
    if (drain_from_ == 0) {
        drain_from_ = came_at_ = now;
        came_ = intake_->received().answers;
        drain_end_ = now + clock_.tsc.ticks(order.drain);
    }
    live_.arrived.store(intake_->arrived(), std::memory_order_release);
    if (stopped_) {
        drain_end_ = std::min(drain_end_, now + clock_.tsc.ticks(kShortDrain));
    }
    if (order.drain_end == TrialOrder::DrainEnd::kWhenAllArrived && everything_arrived()) {
        drain_end_ = std::min(drain_end_, now + clock_.tsc.ticks(order.settle));
    } else if (!stopped_ && order.put_off.by.count() > 0) {
        put_off(order, now);
    }
    return now >= drain_end_;
}

void LoadWorker::put_off(const TrialOrder& order, Tsc now) noexcept {
    const std::uint64_t came = intake_->received().answers;
    if (came != came_) {
        came_ = came;
        came_at_ = now;
    }
    if (now + clock_.tsc.ticks(kPutOff) < drain_end_) {
        return;
    }
    std::uint64_t answered = 0;
    for (const auto& worker : all_) {
        answered += worker->live().answered.load(std::memory_order_relaxed);
    }
    const bool more = now - came_at_ < clock_.tsc.ticks(order.put_off.by / 2) ||
                      (came < answered && now - came_at_ < clock_.tsc.ticks(kPatience));
    if (more && now - drain_from_ < clock_.tsc.ticks(order.put_off.most)) {
        drain_end_ = now + clock_.tsc.ticks(order.put_off.by);
    }
}

bool LoadWorker::everything_arrived() const noexcept {
    std::uint64_t sent = 0;
    std::uint64_t arrived = 0;
    for (const auto& worker : all_) {
        sent += worker->live().sent.load(std::memory_order_relaxed);
        arrived += worker->live().arrived.load(std::memory_order_acquire);
    }
    return arrived >= sent;
}

void LoadWorker::account(Tsc began, Tsc now, unsigned moved) noexcept {
    const Tsc took = now - began;
    if (moved > 0) {
        time_.busy += took;
        napper_.found_work();
    }
    if (took > (moved > 0 ? busy_stall_cycles_ : stall_cycles_)) [[unlikely]] {
        ++time_.stalls;
        time_.stalled += took;
        time_.longest_stall = std::max(time_.longest_stall, took);
    }
}

void LoadWorker::note_look(Tsc apart) noexcept {
    const auto cycles = static_cast<double>(apart);
    time_.looked += cycles;
    time_.looked_squared += cycles * cycles;
}

// Returns when there will be something to do, as far as that is known.
Tsc LoadWorker::wake(Tsc now) const noexcept {
    Tsc wake = !sending_ && drain_from_ != 0 ? drain_end_ : now + kNoDeadline;
    if (sending_) {
        for (const Sender& sender : senders_) {
            wake = std::min(wake, sender.wake());
        }
    }
    return responder_ == nullptr ? wake : std::min(wake, responder_->next_due(clock_, wake));
}

// Sleeps a little if nobody is harmed by it; says whether it may have.
bool LoadWorker::idle(const TrialOrder& order, Tsc now) noexcept {
    const bool calm = order.frames_per_second > 0 && order.frames_per_second <= kNapRate;
    if (!sending_ && !calm && drain_from_ == 0 && responder_ == nullptr) {
        return false;
    }
    napper_.nap(wake(now));
    return true;
}

}  // namespace pathproof::load
