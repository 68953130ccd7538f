#define BOOST_TEST_MODULE base
#include "dataplane/base/new_file.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

using namespace pathproof;
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
    BOOST_REQUIRE(
        replace_file(path, std::string(100'000, 'a') + "\n", Readers::kEverybody).has_value());
    std::ifstream earlier_reader(path);
    BOOST_REQUIRE(replace_file(path, "new\n").has_value());
    BOOST_TEST(content(path) == "new\n");
    BOOST_TEST(folder.files() == 1U);
    // A reader that opened the file before reads the old text to its end.
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

BOOST_AUTO_TEST_CASE(only_a_regular_file_is_replaced) {
    const Folder folder;
    const auto is_refused = [&](const fs::path& path, const std::string& as) {
        const auto before = fs::symlink_status(path).type();
        const auto written = replace_file(path, "text");
        BOOST_REQUIRE(!written);
        BOOST_TEST((written.error().code == ErrorCode::kBadInput));
        BOOST_TEST(written.error().message.find(as) != std::string::npos, written.error().message);
        BOOST_TEST((fs::symlink_status(path).type() == before));
    };
    std::ofstream(folder.path / "precious") << "precious";
    fs::create_symlink("precious", folder.path / "link");
    fs::create_symlink("nowhere", folder.path / "dangling");
    BOOST_REQUIRE(mkfifo((folder.path / "fifo").c_str(), 0600) == 0);
    is_refused(folder.path / "link", "a symbolic link");
    is_refused(folder.path / "dangling", "a symbolic link");
    is_refused(folder.path / "fifo", "a FIFO");
    is_refused("/dev/null", "a device");
    is_refused("/dev/full", "a device");
    BOOST_TEST(content(folder.path / "precious") == "precious");
    BOOST_TEST(folder.files() == 4U);
}

BOOST_AUTO_TEST_CASE(what_was_not_finished_leaves_the_earlier_file_and_nothing_else) {
    const Folder folder;
    const fs::path path = folder.path / "figures";
    BOOST_REQUIRE(replace_file(path, "earlier").has_value());
    {
        const auto file = NewFile::beside(path);
        BOOST_REQUIRE(file);
        BOOST_REQUIRE(file->write("half"));
    }
    BOOST_TEST(content(path) == "earlier");
    BOOST_TEST(folder.files() == 1U);
    // The limit acts as a full disk does: the rest of the text finds no room.
    rlimit old{};
    getrlimit(RLIMIT_FSIZE, &old);
    rlimit small = old;
    small.rlim_cur = 1000;
    signal(SIGXFSZ, SIG_IGN);
    BOOST_REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
    const auto written = replace_file(path, std::string(5000, 'x'));
    BOOST_REQUIRE(setrlimit(RLIMIT_FSIZE, &old) == 0);
    BOOST_REQUIRE(!written);
    BOOST_TEST((written.error().code == ErrorCode::kFailed));
    BOOST_TEST(content(path) == "earlier");
    BOOST_TEST(folder.files() == 1U);
}
