// `pathproof inspect watch`, running and known to listen.
#pragma once

#include <sys/types.h>

#include <string>
#include <thread>

#include "harness/process/program.h"

namespace pathproof::netfilter::lab {

class Watching {
  public:
    // Starts `pathproof inspect watch ARGUMENTS` and waits until it says that it listens. PATHPROOF
    // is the program.
    explicit Watching(const std::string& arguments);
    Watching(const Watching&) = delete;
    Watching& operator=(const Watching&) = delete;
    ~Watching();

    pid_t pid() const { return pid_; }
    // Waits for its end.
    process::ProgramOutput finish();

  private:
    std::string said() const;

    std::string path_;  // where its pid stands, and what it writes to standard error
    std::thread running_;
    Result<process::ProgramOutput> output_;
    pid_t pid_ = -1;
};

}  // namespace pathproof::netfilter::lab
