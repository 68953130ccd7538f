// Carries a guest's output and exit status over one virtio-serial port, in frames of a kind (one
// byte), a length (four bytes, little-endian) and that many bytes. The numbers of signals go to the
// guest, a byte each.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "dataplane/base/result.h"

namespace pathproof::guest {

enum class Relayed : char {
    kOutput = 'o',  // of its standard output
    kErrors = 'e',
    kExit = 'x',  // its exit status as a byte; the last frame
};

std::string relay_frame(Relayed kind, std::string_view bytes);

class RelayReader {
  public:
    using Take = std::function<void(Relayed kind, std::string_view bytes)>;

    // Gives the frames that are whole by now to `take`. kFailed: these bytes are no frames.
    Status feed(std::string_view bytes, const Take& take);

  private:
    std::string waiting_;
};

}  // namespace pathproof::guest
