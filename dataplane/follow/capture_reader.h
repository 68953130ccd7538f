// Reads pcap and pcapng files frame by frame, with what libpcap leaves out: each interface of a file
// with its own link type, time resolution and snap length, and the drops that the capture counted.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/base/file.h"
#include "dataplane/base/result.h"
#include "dataplane/frame/view.h"

namespace pathproof::follow {

// A piece of a file in memory, kept for as long as a frame in it is.
using Piece = std::shared_ptr<const std::uint8_t[]>;

// Direction of a captured frame at the device: into it or out of it, where that is known.
enum class Heading : std::uint8_t { kUnknown, kIn, kOut };

struct CapturedFrame {
    Piece piece;
    frame::Bytes bytes;        // as far as it was captured
    std::uint32_t length = 0;  // of the whole frame
    std::int64_t time_ns = 0;  // since 1970
    std::uint64_t number = 0;  // in its file, from 1, as Wireshark counts
    std::uint32_t interface = 0;
    std::uint16_t file = 0;  // of its side
    Heading heading = Heading::kUnknown;
};

struct CaptureInterface {
    std::string name;               // empty: the file has none
    std::uint32_t snap_length = 0;  // 0: no limit
    std::uint16_t link_type = 0;
    std::uint16_t fcs_bytes = 0;
    std::uint8_t resolution = 6;  // pcapng's if_tsresol
    std::int64_t offset_s = 0;
    // From its last statistics block.
    std::optional<std::uint64_t> dropped;
    std::optional<std::int64_t> start_ns;
    std::optional<std::int64_t> end_ns;
};

class CaptureReader {
  public:
    // `interface`: the only one that is read, by its name or number; empty: all. Errors (kBadInput):
    // a file that is not there, cannot be read, or is no capture, by its name and what to do.
    static Result<CaptureReader> open(const std::string& path, const std::string& interface = {});

    // False: the file has ended. Errors (kBadInput): a block that is damaged or cut short, by file,
    // byte and frame; a frame that is not of Ethernet; an interface that the file does not have.
    Result<bool> next(CapturedFrame& frame);

    const std::string& path() const { return path_; }
    // Interfaces that the file has described so far.
    const std::vector<CaptureInterface>& interfaces() const { return interfaces_; }
    std::uint64_t frames() const { return frames_; }
    // The end of the file was reached.
    bool ended() const { return ended_; }
    // The latest frame that was left out as one of another interface: the capture ran until then at
    // least. 0: none was.
    std::int64_t left_out_ns() const { return left_out_ns_; }
    // Earliest time at which the capture is known to have run, from the statistics at the file's
    // end and the frames of other interfaces. 0: nothing says so.
    std::int64_t since_ns() const;

  private:
    enum class Format : std::uint8_t { kPcap, kPcapng };

    CaptureReader() = default;
    Status read_header();
    Status read_pcap_header();
    // Has `bytes` from the place on in memory in one piece; false: the file ends before.
    Result<bool> fill(std::size_t bytes);
    const std::uint8_t* here() const { return piece_.get() + at_; }
    std::uint64_t offset() const { return piece_offset_ + at_; }
    std::uint16_t u16(const std::uint8_t* at) const;
    std::uint32_t u32(const std::uint8_t* at) const;
    Failure damaged(const std::string& what) const;

    Result<bool> next_pcap(CapturedFrame& frame);
    Result<bool> next_pcapng(CapturedFrame& frame);
    Status read_section(std::uint32_t length);
    Status read_interface(frame::Bytes body);
    void read_statistics(frame::Bytes body);
    // False: a block that holds no frame, or one of an interface that is left out.
    Result<bool> read_packet(std::uint32_t type, frame::Bytes body, CapturedFrame& frame);
    Result<bool> take(CapturedFrame& frame, frame::Bytes bytes, std::uint32_t length);
    // Returns the start of the capture on a statistics block's interface. Nothing: the block does
    // not say, or the interface was not described yet.
    std::optional<std::int64_t> start_in(frame::Bytes statistics) const;
    // The earliest start that the statistics blocks at the end of a pcapng file name. A pipe has none.
    std::optional<std::int64_t> start_at_end() const;
    std::int64_t unix_ns(const CaptureInterface& interface, std::uint64_t ticks) const;
    bool is_chosen(std::uint32_t interface) const;

    std::string path_;
    std::string chosen_;
    Fd file_;
    std::shared_ptr<std::uint8_t[]> piece_;
    std::size_t capacity_ = 0;
    std::size_t filled_ = 0;
    std::size_t at_ = 0;
    std::uint64_t piece_offset_ = 0;
    Format format_ = Format::kPcap;
    bool swapped_ = false;
    bool nanoseconds_ = false;
    bool ended_ = false;
    std::uint32_t section_start_ = 0;  // of its interfaces in interfaces_
    std::vector<CaptureInterface> interfaces_;
    std::uint64_t frames_ = 0;
    std::int64_t last_ns_ = 0;
    std::int64_t left_out_ns_ = 0;
    std::int64_t first_left_out_ns_ = 0;
};

}  // namespace pathproof::follow
