#include "store/limits.h"

#include "store/bytes.h"

namespace ulpscope {
namespace {

constexpr int64_t kMostRowsOfByte = 16;
constexpr int64_t kMostOperandsOfByte = 64;

int64_t bytesOf(sqlite::Database& database) {
  return database.integer("PRAGMA page_count") * database.integer("PRAGMA page_size");
}

}  // namespace

void checkRowCount(sqlite::Database& database, int64_t count) {
  if (count > bytesOf(database) * kMostRowsOfByte) throw Malformed{"a count is impossible"};
}

void checkOperandCount(sqlite::Database& database, int64_t count) {
  if (count > bytesOf(database) * kMostOperandsOfByte) throw Malformed{"a count is impossible"};
}

}  // namespace ulpscope
