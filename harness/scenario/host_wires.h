// The tester between hosts of its own machine and the cables of a DUT that is somebody's: a DPDK wire a cable, which
// carries and judges every frame, and finishes the checksums that a virtual device leaves undone.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/lab/nat_path.h"
#include "harness/scenario/scenario.h"
#include "harness/tester/client.h"

namespace pathproof::scenario {

class HostWires {
  public:
    // Opens the ports, and carries from then on. Errors: those of ports::choose_port() and ports::open_tester().
    static Result<std::unique_ptr<HostWires>> start(Context& context,
                                                    std::vector<lab::HostCable> cables);

    // Returns whether the tester has a kernel interface by a packet socket.
    bool by_packet_sockets() const;
    // Report on the wires; frames not carried, or carried with a wrong checksum, are objections.
    struct Report {
        verdict::FactGroup facts;
        std::vector<std::string> objections;
        std::vector<verdict::EvidenceFile> evidence;
    };
    // Ends the carrying. `name`: of evidence files.
    Result<Report> stop(const std::string& name);

  private:
    explicit HostWires(Context& context) : context_(context) {}
    void tell(std::uint32_t number, const softnic::WireReport& seen, Report& report) const;

    Context& context_;
    std::vector<lab::HostCable> cables_;  // each the wire of its number
    std::unique_ptr<tester::Client> tester_;
};

}  // namespace pathproof::scenario
