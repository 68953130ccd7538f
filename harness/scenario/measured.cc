#include "harness/scenario/measured.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace pathproof::scenario {

void Measured::begin(const verdict::ScenarioResult& head) {
    const std::lock_guard lock(mutex_);
    result_ = head;
    step_ = "setup";
    seconds_.clear();
    last_end_ = std::chrono::steady_clock::now();
    in_progress_ = true;
}

void Measured::add(const verdict::Cell& cell) {
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    seconds_[cell.id] += std::chrono::duration<double>(now - last_end_).count();
    last_end_ = now;
    (cell.role == verdict::Cell::Role::kControl ? result_.controls : result_.cells).push_back(cell);
}

void Measured::step(const std::string& what) {
    const std::lock_guard lock(mutex_);
    step_ = what;
}

std::optional<verdict::ScenarioResult> Measured::cut_short(const std::string& why) const {
    const std::lock_guard lock(mutex_);
    if (!in_progress_) {
        return std::nullopt;
    }
    verdict::ScenarioResult result = result_;
    const std::size_t cells = result.cells.size() + result.controls.size();
    result.verdict = verdict::ScenarioVerdict::kInconclusive;
    result.headline =
        cells == 0
            ? fmt::format("The experiment could not be made: {}", why)
            : fmt::format(
                  "The experiment came to no end: {}. The {} cells measured before are kept; "
                  "nothing is concluded from them.",
                  why, cells);
    result.cells.push_back(
        {.id = "unfinished." + step_, .verdict = verdict::CellVerdict::kError, .reason = why});
    return result;
}

std::optional<double> Measured::seconds_of(const std::string& id) const {
    const std::lock_guard lock(mutex_);
    const auto found = seconds_.find(id);
    return found == seconds_.end() ? std::nullopt : std::optional(found->second);
}

void Measured::end() {
    const std::lock_guard lock(mutex_);
    in_progress_ = false;
}

void Measured::know(verdict::FactGroup device) {
    const std::lock_guard lock(mutex_);
    if (std::ranges::find(devices_, device.title, &verdict::FactGroup::title) == devices_.end()) {
        devices_.push_back(std::move(device));
    }
}

void Measured::know_item(verdict::Item item) {
    const std::lock_guard lock(mutex_);
    for (verdict::Item& known : items_) {
        if (known.title == item.title) {
            return;
        }
        if (known.title.empty() && known.device == item.device) {
            known.title = item.title;
            return;
        }
    }
    items_.push_back(std::move(item));
}

void Measured::end_item(const verdict::Item& ended, const std::vector<verdict::Reading>& now) {
    const std::lock_guard lock(mutex_);
    for (verdict::Item& item : items_) {
        if (item.title == ended.title && item.device == ended.device) {
            verdict::end_readings(item.readings, now);
        }
    }
}

void Measured::know_host(verdict::HostWatch host) {
    const std::lock_guard lock(mutex_);
    hosts_.push_back(std::move(host));
}

std::vector<verdict::Item> Measured::items() const {
    const std::lock_guard lock(mutex_);
    return items_;
}

std::vector<verdict::HostWatch> Measured::hosts() const {
    const std::lock_guard lock(mutex_);
    return hosts_;
}

void Measured::know_dpdk(const std::string& version) {
    const std::lock_guard lock(mutex_);
    dpdk_version_ = version;
}

std::vector<verdict::FactGroup> Measured::devices() const {
    const std::lock_guard lock(mutex_);
    return devices_;
}

std::string Measured::dpdk_version() const {
    const std::lock_guard lock(mutex_);
    return dpdk_version_;
}

}  // namespace pathproof::scenario
