#include "harness/metrics/http_server.h"

#include <boost/test/unit_test.hpp>

#include "harness/process/program.h"

using namespace pathproof;
using namespace pathproof::metrics;

namespace {

std::unique_ptr<HttpServer> serve(const std::string& listen) {
    auto server = HttpServer::start(
        frame::parse_endpoint(listen).value(), [](Dialect dialect) -> std::string {
            return dialect == Dialect::kOpenMetrics ? "open\n" : "plain\n";
        });
    BOOST_REQUIRE_MESSAGE(server, server.error().message);
    return std::move(*server);
}

// Returns curl's output, with the head of the answer.
std::string fetch(const HttpServer& server, const std::string& path,
                  std::vector<std::string> options = {}) {
    std::vector<std::string> argv{"curl", "-sSi", "--max-time", "10", "--noproxy", "*"};
    argv.insert(argv.end(), options.begin(), options.end());
    argv.push_back("http://" + frame::to_string(server.address()) + path);
    const auto output = process::run_checked(argv);
    BOOST_REQUIRE_MESSAGE(output, output.error().message);
    return *output;
}

bool says(const std::string& text, const std::string& words) {
    return text.find(words) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_CASE(metrics_come_as_open_metrics_unless_plain_text_is_asked_for) {
    const auto server = serve("127.0.0.1:0");
    BOOST_TEST(server->address().port != 0);
    const std::string open = fetch(*server, "/metrics");
    BOOST_TEST(says(open, "200 OK"), open);
    BOOST_TEST(says(open,
                    "Content-Type: application/openmetrics-text; version=1.0.0; "
                    "charset=utf-8\r\n"),
               open);
    BOOST_TEST(says(open, "\r\n\r\nopen\n"), open);
    const std::string plain = fetch(*server, "/metrics", {"-H", "Accept: text/plain"});
    BOOST_TEST(says(plain, "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"), plain);
    BOOST_TEST(says(plain, "\r\n\r\nplain\n"), plain);
    // This request is Prometheus's.
    const std::string both = fetch(
        *server, "/metrics",
        {"-H",
         "Accept: application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"});
    BOOST_TEST(says(both, "\r\n\r\nopen\n"), both);
}

BOOST_AUTO_TEST_CASE(other_paths_and_methods_are_refused) {
    const auto server = serve("127.0.0.1:0");
    BOOST_TEST(says(fetch(*server, "/"), " 404 "));
    BOOST_TEST(says(fetch(*server, "/metrics/x"), " 404 "));
    const std::string post = fetch(*server, "/metrics", {"-d", "some=body"});
    BOOST_TEST(says(post, " 405 "), post);
    BOOST_TEST(says(post, "Allow: GET, HEAD"), post);
    const std::string head = fetch(*server, "/metrics", {"-I"});
    BOOST_TEST(says(head, " 200 "), head);
    BOOST_TEST(!says(head, "open\n"), head);
}

BOOST_AUTO_TEST_CASE(an_address_in_use_is_named) {
    const auto server = serve("127.0.0.1:0");
    const auto second = HttpServer::start(server->address(), [](Dialect) { return ""; });
    BOOST_REQUIRE(!second);
    BOOST_TEST((second.error().code == ErrorCode::kBadInput));
    BOOST_TEST(says(second.error().message, frame::to_string(server->address())));
    BOOST_TEST(says(second.error().message, "another program"));
}

BOOST_AUTO_TEST_CASE(an_address_of_another_machine_is_refused) {
    const auto server = HttpServer::start(frame::parse_endpoint("203.0.113.7:9816").value(),
                                          [](Dialect) { return ""; });
    BOOST_REQUIRE(!server);
    BOOST_TEST((server.error().code == ErrorCode::kBadInput));
    BOOST_TEST(says(server.error().message, "no such address"));
}

BOOST_AUTO_TEST_CASE(the_port_is_free_again_afterwards) {
    frame::Endpoint address;
    {
        const auto server = serve("127.0.0.1:0");
        address = server->address();
        fetch(*server, "/metrics");
    }
    BOOST_TEST(HttpServer::start(address, [](Dialect) { return ""; }).has_value());
}

BOOST_AUTO_TEST_CASE(loopback_is_told_from_addresses_that_others_reach) {
    for (const char* address : {"127.0.0.1", "127.8.9.1", "::1"}) {
        BOOST_TEST(is_loopback(frame::parse_ip(address).value()), address);
    }
    for (const char* address : {"0.0.0.0", "198.18.0.1", "::", "2001:db8::1", "::2"}) {
        BOOST_TEST(!is_loopback(frame::parse_ip(address).value()), address);
    }
}
