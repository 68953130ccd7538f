#include "harness/cli/bench_program.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "harness/cli/commands.h"
#include "harness/process/child.h"

namespace pathproof::cli {

int run_bench_program(char** argv) {
    const std::string program = process::own_binary() + "-bench";
    execv(program.c_str(), argv);
    return complain(Error{
        ErrorCode::kNotFound,
        fmt::format("{} cannot be started ({}): the benchmarks are built where they are wanted, "
                    "with 'ninja -C build pathproof-bench' in the source tree, and run there as "
                    "'build/pathproof bench'",
                    program, std::strerror(errno))});
}

}  // namespace pathproof::cli
