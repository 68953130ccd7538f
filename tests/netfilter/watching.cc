#include "tests/netfilter/watching.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>

namespace pathproof::netfilter::lab {

using namespace std::chrono_literals;

Watching::Watching(const std::string& arguments) {
    const char* const binary = std::getenv("PATHPROOF");
    BOOST_REQUIRE_MESSAGE(binary != nullptr,
                          "PATHPROOF must hold the path of the pathproof binary");
    char path[] = "/tmp/pp-watching-XXXXXX";
    const int file = mkstemp(path);
    BOOST_REQUIRE(file >= 0);
    close(file);
    path_ = path;
    running_ = std::thread([this, binary, arguments] {
        output_ =
            process::run_program({"/bin/sh", "-c",
                                  fmt::format("echo $$ >{0}; exec {1} inspect watch {2} 2>>{0}",
                                              path_, binary, arguments)});
    });
    for (int i = 0; i < 1000 && said().find("listening") == std::string::npos; ++i) {
        std::this_thread::sleep_for(10ms);
    }
    std::ifstream(path_) >> pid_;
    BOOST_TEST(said().find("listening") != std::string::npos, said());
}

Watching::~Watching() {
    if (running_.joinable()) {
        kill(pid_, SIGKILL);
        running_.join();
    }
    unlink(path_.c_str());
}

process::ProgramOutput Watching::finish() {
    running_.join();
    BOOST_REQUIRE_MESSAGE(output_, output_.error().message);
    output_->err = said();
    return *output_;
}

std::string Watching::said() const {
    std::ifstream file(path_);
    std::string pid;
    std::getline(file, pid);
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace pathproof::netfilter::lab
