// A program on a pseudo-terminal of its own, as a user has it: keys go in, and what it does to the
// terminal can be looked at.
#pragma once

#include <sys/types.h>
#include <termios.h>

#include <chrono>
#include <string>
#include <vector>

namespace pathproof::screen {

class PseudoTerminal {
  public:
    PseudoTerminal(const std::vector<std::string>& argv, unsigned columns, unsigned rows,
                   const std::string& kind = "xterm");
    PseudoTerminal(const PseudoTerminal&) = delete;
    ~PseudoTerminal();  // kills the program

    pid_t pid() const { return pid_; }
    void type(const std::string& keys);
    void resize(unsigned columns, unsigned rows);
    // Reads until `text` has been written in one piece; false after ten seconds.
    bool shows(const std::string& text);
    const std::string& output() const { return output_; }
    // The exit status; 128 + signal; -1 when it does not end within ten seconds.
    int wait();
    // Settings of the terminal before the program, and as they are now.
    const termios& before() const { return before_; }
    termios now() const;

  private:
    bool read_some(std::chrono::milliseconds wait);

    int keyboard_ = -1;  // our end
    int terminal_ = -1;  // the program's, kept open: its settings outlive the program
    pid_t pid_ = -1;
    termios before_{};
    std::string output_;
};

}  // namespace pathproof::screen
