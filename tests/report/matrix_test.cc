#include "harness/report/matrix.h"

#include <boost/test/unit_test.hpp>

#include "samples.h"

using namespace pathproof::report;
using namespace pathproof::verdict;

namespace {

Cell cell(std::vector<std::pair<std::string, std::string>> toggles) {
    return {.id = "c", .toggles = std::move(toggles), .verdict = CellVerdict::kPass};
}

}  // namespace

BOOST_AUTO_TEST_CASE(four_toggles_of_two_values_make_a_four_by_four_grid) {
    const auto run = test::sample();
    const Matrix matrix = lay_out(run.scenarios[0].cells);
    BOOST_TEST(matrix.rows.size() == 4);
    BOOST_TEST(matrix.columns.size() == 4);
    BOOST_TEST(matrix.cells.size() == 16);
    BOOST_TEST(matrix.rest.size() == 4);
    BOOST_TEST((matrix.row_axes == std::vector<std::string>{"vxlan tx", "outer SNAT"}));
    for (const auto& [place, found] : matrix.cells) {
        BOOST_TEST(found->toggles[0].second == matrix.rows[place.first][0]);
        BOOST_TEST(found->toggles[1].second == matrix.rows[place.first][1]);
        BOOST_TEST(found->toggles[2].second == matrix.columns[place.second][0]);
        BOOST_TEST(found->toggles[3].second == matrix.columns[place.second][1]);
    }
}

BOOST_AUTO_TEST_CASE(cells_that_span_no_grid_stay_a_list) {
    const auto run = test::sample();
    const Matrix matrix = lay_out(run.scenarios[1].cells);
    BOOST_TEST(matrix.empty());
    BOOST_TEST(matrix.rest.size() == run.scenarios[1].cells.size());
    BOOST_TEST(lay_out({}).empty());
}

BOOST_AUTO_TEST_CASE(a_toggle_that_never_changes_is_no_axis) {
    const std::vector<Cell> cells{cell({{"a", "0"}, {"same", "x"}, {"b", "0"}}),
                                  cell({{"a", "0"}, {"same", "x"}, {"b", "1"}}),
                                  cell({{"a", "1"}, {"same", "x"}, {"b", "0"}}),
                                  cell({{"a", "1"}, {"same", "x"}, {"b", "1"}})};
    const Matrix matrix = lay_out(cells);
    BOOST_TEST(matrix.rows.size() == 2);
    BOOST_TEST(matrix.columns.size() == 2);
    BOOST_REQUIRE(matrix.constants.size() == 1);
    BOOST_TEST(matrix.constants[0].first == "same");
}

BOOST_AUTO_TEST_CASE(no_cell_is_lost_when_two_share_a_place) {
    std::vector<Cell> cells{cell({{"a", "0"}, {"b", "0"}}), cell({{"a", "0"}, {"b", "1"}}),
                            cell({{"a", "1"}, {"b", "0"}}), cell({{"a", "1"}, {"b", "1"}}),
                            cell({{"a", "1"}, {"b", "1"}})};
    const Matrix matrix = lay_out(cells);
    BOOST_TEST(matrix.cells.size() == 4);
    BOOST_TEST(matrix.rest.size() == 1);
}

BOOST_AUTO_TEST_CASE(a_sparse_diagonal_is_no_grid) {
    std::vector<Cell> cells;
    for (const char* value : {"1", "2", "3", "4", "5"}) {
        cells.push_back(cell({{"a", value}, {"b", value}}));
    }
    BOOST_TEST(lay_out(cells).empty());
}
