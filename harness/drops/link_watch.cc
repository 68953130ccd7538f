#include "harness/drops/link_watch.h"

#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <poll.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "dataplane/base/clock.h"
#include "harness/process/netlink.h"

namespace pathproof::drops {
namespace {

constexpr int kLookAgainMs = 20;

class SocketLinkWatch final : public LinkWatch {
  public:
    explicit SocketLinkWatch(process::NetlinkSocket socket)
        : socket_(std::move(socket)),
          reader_([this](const std::stop_token& token) { read(token); }) {}

    std::vector<Outage> stop() override {
        reader_.request_stop();
        reader_.join();
        return outages_;
    }

  private:
    void note(const std::string& device, bool up) {
        Outage* open = nullptr;
        for (Outage& outage : outages_) {
            open = outage.device == device && outage.until_ns == INT64_MAX ? &outage : open;
        }
        if (up && open != nullptr) {
            open->until_ns = realtime_ns();
        } else if (!up && open == nullptr) {
            outages_.push_back({.device = device, .from_ns = realtime_ns()});
        }
    }

    static int take_name(const nlattr* attribute, void* name) {
        if (mnl_attr_get_type(attribute) == IFLA_IFNAME &&
            mnl_attr_validate(attribute, MNL_TYPE_NUL_STRING) >= 0) {
            *static_cast<const char**>(name) = mnl_attr_get_str(attribute);
        }
        return MNL_CB_OK;
    }

    static int take(const nlmsghdr* message, void* self) {
        if (message->nlmsg_type != RTM_NEWLINK && message->nlmsg_type != RTM_DELLINK) {
            return MNL_CB_OK;
        }
        const auto* link = static_cast<const ifinfomsg*>(mnl_nlmsg_get_payload(message));
        // A bridge says RTM_DELLINK, too, of a device that only leaves it.
        if (link->ifi_family != AF_UNSPEC) {
            return MNL_CB_OK;
        }
        const char* name = nullptr;
        static_cast<void>(mnl_attr_parse(message, sizeof(ifinfomsg), take_name, &name));
        if (name != nullptr) {
            // Not IFF_RUNNING: the kernel sets it up to a second after the carrier is there.
            constexpr unsigned kLowerUp = 1u << 16;  // IFF_LOWER_UP of <linux/if.h>
            constexpr unsigned kWorking = IFF_UP | kLowerUp;
            static_cast<SocketLinkWatch*>(self)->note(
                name,
                message->nlmsg_type == RTM_NEWLINK && (link->ifi_flags & kWorking) == kWorking);
        }
        return MNL_CB_OK;
    }

    // All devices as they are now.
    bool ask() const {
        char room[256];
        nlmsghdr* request = mnl_nlmsg_put_header(room);
        request->nlmsg_type = RTM_GETLINK;
        request->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
        mnl_nlmsg_put_extra_header(request, sizeof(ifinfomsg));
        return mnl_socket_sendto(socket_.get(), request, request->nlmsg_len) >= 0;
    }

    // Gives up at an error of the socket: what was seen until then stays. The kernel tells of a
    // peer's carrier at most once a second, and not at all if it is back by then: so it is asked.
    void read(const std::stop_token& stopping) {
        std::vector<char> buffer(process::kNetlinkBytes);
        for (bool last = false; !last && ask();) {
            last = stopping.stop_requested();
            pollfd waited{.fd = mnl_socket_get_fd(socket_.get()), .events = POLLIN, .revents = 0};
            while (::poll(&waited, 1, last ? 0 : kLookAgainMs) > 0) {
                const auto got = mnl_socket_recvfrom(socket_.get(), buffer.data(), buffer.size());
                if (got <= 0 || mnl_cb_run(buffer.data(), static_cast<std::size_t>(got), 0, 0, take,
                                           this) < MNL_CB_STOP) {
                    return;
                }
            }
        }
    }

    const process::NetlinkSocket socket_;
    std::vector<Outage> outages_;
    std::jthread reader_;
};

}  // namespace

Result<std::unique_ptr<LinkWatch>> LinkWatch::start() {
    auto socket =
        TRY(doing(process::NetlinkSocket::open(NETLINK_ROUTE, RTMGRP_LINK), "listen to rtnetlink"));
    return std::make_unique<SocketLinkWatch>(std::move(socket));
}

}  // namespace pathproof::drops
