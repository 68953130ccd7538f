// A network namespace of the tests' own, and the programs that the inspector is compared with.
#pragma once

#include <string>
#include <vector>

namespace pathproof::netfilter::lab {

class Namespace {
  public:
    // "pp-nf-PID-WORD", with the loopback device up. Needs root.
    explicit Namespace(const std::string& word);
    Namespace(const Namespace&) = delete;
    Namespace& operator=(const Namespace&) = delete;
    ~Namespace();

    const std::string& name() const { return name_; }

    // Runs a program in the namespace, which must succeed; gives what it wrote to standard output.
    std::string run(const std::vector<std::string>& argv) const;
    // As above with words split at blanks.
    std::string run(const std::string& command) const;
    // Makes the entries that the lines describe, in the words of `conntrack -A` (conntrack -R).
    void load(const std::vector<std::string>& lines) const;
    // Returns whether a socket of the namespace has joined groups of netfilter's events
    // (/proc/net/netlink).
    bool has_listener() const;

  private:
    std::string name_;
};

// Lines, sorted, with what ticks (time-out and age) replaced by T.
std::vector<std::string> comparable(const std::string& text);
std::string without_times(const std::string& line);

// A few thousand entries of every kind that netlink can make.
std::vector<std::string> mixed_table();

}  // namespace pathproof::netfilter::lab
