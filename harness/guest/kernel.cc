#include "harness/guest/kernel.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "dataplane/base/file.h"
#include "harness/process/foreign.h"
#include "harness/process/program.h"

namespace pathproof::guest {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr std::string_view kPackagePrefix = "linux-image-";
constexpr const char* kRemedy =
    "give one with --kernel bzImage --modules DIR, or have apt find Debian's package "
    "linux-image-amd64 ('apt-get update')";

// Returns whether it can be the name of a Debian package with a kernel: "linux-image-6.12-amd64".
bool is_kernel_package(std::string_view name) {
    return name.starts_with(kPackagePrefix) && std::ranges::all_of(name, [](char each) {
               return (each >= 'a' && each <= 'z') || (each >= '0' && each <= '9') ||
                      std::string_view(".+-").find(each) != std::string_view::npos;
           });
}

bool is_there(const std::string& path) {
    return access(path.c_str(), R_OK) == 0;
}

// The folder of this release at or below `folder`; empty: there is none.
std::string modules_in(const std::string& folder, const std::string& release) {
    for (const std::string& place :
         {folder, folder + "/" + release, folder + "/lib/modules/" + release,
          folder + "/usr/lib/modules/" + release}) {
        if (is_there(place + "/modules.dep") || is_there(place + "/modules.order")) {
            return place;
        }
    }
    return "";
}

// A package's files have no modules.dep: that is made when it is installed.
Status index_modules(const std::string& root, const std::string& release) {
    TRY(process::run_checked({"depmod", "-b", root, release}, {.timeout = 120s}));
    return {};
}

Result<Kernel> kernel_at(const std::string& image, const std::string& modules,
                         const std::string& origin) {
    const auto bytes = TRY(read_file(image));
    const auto release = TRY(release_of_image(bytes, image));
    const std::string folder = modules_in(modules, release);
    if (folder.empty()) {
        return fail(ErrorCode::kNotFound, "{} has no modules of {}, the kernel in {}", modules,
                    release, image);
    }
    if (!is_there(folder + "/modules.dep")) {
        return fail(ErrorCode::kNotFound, "{} has no modules.dep: 'depmod -b ROOT {}' makes it",
                    folder, release);
    }
    return Kernel{image, folder, release, origin};
}

std::string cache_folder() {
    const char* cache = std::getenv("XDG_CACHE_HOME");
    if (cache != nullptr && *cache == '/') {
        return cache + std::string("/pathproof/kernels");
    }
    const char* home = std::getenv("HOME");
    if (home != nullptr && *home == '/') {
        return home + std::string("/.cache/pathproof/kernels");
    }
    return "/var/cache/pathproof/kernels";
}

// Downloads and unpacks it beside its place, where it appears whole.
Status fetch(const std::string& package, const std::string& folder, const std::string& place) {
    std::error_code wrong;
    fs::create_directories(folder, wrong);
    std::string work = folder + "/unfinished-XXXXXX";
    if (mkdtemp(work.data()) == nullptr) {
        return fail(ErrorCode::kFailed, "make a folder in {}; is there room?", folder);
    }
    const auto unpack = [&]() -> Status {
        TRY(process::run_checked(
            {"sh", "-c", "cd \"$0\" && apt-get -q -o APT::Sandbox::User=root download \"$1\"", work,
             package},
            {.timeout = 300s}));
        TRY(process::run_checked(
            {"sh", "-c", "cd \"$0\" && dpkg-deb -x *.deb root && rm -- *.deb", work},
            {.timeout = 300s}));
        // Packages of later releases have their files below /usr alone.
        if (!fs::exists(work + "/root/lib")) {
            fs::create_directory_symlink("usr/lib", work + "/root/lib", wrong);
        }
        for (const auto& each : fs::directory_iterator(work + "/root/lib/modules", wrong)) {
            TRY(index_modules(work + "/root", each.path().filename()));
        }
        fs::rename(work + "/root", place, wrong);
        return wrong && !fs::exists(place)
                   ? Status(fail(ErrorCode::kFailed, "keep {}: {}", place, wrong.message()))
                   : Status();
    };
    const Status done = unpack();
    fs::remove_all(work, wrong);
    return done;
}

// `name`: of a package with a kernel, or of one that depends on the newest of its line.
Result<Kernel> debian_kernel(const std::string& name) {
    const auto shown =
        process::run_checked({"apt-cache", "--no-all-versions", "show", name}, {.timeout = 60s});
    const std::string newest = kernel_package_of(control_field(shown.value_or(""), "Depends"));
    const std::string package =
        newest.empty() ? control_field(shown.value_or(""), "Package") : newest;
    if (package.empty()) {
        return fail(ErrorCode::kNotFound, "there is no kernel for a guest here, no package {}: {}",
                    name, kRemedy);
    }
    const auto own = TRY(process::run_checked({"apt-cache", "--no-all-versions", "show", package},
                                              {.timeout = 60s}));
    const std::string folder = cache_folder();
    const std::string place = folder + "/" + package + "_" + control_field(own, "Version");
    if (!is_there(place)) {
        TRY(doing(fetch(package, folder, place), "{} cannot be had ({})", package, kRemedy));
    }
    const std::string release = package.substr(kPackagePrefix.size());
    return kernel_at(place + "/boot/vmlinuz-" + release, place, "Debian's " + package);
}

}  // namespace

std::string control_field(std::string_view text, std::string_view name) {
    for (const std::string& line : process::lines_of(text)) {
        if (line.empty()) {
            break;
        }
        if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == ':') {
            const std::size_t value = line.find_first_not_of(' ', name.size() + 1);
            return value == line.npos ? "" : line.substr(value);
        }
    }
    return "";
}

std::string kernel_package_of(std::string_view depends) {
    const std::size_t begin = depends.find(kPackagePrefix);
    if (begin == depends.npos) {
        return "";
    }
    const std::string_view rest = depends.substr(begin);
    return std::string(rest.substr(0, rest.find_first_of(" ,|(")));
}

Result<std::string> release_of_image(std::string_view image, const std::string& path) {
    constexpr std::size_t kMagic = 0x202;
    constexpr std::size_t kVersion = 0x20e;  // its place, less 0x200
    if (image.size() < 0x400 || image.substr(kMagic, 4) != "HdrS") {
        return fail(ErrorCode::kBadInput, "{} is no Linux kernel image (bzImage)", path);
    }
    const std::size_t at = 0x200 + (static_cast<unsigned char>(image[kVersion]) |
                                    static_cast<unsigned char>(image[kVersion + 1]) << 8);
    const std::string_view text = at < image.size() ? image.substr(at, 256) : "";
    const std::size_t end = text.find_first_of(std::string_view(" \0", 2));
    if (end == 0 || end == text.npos) {
        return fail(ErrorCode::kBadInput, "{} does not say which kernel it is", path);
    }
    return std::string(text.substr(0, end));
}

Result<Kernel> find_kernel(const std::string& image, const std::string& modules) {
    if (modules.empty() && is_kernel_package(image)) {
        return debian_kernel(image);
    }
    if (image.empty() != modules.empty()) {
        return fail(ErrorCode::kBadInput,
                    "--kernel and --modules belong together, for a kernel runs its own modules "
                    "alone; or --kernel names a package of Debian's, linux-image-...");
    }
    if (!image.empty()) {
        return kernel_at(image, modules, "as given");
    }
    utsname names{};
    uname(&names);
    const std::string release = names.release;
    auto own = kernel_at("/boot/vmlinuz-" + release, "/lib/modules/" + release, "this host's");
    return own ? own : debian_kernel("linux-image-amd64");
}

}  // namespace pathproof::guest
