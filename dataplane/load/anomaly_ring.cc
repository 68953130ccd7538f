#include "dataplane/load/anomaly_ring.h"

#include <algorithm>
#include <utility>

namespace pathproof::load {

AnomalyRing::AnomalyRing(std::uint32_t around, std::uint32_t anomalies)
    : around_(anomalies == 0 ? 0 : around), most_(anomalies) {
    if (!active()) {
        return;
    }
    ring_.resize(std::size_t{2} * around_ + 1);
    for (RingFrame& frame : ring_) {
        frame.bytes.reserve(kMostBytes);
    }
    set_room();
}

void AnomalyRing::set_room() {
    found_.resize(most_);
    for (Anomaly& anomaly : found_) {
        anomaly.around.resize(ring_.size());
        for (RingFrame& frame : anomaly.around) {
            frame.bytes.reserve(kMostBytes);
        }
    }
    marked_ = completed_ = 0;
}

void AnomalyRing::note(std::span<const std::uint8_t> frame, std::int64_t at_ns) noexcept {
    RingFrame& slot = ring_[noted_ % ring_.size()];
    const auto cut = frame.first(std::min(frame.size(), kMostBytes));
    slot.bytes.assign(cut.begin(), cut.end());  // within the reserved memory
    slot.at_ns = at_ns;
    slot.number = noted_++;
    while (completed_ < marked_ && noted_ - 1 == found_[completed_].number + around_) {
        complete(completed_++);
    }
}

void AnomalyRing::mark(Anomaly::Kind kind) noexcept {
    const std::uint64_t number = noted_ - 1;
    if (marked_ == found_.size() || (marked_ > 0 && found_[marked_ - 1].number == number)) {
        return;
    }
    found_[marked_].kind = kind;
    found_[marked_++].number = number;
}

void AnomalyRing::complete(std::size_t index) noexcept {
    Anomaly& anomaly = found_[index];
    const std::uint64_t first = anomaly.number > around_ ? anomaly.number - around_ : 0;
    const std::uint64_t last = std::min(anomaly.number + around_, noted_ - 1);
    for (std::uint64_t number = first; number <= last; ++number) {
        anomaly.around[number - first] = ring_[number % ring_.size()];
    }
    anomaly.around.resize(last - first + 1);
}

std::vector<Anomaly> AnomalyRing::take() {
    while (completed_ < marked_) {
        complete(completed_++);
    }
    found_.resize(marked_);
    std::vector<Anomaly> taken = std::exchange(found_, {});
    if (active()) {
        set_room();
    }
    return taken;
}

}  // namespace pathproof::load
