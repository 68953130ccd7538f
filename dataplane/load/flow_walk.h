// Goes through the flows of one class by counters, without a division on the way. Flows of one
// source address lie in a row, one per port.
#pragma once

#include <algorithm>
#include <cstdint>

#include "dataplane/load/load_plan.h"

namespace pathproof::load {

class FlowWalk {
  public:
    // Walks a plan that check() let pass: first < flows, ports not 0.
    FlowWalk(const FlowPlan& plan, std::uint64_t first, std::uint64_t step)
        : count_((plan.flows - first + step - 1) / step),
          ports_(plan.ports),
          port_step_(static_cast<std::uint32_t>(step % plan.ports)),
          row_step_(static_cast<std::uint32_t>(step / plan.ports)),
          first_index_(static_cast<std::uint32_t>(first % plan.ports)),
          first_row_(static_cast<std::uint32_t>(first / plan.ports)),
          first_port_(plan.first_port),
          step_(step) {
        restart();
    }

    // Moves to the flow of this number, counted from the first of the walk and round again.
    void seek(std::uint64_t number) noexcept {
        const std::uint64_t behind = number % count_;
        const std::uint64_t flow =
            std::uint64_t{first_row_} * ports_ + first_index_ + behind * step_;
        left_ = count_ - behind;
        index_ = static_cast<std::uint32_t>(flow % ports_);
        row_ = static_cast<std::uint32_t>(flow / ports_);
        enter_row();
    }

    // The source port of this flow, and what to add for the next ones of the row.
    std::uint32_t port() const noexcept { return first_port_ + index_; }
    std::uint32_t port_step() const noexcept { return port_step_; }
    // Returns by how many addresses the source address is behind the first one.
    std::uint32_t row() const noexcept { return row_; }
    // Flows from this one on that have its source address and follow by port_step().
    std::uint64_t left_in_row() const noexcept { return left_in_row_; }

    // Moves on by `flows`, at most left_in_row().
    void advance(std::uint64_t flows) noexcept {
        left_ -= flows;
        left_in_row_ -= flows;
        if (left_ == 0) {
            restart();
            return;
        }
        index_ += static_cast<std::uint32_t>(flows) * port_step_;
        if (left_in_row_ == 0) {
            row_ += row_step_;
            if (index_ >= ports_) {
                index_ -= ports_;
                ++row_;
            }
            enter_row();
        }
    }

  private:
    void restart() noexcept {
        left_ = count_;
        index_ = first_index_;
        row_ = first_row_;
        enter_row();
    }
    void enter_row() noexcept {
        std::uint64_t flows = 1;
        if (row_step_ == 0) {
            const std::uint32_t ports = ports_ - index_;
            flows = port_step_ == 1 ? ports : (ports + port_step_ - 1) / port_step_;
        }
        left_in_row_ = std::min(flows, left_);
    }

    std::uint64_t count_;
    std::uint32_t ports_;
    std::uint32_t port_step_;
    std::uint32_t row_step_;
    std::uint32_t first_index_;
    std::uint32_t first_row_;
    std::uint32_t first_port_;
    std::uint64_t step_;
    std::uint64_t left_ = 0;
    std::uint64_t left_in_row_ = 0;
    std::uint32_t index_ = 0;  // of the port
    std::uint32_t row_ = 0;
};

}  // namespace pathproof::load
