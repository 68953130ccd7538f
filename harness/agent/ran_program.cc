#include "harness/agent/ran_program.h"

#include <fmt/ranges.h>

#include "harness/agent/operations.h"
#include "harness/process/foreign.h"
#include "harness/process/program.h"

namespace pathproof::agent {
namespace {

Result<RanProgram> run_here(const std::vector<std::string>& words, const std::string& input) {
    auto ran = TRY(process::run_program(words, {.input = input}));
    return RanProgram{ran.exit_status, std::move(ran.out), std::move(ran.err)};
}

}  // namespace

Result<RanProgram> Client::run_program(const std::vector<std::string>& words,
                                       const std::string& input) {
    return impl_->ask_for<RanProgram>(kBulkTime, "run_program", words, input);
}

Result<std::string> Client::output_of(const std::vector<std::string>& words,
                                      const std::string& input) {
    auto ran = TRY(run_program(words, input));
    if (ran.exit_status != 0) {
        return fail(ErrorCode::kFailed, "{}: '{}' failed with status {}: {}", who(),
                    fmt::join(words, " "), ran.exit_status, process::last_words(ran.err));
    }
    return std::move(ran.out);
}

void add_run_program(Operations& operations) {
    operations.add("run_program", run_here);
}

}  // namespace pathproof::agent
