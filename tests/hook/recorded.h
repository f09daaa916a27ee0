#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dispatch_hook/recorder.h"
#include "store/reader.h"
#include "tests/support/temp_folder.h"

namespace ulpscope::testing {

/// The trace of what `program` did, read back.
class Recorded {
 public:
  explicit Recorded(const std::function<void()>& program, RecorderOptions options = {});

  const Reader& reader() const { return *reader_; }
  const OpTable& table() const { return table_; }
  const std::vector<Op>& ops() const { return table_.ops; }
  bool empty() const { return !reader_.has_value(); }

  std::string name(const Op& op) const { return reader_->schema(op.schema).qualified(); }
  std::vector<std::string> names() const;
  /// The n-th op of that name; fails the test and gives an empty op where there is none.
  const Op& find(const std::string& name, int n = 0) const;
  std::vector<Operand> operands(const Op& op) const;
  /// Operands as text, one each: "in0 f32[2, 3]", "before0.1 ...", "out0 ... uninitialised".
  std::vector<std::string> describe(const Op& op) const;
  /// The operand of that role and position; fails the test where there is none.
  Operand operand(const Op& op, Role role, int arg, int item = -1) const;
  Digest digest(const Operand& operand) const { return reader_->digest(operand.fingerprint); }
  /// The text of the scalar of that name; "absent" where there is none.
  std::string scalar(const Op& op, const std::string& argument) const;
  std::string region(const Op& op) const { return reader_->region(op.region).name; }

 private:
  TempFolder folder_;
  std::optional<Reader> reader_;
  OpTable table_;
};

}  // namespace ulpscope::testing
