#include "tests/hook/recorded.h"

#include <gtest/gtest.h>

namespace ulpscope::testing {

Recorded::Recorded(const std::function<void()>& program, RecorderOptions options) {
  options.path = folder_.file("run.ulps");
  const std::string why = startRecording(options);
  EXPECT_EQ(why, "");
  try {
    program();
  } catch (...) {
    stopRecording();
    throw;
  }
  const std::string path = stopRecording();
  if (path.empty()) return;
  reader_.emplace(path);
  EXPECT_TRUE(reader_->complete());
  table_ = reader_->readAll();
}

std::vector<std::string> Recorded::names() const {
  std::vector<std::string> result;
  for (const Op& op : ops()) result.push_back(name(op));
  return result;
}

const Op& Recorded::find(const std::string& wanted, int n) const {
  for (const Op& op : ops()) {
    if (name(op) == wanted && n-- == 0) return op;
  }
  ADD_FAILURE() << "no op " << wanted << " among " << ::testing::PrintToString(names());
  static const Op none;
  return none;
}

std::vector<Operand> Recorded::operands(const Op& op) const {
  const auto span = table_.of(op);
  return {span.begin(), span.end()};
}

std::vector<std::string> Recorded::describe(const Op& op) const {
  static const char* const roles[] = {"in", "out", "before", "after"};
  std::vector<std::string> result;
  for (const Operand& operand : table_.of(op)) {
    const TensorType& type = reader_->type(operand.type);
    std::string text = roles[int(operand.role)] + std::to_string(operand.arg);
    if (operand.item >= 0) text += "." + std::to_string(operand.item);
    text += " " + std::string(info(type.dtype).shortName) + "[";
    for (size_t i = 0; i < type.sizes.size(); ++i) {
      text += (i == 0 ? "" : ", ") + std::to_string(type.sizes[i]);
    }
    text += "]";
    if (operand.skip != SkipReason::none) text += " " + std::string(ulpscope::name(operand.skip));
    result.push_back(text);
  }
  return result;
}

Operand Recorded::operand(const Op& op, Role role, int arg, int item) const {
  for (const Operand& operand : table_.of(op)) {
    if (operand.role == role && operand.arg == arg && operand.item == item) return operand;
  }
  ADD_FAILURE() << "no such operand of " << name(op) << ": "
                << ::testing::PrintToString(describe(op));
  return {};
}

std::string Recorded::scalar(const Op& op, const std::string& argument) const {
  const Schema& schema = reader_->schema(op.schema);
  for (const Scalar& scalar : reader_->scalars(op.scalars)) {
    if (schema.arguments.at(size_t(scalar.arg)) == argument) return scalar.text;
  }
  return "absent";
}

}  // namespace ulpscope::testing
