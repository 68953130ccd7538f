#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <vector>

#include "harness/agent/digest.h"
#include "harness/agent/listener.h"
#include "harness/agent/operations.h"
#include "harness/agent/reactor.h"
#include "harness/agent/socket.h"
#include "harness/agent/transfer.h"
#include "harness/agent/transfer_wire.h"

namespace pathproof::agent {
namespace {

constexpr std::size_t kReadBytes = 256 * 1024;

struct Upload {
    Fd socket;
    std::array<std::uint8_t, kTransferHeadBytes> head{};
    std::size_t head_bytes = 0;
    std::uint64_t announced = 0;
    std::uint64_t received = 0;
    Digest digest;

    bool has_head() const { return head_bytes == head.size(); }
    bool complete() const { return has_head() && received == announced; }
};

enum class Progress { kGoesOn, kComplete, kBroken };

// Takes the bytes that came: the head first, then data. More than announced is not ours to read.
Progress take(Upload& upload, std::span<const std::uint8_t> bytes) {
    const std::size_t of_head = std::min(bytes.size(), upload.head.size() - upload.head_bytes);
    std::copy_n(bytes.begin(), of_head,
                upload.head.begin() + static_cast<std::ptrdiff_t>(upload.head_bytes));
    upload.head_bytes += of_head;
    if (!upload.has_head()) {
        return Progress::kGoesOn;
    }
    if (of_head > 0) {
        const std::optional<std::uint64_t> announced = read_transfer_head(upload.head);
        if (!announced) {
            return Progress::kBroken;
        }
        upload.announced = *announced;
    }
    const std::span<const std::uint8_t> data = bytes.subspan(of_head);
    const std::size_t wanted = static_cast<std::size_t>(
        std::min<std::uint64_t>(data.size(), upload.announced - upload.received));
    upload.digest.add(data.first(wanted));
    upload.received += wanted;
    return upload.complete() ? Progress::kComplete : Progress::kGoesOn;
}

struct UploadServer final : TransferServer {
    std::vector<std::uint8_t> chunk = std::vector<std::uint8_t>(kReadBytes);
    std::map<int, std::unique_ptr<Upload>> uploads;
    TcpLoop loop;

    const frame::Endpoint& endpoint() const override { return loop.endpoint(); }
    void accepted(Fd socket);
    void serve(int descriptor);
    void finish(int descriptor);
};

void UploadServer::accepted(Fd socket) {
    const int descriptor = socket.get();
    if (!loop.reactor().watch(descriptor, EPOLLIN, [this, descriptor] { serve(descriptor); })) {
        return;
    }
    auto upload = std::make_unique<Upload>();
    upload->socket = std::move(socket);
    uploads[descriptor] = std::move(upload);
}

void UploadServer::serve(int descriptor) {
    Upload& upload = *uploads.at(descriptor);
    const ssize_t got = recv(descriptor, chunk.data(), chunk.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (got <= 0) {
        finish(descriptor);
        return;
    }
    const Progress progress = take(upload, {chunk.data(), static_cast<std::size_t>(got)});
    if (progress == Progress::kGoesOn) {
        return;
    }
    if (progress == Progress::kComplete) {
        const auto verdict =
            write_transfer_verdict({.bytes = upload.received, .digest = upload.digest.value()});
        // Sixteen bytes always fit the buffer of a connection on which nothing was sent before.
        (void)!send(descriptor, verdict.data(), verdict.size(), MSG_NOSIGNAL);
    }
    finish(descriptor);
}

void UploadServer::finish(int descriptor) {
    loop.reactor().forget(descriptor);
    uploads.erase(descriptor);
}

}  // namespace

Result<std::unique_ptr<TransferServer>> TransferServer::start(const frame::Endpoint& listen) {
    auto server = std::make_unique<UploadServer>();
    TRY(doing(server->loop.start(listen,
                                 [&own = *server](Fd socket) { own.accepted(std::move(socket)); }),
              "transfer server"));
    return server;
}

Status Client::start_transfer_server(const frame::Endpoint& listen) {
    return impl_->ask<void>("start_transfer_server", listen);
}

void add_transfer_server(Operations& operations) {
    operations.add_server<TransferServer, frame::Endpoint>("transfer_server");
}

}  // namespace pathproof::agent
