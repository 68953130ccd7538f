// Helpers of the tests that build real labs. They run with a /run of their own (lab_main.cc), so
// that neither namespaces nor journals meet those of the machine.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "harness/lab/journal.h"
#include "tests/contains.h"

namespace pathproof::lab {

using test::contains;

// Runs a shell command in a namespace ("" : ours); fails the test when it fails.
std::string shell(const std::string& netns, const std::string& command);
// As shell(), but returns the exit status, whatever it is.
int shell_status(const std::string& netns, const std::string& command);

// Returns the lines that stand in only one of two states; empty: they are equal.
std::string difference(const std::string& before, const std::string& now);
// Returns an environment variable, or `otherwise` where it is not set.
std::string variable(const char* name, const char* otherwise);
// The binary under test, from PATHPROOF.
std::string binary_path();
std::vector<std::string> netns_names();
// Waits, at most 10 s, until the agents of a killed run have put their hosts back and ended.
void wait_for_agents();
// Fails the test where a namespace, a journal or a mount is left.
void check_nothing_left();

// A process of its own that runs `work`, with a way to say how far it is.
class Forked {
  public:
    using Say = std::function<void(const std::string&)>;
    explicit Forked(const std::function<void(const Say&)>& work);
    Forked(const Forked&) = delete;
    Forked& operator=(const Forked&) = delete;
    ~Forked();  // SIGKILL if it still runs

    pid_t pid() const { return pid_; }
    std::string hear();       // waits for the next line it says; "" when it ended
    void signal(int number);  // sends it
    int wait();               // exit status, or 128 + signal number

  private:
    pid_t pid_ = -1;
    int ear_ = -1;
};

// The binary with these words, as a user starts it in `folder` (`netns` empty: ours); what it says
// goes to the file `said` there.
class Started : public Forked {
  public:
    Started(const std::string& words, const std::string& folder, const std::string& netns = "");
};

// A raw packet socket on a device of a namespace.
class RawPort {
  public:
    RawPort(const std::string& netns, const std::string& device);
    RawPort(const RawPort&) = delete;
    RawPort& operator=(const RawPort&) = delete;
    ~RawPort();

    void send(std::span<const std::uint8_t> frame);
    // All frames that come in (not those sent here) until `quiet_ms` pass without one; whole,
    // however long.
    std::vector<std::vector<std::uint8_t>> receive(int quiet_ms);

  private:
    int socket_ = -1;
};

}  // namespace pathproof::lab
