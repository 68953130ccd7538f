#include "harness/report/bundle.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "dataplane/base/file.h"
#include "dataplane/base/new_file.h"
#include "dataplane/base/owned.h"
#include "harness/process/sha256.h"
#include "harness/report/approval.h"
#include "harness/report/files.h"

namespace pathproof::report {
namespace {

namespace fs = std::filesystem;

using Archive = Owned<archive, archive_write_free>;
using Entry = Owned<archive_entry, archive_entry_free>;

std::time_t seconds_of(const std::string& iso) {
    std::tm parts{};
    return strptime(iso.c_str(), "%Y-%m-%dT%H:%M:%S", &parts) == nullptr ? 0 : timegm(&parts);
}

// One tar file on the way into a descriptor.
class Bundle {
  public:
    Bundle(int fd, std::string root, std::time_t when)
        : archive_(archive_write_new()), root_(std::move(root)), when_(when) {
        good_ = archive_ && archive_write_add_filter_zstd(archive_.get()) == ARCHIVE_OK &&
                archive_write_set_format_pax_restricted(archive_.get()) == ARCHIVE_OK &&
                archive_write_open_fd(archive_.get(), fd) == ARCHIVE_OK;
    }

    Status add_text(const std::string& name, const std::string& text) {
        TRY(begin(name, text.size()));
        return put(text.data(), text.size());
    }

    Status add_file(const std::string& name, const std::string& path) {
        std::error_code none;
        TRY(begin(name, fs::file_size(path, none)));
        const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
        std::array<char, 65536> chunk;
        for (;;) {
            const ssize_t got = read(file.get(), chunk.data(), chunk.size());
            if (got < 0) {
                return fail(ErrorCode::kFailed, "cannot read {}: {}", path, std::strerror(errno));
            }
            if (got == 0) {
                return {};
            }
            TRY(put(chunk.data(), static_cast<std::size_t>(got)));
        }
    }

    Status close() {
        good_ = good_ && archive_write_close(archive_.get()) == ARCHIVE_OK;
        return good_ ? Status() : failed();
    }

  private:
    // Names and times of the machine stay out of it.
    Status begin(const std::string& name, std::uintmax_t bytes) {
        constexpr int kMode = 0644;
        const Entry entry(archive_entry_new());
        archive_entry_set_pathname(entry.get(), (root_ + "/" + name).c_str());
        archive_entry_set_size(entry.get(), static_cast<la_int64_t>(bytes));
        archive_entry_set_filetype(entry.get(), AE_IFREG);
        archive_entry_set_perm(entry.get(), kMode);
        archive_entry_set_mtime(entry.get(), when_, 0);
        good_ = good_ && archive_write_header(archive_.get(), entry.get()) == ARCHIVE_OK;
        return good_ ? Status() : failed();
    }

    Status put(const char* bytes, std::size_t size) {
        good_ = good_ &&
                archive_write_data(archive_.get(), bytes, size) == static_cast<la_ssize_t>(size);
        return good_ ? Status() : failed();
    }

    Status failed() {
        const char* why = archive_ ? archive_error_string(archive_.get()) : nullptr;
        return fail(ErrorCode::kFailed, "cannot write the bundle: {}",
                    why == nullptr ? "libarchive gives no reason" : why);
    }

    Archive archive_;
    std::string root_;
    std::time_t when_;
    bool good_ = false;
};

}  // namespace

Status write_bundle(const verdict::RunResult& run, const std::string& folder,
                    const std::string& file) {
    auto files = TRY(hash_files(run, folder));
    for (const char* name : {kApprovalFile, kSignatureFile}) {
        std::error_code none;
        const std::string path = folder + "/" + name;
        if (fs::is_regular_file(fs::symlink_status(path, none))) {
            auto sha256 = TRY(process::sha256_of_file(path));
            files.push_back({name, std::move(sha256)});
        }
    }
    auto made = TRY(NewFile::beside(file));
    Bundle bundle(made.fd(), "report-" + (run.id.empty() ? "without-id" : run.id),
                  seconds_of(run.issued_at.empty() ? run.started_at : run.issued_at));
    TRY(bundle.add_text("SHA256SUMS", sha256sums(files)));
    for (const HashedFile& each : files) {
        TRY(bundle.add_file(each.path, folder + "/" + each.path));
    }
    TRY(bundle.close());
    return made.put_in_place();
}

}  // namespace pathproof::report
