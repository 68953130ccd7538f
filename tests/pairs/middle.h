// A DUT of the test's own between ring ports: clients c0 and c1 on one side, the server s0 on the
// other. Each frame passes through the test's hook, which may drop, copy, hold back or change it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "dataplane/pairs/pair_run.h"
#include "tests/port/ring_ports.h"
#include "tests/traffic/frames.h"

namespace pathproof::pairs {

using traffic::Frame;
using traffic::Frames;

enum class Way { kToServer, kToClient };

// Gives the frames to deliver instead of one that came; none: it is lost.
using Hook = std::function<Frames(Way, const Frame&)>;

// Holds one frame less; the ports' pools hold more.
inline constexpr unsigned kRingSize = 2048;

// Ports 0 and 1 are clients, port 2 the server; made once for the process.
std::span<port::Port> ring_ports();

class Middle {
  public:
    explicit Middle(Hook hook);
    ~Middle();

  private:
    void run();

    Hook hook_;
    std::atomic<bool> stop_ = false;
    std::thread thread_;
};

// Delivers everything unchanged.
Frames unchanged(Way, const Frame& frame);

// Ten pairs in a hundredth of a second, from ports 0 and 1, to 203.0.113.2:53, as a start for a
// test's own plan.
PairPlan small_plan();
traffic::ResponderPlan small_responder();

judge::PairReport run(const PairPlan& plan, const traffic::ResponderPlan& responder,
                      const Hook& hook);

}  // namespace pathproof::pairs
