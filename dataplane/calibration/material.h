// Input of a calibration: the rows of the qualification matrix with their frames, made once, and
// the frames that a healthy software NIC puts on the wire for them.
#pragma once

#include <cstdint>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/matrix/matrix.h"
#include "dataplane/matrix/probe.h"
#include "dataplane/matrix/tx_cell.h"
#include "dataplane/softnic/soft_nic.h"

namespace pathproof::calibration {

using matrix::FrameBytes;

struct CalibrationOptions {
    matrix::Strength strength = matrix::Strength::kTriples;
    std::uint64_t seed = 1;
    std::uint32_t probes = 8;  // of each row, with different payloads
    std::uint64_t healthy_frames = 3'000'000;
    std::uint64_t most_intermittent = 2'000'000;  // frames for one fault of F48
    std::size_t pair_step = 1;                    // every Nth sender's fault in pairs
    unsigned workers = 1;
    // Handicaps by which the calibration proves that it can fail: header fields that the judge
    // shall not look at, and a mistake of the byte-wise judge in the healthy run.
    matrix::FreeFields blind_to;
    judge::OracleMistake mistake = judge::OracleMistake::kNone;
};

struct SentProbe {
    matrix::Probe probe;
    std::vector<softnic::TxFrame> frames;          // as handed over: one for each of probe.handed
    std::vector<std::vector<FrameBytes>> healthy;  // wire frames of each
};

// A row of the matrix with its frames, and a NIC with the row's tunnel ports, as a host configures
// them.
template <typename Frames>
struct RowWith {
    matrix::Row row;
    softnic::NicLimits nic;
    std::vector<Frames> probes;
};
using SendRow = RowWith<SentProbe>;
using ReceiveRow = RowWith<matrix::Probe>;  // handed[].bytes are on the wire

struct Material {
    std::vector<SendRow> send;
    std::vector<ReceiveRow> receive;
    std::uint64_t feasible_tuples = 0;  // of both directions, all covered
};

// The rows of the matrix and some with one thing out of the ordinary each; the checksum fields that
// are left to the NIC hold a marker (marker.h).
// kFailed if the healthy software NIC refuses a frame of the matrix.
Result<Material> make_material(const CalibrationOptions& options);

// One more set of frames of a row, as make_material() makes them.
Result<SentProbe> make_sent(const matrix::ProbeMaker& maker, const matrix::Row& row,
                            const matrix::Label& label, softnic::SoftNic& healthy);

// The tunnel ports of the row, for the NIC's parser.
softnic::NicLimits nic_for(const matrix::Row& row);

}  // namespace pathproof::calibration
