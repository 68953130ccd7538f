// Things that undoing put back, reported in brief: one line a device.
#pragma once

#include <string>
#include <vector>

#include "harness/lab/journal_file.h"

namespace pathproof::lab {

// One thing that really changed.
struct PutBack {
    UndoAction::Kind kind = UndoAction::Kind::kNetns;
    std::string netns = "";   // in which `device` is; empty: ours
    std::string device = "";  // as it is called now; empty: it is nothing of a device
    // State of the device now ("tx-checksum-ipv4 on"), else what was done ("deleted network
    // namespace pp-1a2b-dut").
    std::string what;
};

// Leftovers of one killed run.
struct RestoredRun {
    std::string run_id;  // empty: it belongs to no single run, or the run had not said its name yet
    std::string command;
    std::vector<PutBack> things;
    std::vector<std::string> left_alone;  // what others changed since, a sentence each
};

// "r0 in network namespace dut"
std::string device_in_words(const std::string& device, const std::string& netns);

// "r0: 74 features as before, XDP program 7 (xsk_def_prog) taken off", the devices in the order in
// which they come first.
std::vector<std::string> in_short(const std::vector<PutBack>& things);
// "r0: tx-checksum-ipv4 on"
std::string in_full(const PutBack& thing);

// ", left by run 6f2a ('pathproof respond r0')"
std::string left_by(const RestoredRun& run);
// All runs in short, each line with whose it was.
std::vector<std::string> in_short(const std::vector<RestoredRun>& runs);

}  // namespace pathproof::lab
