#include "harness/netfilter/socket.h"

#include <boost/test/unit_test.hpp>
#include <cerrno>

using namespace pathproof;
using namespace pathproof::netfilter;

BOOST_AUTO_TEST_CASE(refusals_say_what_to_do) {
    const Error denied = ctnetlink_error(EPERM, "ask", {});
    BOOST_TEST((denied.code == ErrorCode::kNotPermitted));
    BOOST_TEST(denied.message.find("CAP_NET_ADMIN") != std::string::npos);
    const Error absent = ctnetlink_error(EINVAL, "ask", {});
    BOOST_TEST((absent.code == ErrorCode::kKernelLacks));
    BOOST_TEST(absent.message.find("modprobe nf_conntrack_netlink") != std::string::npos);
    const Error reasoned = ctnetlink_error(EOPNOTSUPP, "ask", "the kernel's words");
    BOOST_TEST(reasoned.message.find("the kernel's words") != std::string::npos);
    BOOST_TEST((ctnetlink_error(ENOMEM, "ask", {}).code == ErrorCode::kFailed));
}
