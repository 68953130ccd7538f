// The benchmarks are a program of their own, pathproof-bench, which stands beside pathproof.
#pragma once

namespace pathproof::cli {

// Becomes that program; `argv` are its arguments, "bench" in place of its name. Where it was not
// built: a sentence that says how to, and exit code 2.
int run_bench_program(char** argv);

}  // namespace pathproof::cli
