#include "harness/metrics/text_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

using namespace pathproof;
using namespace pathproof::metrics;
namespace fs = std::filesystem;

namespace {

struct Folder {
    const fs::path path = fs::path("text-file-" + std::to_string(getpid()));
    Folder() { fs::create_directory(path); }
    ~Folder() { fs::remove_all(path); }
    std::size_t files() const {
        return static_cast<std::size_t>(
            std::distance(fs::directory_iterator(path), fs::directory_iterator()));
    }
};

std::string content(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_file_is_replaced_as_a_whole_and_nothing_else_is_left) {
    const Folder folder;
    const fs::path path = folder.path / "pathproof.prom";
    BOOST_REQUIRE(replace_file(path, std::string(100'000, 'a') + "\n").has_value());
    std::ifstream earlier_reader(path);
    BOOST_REQUIRE(replace_file(path, "new\n").has_value());
    BOOST_TEST(content(path) == "new\n");
    BOOST_TEST(folder.files() == 1U);
    // Who opened the file before reads the old text to its end.
    const std::string old{std::istreambuf_iterator<char>(earlier_reader), {}};
    BOOST_TEST(old == std::string(100'000, 'a') + "\n");
    struct stat file {};
    BOOST_REQUIRE(stat(path.c_str(), &file) == 0);
    BOOST_TEST((file.st_mode & 0777) == 0644U);
}

BOOST_AUTO_TEST_CASE(a_file_that_cannot_be_written_is_named_and_leaves_nothing) {
    const Folder folder;
    const auto missing = replace_file(folder.path / "no" / "x.prom", "text");
    BOOST_REQUIRE(!missing);
    BOOST_TEST((missing.error().code == ErrorCode::kBadInput));
    BOOST_TEST(missing.error().message.find("x.prom") != std::string::npos);
    // A folder stands where the file should be.
    fs::create_directory(folder.path / "taken");
    const auto taken = replace_file(folder.path / "taken", "text");
    BOOST_REQUIRE(!taken);
    BOOST_TEST((taken.error().code == ErrorCode::kBadInput));
    BOOST_TEST(folder.files() == 1U);
}
