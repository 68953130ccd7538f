// A path through the DUT under load: the lab's NAT box with the tester's first client port and its server
// port, and the DUT's agent. Frames go one way, from client to server.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dataplane/search/trials.h"
#include "harness/lab/hosts.h"
#include "harness/scenario/performance/figures.h"
#include "harness/scenario/scenario.h"
#include "harness/tester/client.h"

namespace pathproof::scenario::performance {

class PathBench {
  public:
    // Errors: those of the lab, its agent and the tester's ports.
    static Result<std::unique_ptr<PathBench>> open(Context& context);
    ~PathBench();

    Medium medium() const;
    // Returns the reason why the path does not carry frames of this size, FCS included; empty: it
    // does, by the MTU.
    std::string too_long(std::uint16_t bytes) const;

    // Starts a stream of these frames; the one before it ends. Errors: those of the tester.
    Status start(const std::vector<measure::FrameShare>& frames);
    // Ends it, and gives what the tester says of itself.
    Result<tester::LoadEnd> stop();
    search::Measurer& measurer() { return *measurer_; }

    // The DUT's device by which frames come in, and the one by which they leave.
    const std::string& in_device() const;
    const std::string& out_device() const;
    agent::Client& dut() { return *dut_; }
    unsigned dut_cpus() const;
    bool is_shared() const { return lab_->is_of_this_machine(); }

    // The DUT has these settings and no others of this bench.
    Status set(const setting::Settings& settings);
    Status describe();

  private:
    explicit PathBench(Context& context) : context_(context) {}
    Status open_ports();

    Context& context_;
    std::unique_ptr<lab::NatBox> lab_;
    std::shared_ptr<agent::Client> dut_;
    std::unique_ptr<tester::Client> tester_;
    std::unique_ptr<tester::RemoteMeasurer> measurer_;
    std::uint32_t mtu_ = 0;
    bool is_started_ = false;
};

}  // namespace pathproof::scenario::performance
