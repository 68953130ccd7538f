// A run of the binary in the background, its stderr in a file, its stdout thrown away.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/scenario/lab_run.h"

class Background {
  public:
    Background(std::vector<std::string> arguments, std::string log) : log_(std::move(log)) {
        arguments.insert(arguments.begin(), binary());
        std::vector<char*> words;
        for (std::string& word : arguments) {
            words.push_back(word.data());
        }
        words.push_back(nullptr);
        pid_ = fork();
        if (pid_ == 0) {
            dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
            dup2(open(log_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
            execv(words[0], words.data());
            _exit(127);
        }
    }
    ~Background() {
        if (pid_ > 0) {
            kill(pid_, SIGKILL);
            waitpid(pid_, nullptr, 0);
        }
    }
    Background(const Background&) = delete;
    Background& operator=(const Background&) = delete;

    pid_t pid() const { return pid_; }
    // Waits until the log holds `text`.
    void wait_for(const std::string& text) const {
        BOOST_REQUIRE_MESSAGE(comes(text, std::chrono::seconds(120)),
                              "the run never said '" << text << "': " << log());
    }
    bool comes(const std::string& text, std::chrono::milliseconds patience) const {
        for (; patience.count() > 0; patience -= std::chrono::milliseconds(10)) {
            if (log().find(text) != std::string::npos) {
                return true;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        return false;
    }
    std::string log() const {
        std::ifstream file(log_);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    // Waits for its end; the exit status, or 128 + the signal.
    int end() {
        int state = 0;
        waitpid(pid_, &state, 0);
        pid_ = -1;
        return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
    }

  private:
    pid_t pid_ = -1;
    std::string log_;
};
