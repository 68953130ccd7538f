// Runs a fuzz target without libFuzzer: all files of the folders given (seeds and kept crashes),
// then seeded mutations of them. Each input ends at a page that cannot be read, so that any
// compiler's build notices a read beyond it.
//   TARGET_replay [--mutations N] [--seed S] FOLDER...
// An input that ends the process is left in TARGET_replay.crash: keep it in crashes/TARGET.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz.h"

namespace {

using Input = std::vector<std::uint8_t>;
namespace fs = std::filesystem;

constexpr std::size_t kMostBytes = 1 << 16;

// Input that is running now, for the crash handler.
const std::uint8_t* current = nullptr;
std::size_t current_size = 0;
std::string crash_path;

void keep_crash(int signal) {
    const int file = open(crash_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (file < 0 || write(file, current, current_size) < 0) {
        _exit(125);
    }
    std::signal(signal, SIG_DFL);
    raise(signal);
}

class GuardedBuffer {
  public:
    GuardedBuffer() {
        page_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        void* mapped = mmap(nullptr, kMostBytes + page_, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        pathproof::fuzz::require(mapped != MAP_FAILED, "no memory for the input");
        start_ = static_cast<std::uint8_t*>(mapped);
        pathproof::fuzz::require(mprotect(start_ + kMostBytes, page_, PROT_NONE) == 0,
                                 "no guard page behind the input");
    }
    ~GuardedBuffer() { munmap(start_, kMostBytes + page_); }
    GuardedBuffer(const GuardedBuffer&) = delete;
    GuardedBuffer& operator=(const GuardedBuffer&) = delete;

    void run(const Input& input) {
        const std::size_t size = std::min(input.size(), kMostBytes);
        std::uint8_t* at = start_ + kMostBytes - size;
        std::copy_n(input.begin(), size, at);
        current = at;
        current_size = size;
        LLVMFuzzerTestOneInput(at, size);
    }

  private:
    std::size_t page_ = 0;
    std::uint8_t* start_ = nullptr;
};

class Mutator {
  public:
    Mutator(const std::vector<Input>& seeds, std::uint32_t seed) : seeds_(seeds), random_(seed) {}

    Input next() {
        Input input = seeds_[below(seeds_.size())];
        for (std::size_t changes = 1 + below(6); changes > 0; --changes) {
            change(input);
        }
        return input;
    }

  private:
    std::size_t below(std::size_t end) { return end == 0 ? 0 : random_() % end; }
    std::uint8_t octet() { return static_cast<std::uint8_t>(random_()); }

    void change(Input& input) {
        constexpr std::uint8_t kTelling[] = {0x00, 0x01, 0x3f, 0x40, 0x7f, 0x80, 0xc0, 0xff};
        const std::size_t at = below(input.size());
        if (input.empty()) {
            input.push_back(octet());
            return;
        }
        switch (below(7)) {
            case 0: input[at] = octet(); break;
            case 1: input[at] = static_cast<std::uint8_t>(input[at] ^ 1u << below(8)); break;
            case 2: input[at] = kTelling[below(std::size(kTelling))]; break;
            case 3: input.resize(at); break;
            case 4:
                input.insert(input.begin() + static_cast<std::ptrdiff_t>(at), 1 + below(8),
                             octet());
                break;
            case 5: input.erase(input.begin() + static_cast<std::ptrdiff_t>(at)); break;
            default: splice(input, at); break;
        }
    }
    // The rest of another seed behind the first bytes of this one.
    void splice(Input& input, std::size_t at) {
        const Input& other = seeds_[below(seeds_.size())];
        const std::size_t from = below(other.size());
        input.resize(at);
        input.insert(input.end(), other.begin() + static_cast<std::ptrdiff_t>(from), other.end());
    }

    const std::vector<Input>& seeds_;
    std::mt19937 random_;
};

// In the order of their names, so that a run can be repeated.
std::vector<Input> read_folder(const fs::path& folder) {
    std::vector<fs::path> paths;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
        if (entry.is_regular_file(error)) {
            paths.push_back(entry.path());
        }
    }
    std::sort(paths.begin(), paths.end());
    std::vector<Input> inputs;
    for (const fs::path& path : paths) {
        std::ifstream file(path, std::ios::binary);
        inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    return inputs;
}

}  // namespace

int main(int argc, char** argv) {
    std::size_t mutations = 20'000;
    std::uint32_t seed = 1;
    std::vector<Input> inputs;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (word == "--mutations" && i + 1 < argc) {
            mutations = std::stoul(argv[++i]);
        } else if (word == "--seed" && i + 1 < argc) {
            seed = static_cast<std::uint32_t>(std::stoul(argv[++i]));
        } else {
            const std::vector<Input> found = read_folder(word);
            inputs.insert(inputs.end(), found.begin(), found.end());
        }
    }
    if (inputs.empty()) {
        std::fprintf(stderr, "no seeds: name the folder that holds them\n");
        return 2;
    }
    crash_path = fs::path(argv[0]).filename().string() + ".crash";
    for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) {
        std::signal(signal, keep_crash);
    }
    GuardedBuffer buffer;
    for (const Input& input : inputs) {
        buffer.run(input);
    }
    Mutator mutator(inputs, seed);
    for (std::size_t i = 0; i < mutations; ++i) {
        buffer.run(mutator.next());
    }
    std::printf("%zu files and %zu mutations of them (seed %u) ran\n", inputs.size(), mutations,
                seed);
    return 0;
}
