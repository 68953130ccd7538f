// The file of kept tables: which is used, and what becomes of one that is broken.
#include "harness/prices/kept.h"

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "dataplane/base/file.h"

using namespace pathproof;
using namespace pathproof::prices;
namespace fs = std::filesystem;

namespace {

struct Folder {
    Folder() {
        std::string name = (fs::temp_directory_path() / "prices-XXXXXX").string();
        path = mkdtemp(name.data());
    }
    ~Folder() {
        std::error_code gone;
        fs::remove_all(path, gone);
    }
    std::string file() const { return path + "/state/pathproof/prices.json"; }
    std::string path;
};

verdict::PriceTable table_of(const std::string& kernel, const std::string& dnsmasq = "2.90") {
    verdict::PriceTable table{
        .key = {.kernel = kernel, .version = "0.1.0", .tools = {{"dnsmasq", dnsmasq}}},
        .measured_at = "2026-11-25T02:00:00Z",
        .seconds = 12.5,
        .cures = {{"bridge-nf", "`sysctl`"}},
        .probes = {{"bridge-unnat", "lookups"}},
        .loads = {{"bridged-datagrams", "datagrams"}}};
    table.cells.push_back(verdict::conclude_effect("bridge-nf", "bridge-unnat",
                                                   {{verdict::CellVerdict::kFail, "5 of 5"}},
                                                   {verdict::CellVerdict::kPass}));
    const std::vector<double> rounds{1, 2, 3, 4, 5, 6};
    table.costs.push_back(verdict::conclude_cost("bridge-nf", "bridged-datagrams",
                                                 {"cpu", "CPU time", "ns"}, rounds, rounds));
    table.costs.push_back(verdict::conclude_cost("bridge-nf", "bridged-datagrams",
                                                 {"cycles", "cycles", "cycles"}, {}, {}, "none"));
    return table;
}

void write(const std::string& file, const std::string& text) {
    fs::create_directories(fs::path(file).parent_path());
    std::ofstream(file) << text;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_table_is_used_for_its_own_kernel_programs_and_version_alone) {
    const Folder folder;
    BOOST_REQUIRE(keep(folder.file(), table_of("6.18.44")).has_value());
    const auto found = find_kept(folder.file(), table_of("6.18.44").key);
    BOOST_REQUIRE(found.has_value());
    BOOST_REQUIRE(found->has_value());
    BOOST_TEST(kept_text({**found}) == kept_text({table_of("6.18.44")}));
    verdict::PriceKey version = table_of("6.18.44").key;
    version.version = "0.2.0";
    for (const verdict::PriceKey& other :
         {table_of("6.18.45").key, table_of("6.18.44", "2.91").key, version}) {
        const auto none = find_kept(folder.file(), other);
        BOOST_REQUIRE(none.has_value());
        BOOST_TEST(!none->has_value());
    }
}

BOOST_AUTO_TEST_CASE(a_new_table_takes_the_place_of_its_own_key_and_the_others_stay) {
    const Folder folder;
    auto table = table_of("6.18.44");
    BOOST_REQUIRE(keep(folder.file(), table).has_value());
    BOOST_REQUIRE(keep(folder.file(), table_of("6.1.0")).has_value());
    table.measured_at = "2026-11-26T02:00:00Z";
    BOOST_REQUIRE(keep(folder.file(), table).has_value());
    const auto all = read_kept(read_file(folder.file()).value_or(""));
    BOOST_REQUIRE(all.has_value());
    BOOST_REQUIRE(all->size() == 2);
    BOOST_TEST((*all)[0].measured_at == table.measured_at);
    BOOST_TEST((*all)[1].key.kernel == "6.1.0");
}

BOOST_AUTO_TEST_CASE(no_file_is_no_table) {
    const Folder folder;
    const auto none = find_kept(folder.file(), {});
    BOOST_REQUIRE(none.has_value());
    BOOST_TEST(!none->has_value());
}

BOOST_AUTO_TEST_CASE(a_broken_file_is_a_sentence_and_stays_as_it_is) {
    const std::string whole = kept_text({table_of("6.18.44")});
    std::string twice = whole;
    twice.replace(twice.find("/cycles"), 7, "/cpu");
    twice.replace(twice.find("\"figure\": \"cycles\""), 18, "\"figure\": \"cpu\"");
    for (const std::string& text :
         {std::string(), std::string("{"), std::string("[]"), std::string("{\"schema\":1}"),
          whole.substr(0, whole.size() / 2), std::string("{\"schema\":\"pathproof-prices/2\"}"),
          std::string("{\"schema\":\"pathproof-prices/1\",\"tables\":[{}]}"), twice}) {
        const Folder folder;
        write(folder.file(), text);
        const auto found = find_kept(folder.file(), {});
        BOOST_REQUIRE_MESSAGE(!found.has_value(), text);
        BOOST_TEST(found.error().message.starts_with(folder.file() + " cannot be used: "));
        BOOST_TEST(found.error().message.ends_with(
            "; remove it, and 'pathproof qualify --prices' makes it anew"));
        BOOST_TEST(!keep(folder.file(), table_of("6.1.0")).has_value());
        BOOST_TEST(read_file(folder.file()).value_or("gone") == text);
    }
}

BOOST_AUTO_TEST_CASE(the_file_is_where_the_user_has_its_state) {
    setenv("XDG_STATE_HOME", "/somewhere", 1);
    BOOST_TEST(kept_file() == "/somewhere/pathproof/prices.json");
    setenv("XDG_STATE_HOME", "not/absolute", 1);
    setenv("HOME", "/home/somebody", 1);
    BOOST_TEST(kept_file() == "/home/somebody/.local/state/pathproof/prices.json");
    unsetenv("HOME");
    BOOST_TEST(kept_file() == "/var/lib/pathproof/prices.json");
}
