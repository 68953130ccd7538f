// A device under test with an agent beside it and the tester's port at the far end of its cable:
// probes go in with exact offload metadata, and what crosses the wire comes back as bytes.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/matrix/probe.h"
#include "harness/agent/client.h"
#include "harness/agent/device_info.h"
#include "harness/scenario/offload_truth/truth_host.h"
#include "harness/scenario/scenario.h"
#include "harness/tester/client.h"
#include "harness/truth/batch.h"
#include "harness/truth/kernel_exchange.h"
#include "harness/truth/rows.h"

namespace pathproof::scenario {

// Pace at which frames are sent, for a path that is slow or has little room.
struct Pace {
    // At a time: as many fit the tester's ring even if its lcore sleeps through all of them.
    std::size_t frames = 480;
    std::chrono::milliseconds patience{100};  // for what has not come yet
    bool operator==(const Pace&) const = default;
};

class TruthBench {
  public:
    // Starts the agent and the tester.
    // `dut`: the agent on the device's host; null: that of the lab, or one that is started for it.
    static Result<std::unique_ptr<TruthBench>> open(Context& context, const TruthDevice& device,
                                                    std::shared_ptr<agent::Client> dut);

    agent::Client& dut() { return *dut_; }
    const TruthHost& host() const { return *host_; }
    const TruthDevice& device() const { return device_; }
    const agent::DeviceInfo& info() const { return info_; }
    const port::PortInfo& tester_port() const { return tester_->ports().front(); }
    const Pace& pace() const { return pace_; }
    void set_pace(const Pace& pace) { pace_ = pace; }
    // No longer IP packet crosses the path, or is to be sent.
    void limit_packets(std::uint32_t bytes) { device_.longest_packet = bytes; }

    // Returns the reason why the tester's port cannot show frames of this row as they are on the
    // wire; nothing if it can.
    std::optional<std::string> blind_to(const matrix::Row& row) const;
    // Sees stalls in what carry() sends; null: nobody does.
    void watch_stalls(truth::StallWatch* watch) { watch_ = watch; }
    // One for each probe.
    Result<std::vector<truth::Carried>> carry(const std::vector<matrix::Probe>& probes,
                                              const matrix::ProbeMaker& maker,
                                              truth::TesterTally& tally);
    // The cable, for a moment: it goes with the pace that is set now.
    truth::KernelExchange exchange() { return exchange_by(device_.name); }
    // The way from another device of its host to the same tester's port, and back.
    truth::KernelExchange exchange_by(const std::string& device) {
        return {*tester_, *dut_, device, pace_.patience};
    }
    // Frames out of the tester's port, as they are. Errors: one that the port would not take.
    Status send(const std::vector<matrix::FrameBytes>& frames);
    // Good and bad frames of rows sent to the device, and what its kernel says of them.
    Result<truth::RowsRun> receive(const truth::RowSettings& rows);
    // Records while `send` sends, until as many frames came as it says are on their way, or none
    // comes any more.
    Result<traffic::Recording> record(const std::function<Result<std::uint64_t>()>& send) {
        return exchange().record(send);
    }

    // The cell's evidence/ID.pcapng and ID.txt with every field explained; nothing without an
    // output folder.
    void keep(const std::vector<matrix::FrameBytes>& frames, const std::string& explanation,
              verdict::Cell& cell);

  private:
    TruthBench() = default;
    TruthDevice device_;
    std::shared_ptr<agent::Client> dut_;
    std::optional<TruthHost> host_;
    agent::DeviceInfo info_;
    std::unique_ptr<tester::Client> tester_;
    Pace pace_;
    truth::StallWatch* watch_ = nullptr;
    std::string out_dir_;
};

}  // namespace pathproof::scenario
