#include "harness/agent/transfer.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <vector>

#include "harness/agent/digest.h"
#include "harness/agent/transfer_wire.h"
#include "tests/agent/loopback.h"
#include "tests/contains.h"

BOOST_AUTO_TEST_SUITE(transfers)

using namespace pathproof;
using namespace pathproof::agent;
using namespace pathproof::agent::test;

namespace {

std::unique_ptr<TransferServer> server_at(const char* listen) {
    auto server = TransferServer::start(endpoint(listen));
    BOOST_REQUIRE_MESSAGE(server, server.error().message);
    return std::move(*server);
}

ProbeResult transfer(const TransferOptions& options) {
    const auto result = tcp_transfer(options);
    BOOST_REQUIRE_MESSAGE(result, result.error().message);
    return *result;
}

using pathproof::test::contains;

// Copies what comes on `from` to `to` until the end, changing the byte at `position` of the stream.
void copy_with_a_wrong_byte(int from, int to, std::size_t position) {
    std::vector<std::uint8_t> chunk(65536);
    std::size_t passed = 0;
    for (;;) {
        const ssize_t got = recv(from, chunk.data(), chunk.size(), 0);
        if (got <= 0) {
            shutdown(to, SHUT_WR);
            return;
        }
        const auto bytes = static_cast<std::size_t>(got);
        if (position >= passed && position < passed + bytes) {
            chunk[position - passed] ^= 0x10;
        }
        passed += bytes;
        if (send(to, chunk.data(), bytes, MSG_NOSIGNAL) != got) {
            return;
        }
    }
}

constexpr std::size_t kNoByte = ~std::size_t{0};

// A proxy for one connection.
void proxy(int listener, const frame::Endpoint& server, std::size_t wrong_byte) {
    const Fd client(accept(listener, nullptr, nullptr));
    const Fd onward(::socket(AF_INET, SOCK_STREAM, 0));
    const SocketAddress address = to_socket_address(server);
    if (connect(onward.get(), address.raw(), address.length) != 0) {
        return;
    }
    Helper back([&] { copy_with_a_wrong_byte(onward.get(), client.get(), kNoByte); });
    copy_with_a_wrong_byte(client.get(), onward.get(), wrong_byte);
}

}  // namespace

BOOST_AUTO_TEST_CASE(bytes_arrive_whole_in_any_number) {
    for (const char* listen : {"127.0.0.1:0", "[::1]:0"}) {
        const auto server = server_at(listen);
        for (std::uint64_t bytes : {0U, 1U, 65'535U, 65'536U, 5'000'001U}) {
            const ProbeResult result = transfer({.server = server->endpoint(), .bytes = bytes});
            BOOST_TEST(result.ok, result.outcome);
            BOOST_TEST(result.received == bytes);
            BOOST_TEST(result.sent == bytes);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_transfer_keeps_to_its_pace) {
    const auto server = server_at("127.0.0.1:0");
    const ProbeResult result =
        transfer({.server = server->endpoint(), .bytes = 2'000'000, .most_per_second = 10'000'000});
    BOOST_TEST(result.ok, result.outcome);
    BOOST_TEST(result.milliseconds > 100.0);
    BOOST_TEST(result.segment_bytes > 500U);
}

BOOST_AUTO_TEST_CASE(a_server_of_somebody_else_takes_bytes_and_tells_nothing) {
    const Fd listener = bound(SOCK_STREAM);
    std::uint64_t taken = 0;
    Helper sink([&] {
        const Fd client(accept(listener.get(), nullptr, nullptr));
        std::vector<std::uint8_t> chunk(65536);
        while (taken < 1'000'000) {
            const ssize_t got = recv(client.get(), chunk.data(), chunk.size(), 0);
            if (got <= 0) {
                return;
            }
            taken += static_cast<std::uint64_t>(got);
        }
    });
    const ProbeResult result =
        transfer({.server = where(listener), .bytes = 1'000'000, .answered = false});
    BOOST_TEST(result.ok, result.outcome);
    BOOST_TEST(result.received == 1'000'000U);
}

BOOST_AUTO_TEST_CASE(many_transfers_run_at_once) {
    const auto server = server_at("127.0.0.1:0");
    std::atomic<int> good = 0;
    {
        std::vector<std::unique_ptr<Helper>> clients;
        for (int i = 0; i < 20; ++i) {
            clients.push_back(std::make_unique<Helper>([&] {
                const auto result = tcp_transfer({.server = server->endpoint(), .bytes = 300'000});
                good += result && result->ok;
            }));
        }
    }
    BOOST_TEST(good == 20);
}

BOOST_AUTO_TEST_CASE(a_byte_changed_on_the_way_is_found) {
    const auto server = server_at("127.0.0.1:0");
    const Fd listener = bound(SOCK_STREAM);
    {
        Helper helper(
            [&] { proxy(listener.get(), server->endpoint(), kTransferHeadBytes + 123'456); });
        const ProbeResult result = transfer({.server = where(listener), .bytes = 200'000});
        BOOST_TEST(!result.ok);
        BOOST_TEST(result.received == 0U);
        BOOST_TEST(contains(result.outcome, "200000 bytes arrived"), result.outcome);
        BOOST_TEST(contains(result.outcome, "digest is wrong"), result.outcome);
    }
    // The control: the same proxy without a wrong byte.
    Helper helper([&] { proxy(listener.get(), server->endpoint(), kNoByte); });
    BOOST_TEST(transfer({.server = where(listener), .bytes = 200'000}).ok);
}

BOOST_AUTO_TEST_CASE(a_closed_port_is_a_refused_connection) {
    const ProbeResult result = transfer({.server = closed_port(SOCK_STREAM)});
    BOOST_TEST(!result.ok);
    BOOST_TEST(result.outcome == "connect failed: connection refused");
    BOOST_TEST(result.received == 0U);
}

BOOST_AUTO_TEST_CASE(a_server_that_does_not_read_stalls_the_transfer) {
    const Fd listener = bound(SOCK_STREAM);
    const ProbeResult result =
        transfer({.server = where(listener), .bytes = 100'000'000, .timeout = milliseconds(300)});
    BOOST_TEST(!result.ok);
    BOOST_TEST(contains(result.outcome, "no progress for 300 ms"), result.outcome);
    BOOST_TEST(result.received > 0U);  // the kernel took what fits its buffer
    BOOST_TEST(result.received < 100'000'000U);
    BOOST_TEST(contains(result.outcome,
                        fmt::format("{} of 100000000 bytes acknowledged", result.received)),
               result.outcome);
    BOOST_TEST(result.milliseconds >= 300);
    BOOST_TEST(result.milliseconds < 3000);
}

BOOST_AUTO_TEST_CASE(a_server_that_goes_away_ends_the_transfer) {
    const Fd listener = bound(SOCK_STREAM);
    Helper helper([&] {
        const Fd client(accept(listener.get(), nullptr, nullptr));
        std::vector<char> some(10'000);
        (void)!recv(client.get(), some.data(), some.size(), 0);
    });
    const ProbeResult result = transfer({.server = where(listener), .bytes = 50'000'000});
    BOOST_TEST(!result.ok);
    BOOST_TEST(contains(result.outcome, "transfer failed: "), result.outcome);
    BOOST_TEST(result.milliseconds < 3000);
}

BOOST_AUTO_TEST_CASE(what_is_no_transfer_is_closed) {
    const auto server = server_at("127.0.0.1:0");
    const Fd client(::socket(AF_INET, SOCK_STREAM, 0));
    limit_waiting(client.get());
    const SocketAddress address = to_socket_address(server->endpoint());
    BOOST_REQUIRE(connect(client.get(), address.raw(), address.length) == 0);
    BOOST_REQUIRE(send(client.get(), "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL) == 18);
    char byte = 0;
    const ssize_t got = recv(client.get(), &byte, 1, 0);
    BOOST_TEST((got == 0 || (got < 0 && errno == ECONNRESET)));
    BOOST_TEST(transfer({.server = server->endpoint(), .bytes = 10}).ok);
}

BOOST_AUTO_TEST_CASE(an_address_in_use_or_not_ours_is_named) {
    const auto server = server_at("127.0.0.1:0");
    const auto second = TransferServer::start(server->endpoint());
    BOOST_REQUIRE(!second);
    BOOST_TEST(contains(second.error().message, frame::to_string(server->endpoint())),
               second.error().message);
    const auto foreign = TransferServer::start(endpoint("198.51.100.77:9"));
    BOOST_REQUIRE(!foreign);
    BOOST_TEST((foreign.error().code == ErrorCode::kNotFound));
    BOOST_TEST(contains(foreign.error().message, "198.51.100.77"));
}

BOOST_AUTO_TEST_CASE(a_digest_sees_changed_swapped_and_missing_bytes) {
    std::vector<std::uint8_t> bytes(1000);
    ByteStream(7).fill(bytes);
    const auto digest_of = [](std::span<const std::uint8_t> data) {
        Digest digest;
        digest.add(data);
        return digest.value();
    };
    const std::uint64_t right = digest_of(bytes);
    auto swapped = bytes;
    std::swap_ranges(swapped.begin() + 10, swapped.begin() + 12, swapped.begin() + 20);
    BOOST_TEST(digest_of(swapped) != right);  // the internet checksum would not see this
    BOOST_TEST(digest_of(std::span(bytes).first(999)) != right);
    // http://www.isthe.com/chongo/src/fnv/test_fnv.c: FNV-1a 64 of "foobar".
    const std::string known = "foobar";
    BOOST_TEST(digest_of({reinterpret_cast<const std::uint8_t*>(known.data()), known.size()}) ==
               0x85944171f73967e8ULL);
}

BOOST_AUTO_TEST_CASE(a_stream_does_not_depend_on_how_it_is_cut) {
    std::vector<std::uint8_t> whole(1001);
    ByteStream(9).fill(whole);
    std::vector<std::uint8_t> pieces(1001);
    ByteStream stream(9);
    stream.fill(std::span(pieces).first(3));
    stream.fill(std::span(pieces).subspan(3, 500));
    stream.fill(std::span(pieces).subspan(503));
    BOOST_TEST(whole == pieces, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(heads_and_verdicts_come_back_as_they_were) {
    BOOST_TEST(read_transfer_head(write_transfer_head(0x0123456789abcdefULL)).value() ==
               0x0123456789abcdefULL);
    auto head = write_transfer_head(5);
    head[0] ^= 1;
    BOOST_TEST(!read_transfer_head(head));
    const TransferVerdict verdict{.bytes = 77, .digest = 0xfedcba9876543210ULL};
    BOOST_TEST((read_transfer_verdict(write_transfer_verdict(verdict)) == verdict));
}

BOOST_AUTO_TEST_SUITE_END()
