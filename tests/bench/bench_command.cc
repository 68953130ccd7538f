#include "tests/bench/bench_command.h"

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>

namespace pathproof::bench {

using nlohmann::json;

Folder::Folder()
    : path_(std::filesystem::temp_directory_path() / ("pp-bench-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(path_);
    setenv("PATHPROOF_RUN_DIR", (path_ / "run").c_str(), 1);
}

Folder::~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

std::string binary() {
    const char* path = std::getenv("PATHPROOF");
    BOOST_REQUIRE_MESSAGE(path != nullptr, "PATHPROOF must name the binary; meson test sets it");
    return path;
}

process::ProgramOutput run_bench(std::vector<std::string> words) {
    words.insert(words.begin(), {binary(), "bench"});
    const auto ran = process::run_program(words, {.timeout = std::chrono::minutes(4)});
    BOOST_REQUIRE_MESSAGE(ran, (ran ? "" : ran.error().message));
    return *ran;
}

const json& by_id(const json& list, const std::string& id) {
    for (const json& item : list) {
        if (item["id"] == id) {
            return item;
        }
    }
    BOOST_FAIL("there is no '" << id << "'");
    return list;
}

double median(const json& experiment, const std::string& lane, const std::string& figure) {
    const json& value = by_id(experiment["lanes"], lane)["figures"][figure];
    BOOST_REQUIRE_MESSAGE(value.is_object(), lane << " has no " << figure);
    return value["median"];
}

}  // namespace pathproof::bench
