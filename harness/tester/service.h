// The tester process: holds the EAL and the ports, and does what the controller asks over JSON
// lines.
//
//   open         {TesterOptions}            -> {dpdk_version, ports}    once, first
//   run_pairs    {plan, responder, evidence} -> {PairReport}
//   cancel       {}                          -> {}                      ends a run_pairs early
//   start_wire   {WirePlan}                  -> {}
//   wire_state   {}                          -> {broken}
//   stop_wire    {evidence}                  -> {WireReport}
//   start_recording {RecordPlan}             -> {}
//   stop_recording  {RecordEnd}              -> {Recording}
//   write_frames    {path, about, frames}    -> {}
#pragma once

namespace pathproof::tester {

// Serves until `input` ends; the calling thread becomes EAL's main lcore. Gives the process's exit
// status.
int serve(int input, int output);

}  // namespace pathproof::tester
