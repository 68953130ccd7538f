// The QEMU Machine Protocol, as much of it as a guest takes: commands without arguments one after
// another, events passed over (docs/interop/qmp-spec.rst of QEMU).
#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "dataplane/base/file.h"
#include "dataplane/base/result.h"

namespace pathproof::guest {

// One line of QEMU's: what became of a command. Nothing: a greeting, an event, or no JSON.
std::optional<Result<nlohmann::json>> qmp_answer(const std::string& line);

class Qmp {
  public:
    // An abstract socket of a named network namespace. kBadInput: a name that is too long for one.
    static Result<Qmp> connect(const std::string& netns, const std::string& name);
    // kUnavailable: it does not answer within `patience`.
    Result<nlohmann::json> execute(const std::string& command,
                                   std::chrono::milliseconds patience = std::chrono::seconds(5));

  private:
    explicit Qmp(Fd socket) : socket_(std::move(socket)) {}
    Fd socket_;
    std::string read_;  // what came behind the last whole line
};

}  // namespace pathproof::guest
