// Helpers that the tests of conclusions from plain values share: a look at a result, and the claims
// that its sentences may not make.
#pragma once

#include <boost/test/unit_test.hpp>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "harness/verdict/result.h"
#include "tests/contains.h"

namespace conclusions {

using pathproof::verdict::Cell;
using pathproof::verdict::ScenarioResult;
using pathproof::verdict::ScenarioVerdict;

const Cell& cell(const ScenarioResult& result, const std::string& id);

using pathproof::test::contains;

void inconclusive(const ScenarioResult& result, const std::string& why);

// Words, and the measures of which one is not zero where they stand.
struct Phrase {
    const char* words;
    std::vector<const char*> measures;
};

double sum_of(const Cell& cell, const std::vector<const char*>& names);

// Sentences with a phrase whose measures are zero (of the cell, or of the whole scenario), with a part
// that is more than its whole, or with a bare 0.
std::vector<std::string> false_sentences(const ScenarioResult& result,
                                         const std::vector<Phrase>& phrases);

// Values for generated cells: often zero, seldom many.
class Dice {
  public:
    explicit Dice(unsigned seed) : engine_(seed) {}
    bool one_in(unsigned n) { return engine_() % n == 0; }
    std::uint64_t up_to(std::uint64_t most) {
        return one_in(3) ? 0 : std::uniform_int_distribution<std::uint64_t>(0, most)(engine_);
    }

  private:
    std::mt19937 engine_;
};

// Says each false sentence of ten thousand results that `make` draws.
void ten_thousand(const std::vector<Phrase>& phrases,
                  const std::function<ScenarioResult(Dice&)>& make);

}  // namespace conclusions
