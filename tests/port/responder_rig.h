// `pathproof respond` as a process on one end of a veth pair, and the kernel's sockets at the
// other.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "harness/process/program.h"

namespace pathproof {

// Fails the test when the script does; gives what it printed.
std::string shell(const std::string& script);

// r0, the responder's, and c0, a kernel's with an address and sockets. Runs started meanwhile keep
// their journals in a folder of this cable's.
struct Cable {
    const std::string tester;
    const std::string client;
    const std::filesystem::path folder;

    Cable();
    Cable(const Cable&) = delete;
    Cable& operator=(const Cable&) = delete;
    ~Cable();

    // Returns what `ip -d link` prints about r0.
    std::string link() const;
    // Sends one query from each of `sockets` sockets and says how many were answered in time.
    unsigned answered(unsigned sockets) const;
};

// `pathproof WORDS`, run to its end.
process::ProgramOutput pathproof_run(const std::string& words);

// The command in the background, its JSON in a file.
class Responder {
  public:
    Responder(const Cable& cable, const std::string& port, const std::string& options);
    Responder(const Responder&) = delete;
    Responder& operator=(const Responder&) = delete;
    ~Responder();

    // Returns what the command has written to stderr so far.
    std::string said() const;
    // Ends it by `signal` (0: waits for it to end by itself) and gives its exit status.
    int end(int signal);
    nlohmann::json report() const;

  private:
    std::filesystem::path json_;
    std::filesystem::path said_;
    pid_t pid_ = -1;
};

}  // namespace pathproof
