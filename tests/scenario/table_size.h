// The machine's nf_conntrack_max, changed for as long as one of these lives: all network namespaces share it.
#pragma once

#include <boost/test/unit_test.hpp>
#include <string>

#include "harness/process/program.h"

class TableSize {
  public:
    TableSize() {
        const auto read = pathproof::process::run_checked({"sysctl", "-n", kName});
        BOOST_REQUIRE(read);
        found_ = read->substr(0, read->find('\n'));
    }
    TableSize(const TableSize&) = delete;
    TableSize& operator=(const TableSize&) = delete;
    ~TableSize() { put_back(); }

    void set(unsigned entries) { set(std::to_string(entries)); }
    void put_back() { set(found_); }

  private:
    static constexpr const char* kName = "net.netfilter.nf_conntrack_max";

    static void set(const std::string& value) {
        BOOST_TEST(bool(pathproof::process::run_checked({"sysctl", "-nw", kName + ("=" + value)})));
    }

    std::string found_;
};
