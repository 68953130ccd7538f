// The tables of a history, and how older ones become today's.
#pragma once

#include "harness/history/database.h"

namespace pathproof::history {

// The steps that make an empty database a history: step n makes version n of n - 1. Statements of both kinds of database, in which
// {KEY} stands for a column that numbers its rows. A step is never changed once it was released: another is added.
using Step = std::vector<std::string>;
const std::vector<Step>& steps();

// Brings a history to the version that `to` makes, in one transaction; nothing is changed where it has it. kBadInput: it is of a newer
// version, which is named with the pathproof that made it, or the database is somebody else's.
Status migrate(Database& database, const Target& target, const std::vector<Step>& to = steps());

}  // namespace pathproof::history
