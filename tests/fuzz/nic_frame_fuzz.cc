// Any bytes as a frame handed over to the software NIC and received by it, with every fault of the
// list: nothing is read or written beyond the frame, and all is counted.
#include <cstring>
#include <vector>

#include "dataplane/softnic/soft_nic.h"
#include "tests/fuzz/fuzz.h"

using namespace pathproof;

namespace {

softnic::SoftNic nic_with_all_faults() {
    std::vector<softnic::Fault> faults;
    for (const auto models : {softnic::fault_models(), softnic::open_world_models()}) {
        for (const softnic::FaultModel& model : models) {
            faults.push_back(softnic::fault_of(model));
            faults.back().rate = 1;
            faults.back().after = 0;
        }
    }
    return softnic::SoftNic({}, faults);
}

// The first bytes are the request, the rest the frame.
constexpr std::size_t kRequest = 8 + 6;

softnic::TxFrame frame_of(softnic::Bytes bytes) {
    softnic::TxFrame frame;
    if (bytes.size() >= kRequest) {
        frame::OffloadRequest& request = frame.request.offload;
        std::memcpy(&request.mbuf_flags, bytes.data(), sizeof request.mbuf_flags);
        request.l2_len = bytes[8];
        request.l3_len = bytes[9];
        request.l4_len = bytes[10];
        request.outer_l2_len = bytes[11];
        request.outer_l3_len = bytes[12];
        request.segment_bytes = bytes[13];
        bytes = bytes.subspan(kRequest);
    }
    frame.bytes.assign(bytes.begin(), bytes.end());
    return frame;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static softnic::SoftNic healthy;
    static softnic::SoftNic faulty = nic_with_all_faults();
    softnic::TxFrame frame = frame_of({data, size});
    for (softnic::SoftNic* nic : {&healthy, &faulty}) {
        softnic::TxResult sent;
        softnic::RxResult got;
        nic->transmit(frame, sent);
        for (softnic::WireFrameBytes& wire : sent.frames) {
            nic->receive(std::vector<std::uint8_t>(wire), got);
        }
        nic->receive({data, size}, got);
        const softnic::NicCounters& counted = nic->counters();
        fuzz::require(counted.tx_refused <= counted.tx_handed_over,
                      "more refused than handed over");
    }
    softnic::TxResult sent;
    healthy.transmit(frame, sent);
    fuzz::require(sent.frames.empty() == (sent.refusal != softnic::Refusal::kNone),
                  "a frame neither sent nor refused");
    return 0;
}
