// "3 of 24" in a sentence: no part may be more than its whole.
#pragma once

#include <string>
#include <vector>

struct Share {
    std::string words;
    double part = 0;
    double whole = 0;
};

// Finds each "N of M" of a text.
std::vector<Share> shares_in(const std::string& text);

// The number that ends just before `at`; nothing (-1) when there is none.
double number_before(const std::string& text, std::size_t at);
