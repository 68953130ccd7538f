// Asking the kernel for the entry of one tuple, by its hash: the rest of the table is not read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/netfilter/entry.h"
#include "harness/netfilter/socket.h"

namespace pathproof::netfilter {

// Splits words such as {"udp 10.0.0.5:40000 > 10.96.0.10:53"} at blanks, without the ">".
std::vector<std::string> flow_words(const std::vector<std::string>& words);
// The flow of words such as {"udp", "10.0.0.5:40000", "10.96.0.10:53"}; a ">" between its ends is
// passed over. ICMP has no ports: {"icmp", "10.0.0.5", "10.0.0.9", "id=7"} is that of an echo.
Result<Tuple> parse_flow(const std::vector<std::string>& words);
// Prints the words of a flow as one line.
std::string flow_text(const Tuple& tuple);

class Lookup {
  public:
    static Result<Lookup> open(const std::string& netns);

    // The entry that a packet of this tuple belongs to, in either direction of its flow, hidden
    // entries of resolved clashes included; nothing when there is none.
    Result<std::optional<Entry>> find(const Tuple& tuple, std::uint16_t zone = 0);

  private:
    explicit Lookup(Socket socket) : socket_(std::move(socket)) {}

    Socket socket_;
};

}  // namespace pathproof::netfilter
