// What a calibration runs on: the rows of the qualification matrix with their frames, made once,
// and what a healthy software NIC puts on the wire for them.
#pragma once

#include <cstdint>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/matrix/matrix.h"
#include "dataplane/matrix/probe.h"
#include "dataplane/softnic/soft_nic.h"

namespace pathproof::calibration {

using matrix::FrameBytes;

struct SentProbe {
    matrix::Probe probe;
    std::vector<softnic::TxFrame> frames;          // as handed over: one for each of probe.handed
    std::vector<std::vector<FrameBytes>> healthy;  // wire frames of each
};

struct SendRow {
    matrix::Row row;
    softnic::NicLimits nic;  // with the row's tunnel ports, as a host configures them
    std::vector<SentProbe> probes;
};

struct ReceiveRow {
    matrix::Row row;
    softnic::NicLimits nic;
    std::vector<matrix::Probe> probes;  // handed[].bytes are on the wire
};

struct Material {
    std::vector<SendRow> send;
    std::vector<ReceiveRow> receive;
    std::uint64_t feasible_tuples = 0;  // of both directions, all covered
};

struct MaterialOptions {
    matrix::Strength strength = matrix::Strength::kTriples;
    std::uint64_t seed = 1;
    std::uint32_t probes = 8;  // of each row, with different payloads
};

// The rows of the matrix and some with one thing out of the ordinary each; the checksum fields that
// are left to the NIC hold a marker (marker.h).
// kFailed if the healthy software NIC refuses a frame of the matrix.
Result<Material> make_material(const MaterialOptions& options);

// One more set of frames of a row, as make_material() makes them.
Result<SentProbe> make_sent(const matrix::ProbeMaker& maker, const matrix::Row& row,
                            const matrix::Label& label, softnic::SoftNic& healthy);

// The tunnel ports of the row, for the NIC's parser.
softnic::NicLimits nic_for(const matrix::Row& row);

}  // namespace pathproof::calibration
