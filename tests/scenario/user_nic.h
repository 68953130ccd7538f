// A NIC in user space: a tap device whose program completes checksums and cuts super-frames as its
// virtio_net_hdr asks (virtio 1.2 section 5.1.6.2), and a bare tap device as its cable. Faults are
// rows: functions that change one step of its work.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

using UserFrame = std::vector<std::uint8_t>;

// One frame in the NIC, and the work that was left to it.
struct UserWork {
    const UserFrame& frame;          // as it was handed over, or a segment before its checksum
    bool super_frame = false;        // it is, or is of one
    std::uint64_t checksums = 0;     // completed before this one
    std::uint64_t super_frames = 0;  // cut before
    std::uint64_t frames = 0;        // taken from the kernel before
    std::uint16_t last = 0;          // the right checksum that was completed last
    std::uint16_t held = 0;          // by the checksum field: the pseudo-header's sum

    bool tagged() const { return frame.size() > 14 && frame[12] == 0x81 && frame[13] == 0; }
    bool ipv6() const;
    bool tcp() const;
    std::size_t data_bytes() const;  // behind the transport header of the outermost packet
};

// Steps that are not given are done right.
struct UserFault {
    // Gives the checksum that is written in the place of the right one.
    std::function<std::uint16_t(const UserWork&, std::uint16_t right)> checksum = {};
    std::function<bool(const UserWork&)> leaves_unfinished = {};
    std::function<void(std::vector<UserFrame>&)> segments = {};  // before they leave
    // Out of the NIC, and into it from the cable. False: it is lost.
    std::function<bool(UserFrame&, std::uint64_t number)> out = {};
    std::function<bool(UserFrame&, std::uint64_t number)> in = {};
    std::function<bool(const UserWork&)> loses = {};
    // Milliseconds for which the NIC sends nothing after this frame, which is lost; 0: it goes on.
    std::function<int(const UserWork&)> stalls = {};
};

class UserNic {
  public:
    // Makes both devices, up and without IPv6 of their own.
    UserNic(const std::string& dut, const std::string& nic, const std::string& far,
            const std::string& wire, UserFault fault);
    ~UserNic();
    UserNic(const UserNic&) = delete;
    UserNic& operator=(const UserNic&) = delete;

    // Ends the NIC and returns how often the fault acted.
    std::uint64_t stop();

  private:
    void run();
    void transmit();
    void receive();
    void complete(UserFrame& frame, std::size_t start, std::size_t offset, bool super_frame);
    void cut(const UserFrame& super, std::size_t start, std::size_t offset, std::size_t size,
             bool udp);
    void send(UserFrame frame);

    int nic_ = -1;
    int wire_ = -1;
    UserFault fault_;
    std::uint64_t checksums_ = 0;
    std::uint64_t super_frames_ = 0;
    std::uint64_t frames_ = 0;
    std::uint64_t out_ = 0;
    std::uint64_t in_ = 0;
    std::uint64_t acted_ = 0;
    std::uint16_t last_ = 0;
    std::int64_t stalled_until_ms_ = 0;
    std::atomic<bool> stopping_ = false;
    std::thread thread_;
};
