#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/function_schema.h>
#include <ATen/record_function.h>

#include <atomic>
#include <string>
#include <vector>

#include "dispatch_hook/session.h"

namespace ulpscope {

/// How a call treats one argument's tensors.
enum class ArgumentUse : uint8_t {
  read,
  readWrite,
  readWriteInTraining,  ///< readWrite where the call's training flag is set, else read
  reshaped,   ///< another view of its memory, or other memory: detach_, squeeze_, set_
  overwrite,  ///< content before does not matter: out=, fill_, copy_, normal_
};

/// What an integer argument stands for; processGroup: a text that names a group of ranks.
enum class IntegerMeaning : uint8_t { number, dtype, layout, memoryFormat, processGroup };

/// What the recorder needs to know of an operator, worked out once.
struct SchemaInfo {
  std::string name;  ///< "aten::add"
  Schema schema;
  bool descend = false;      ///< composite, or not an op of the program: what it calls is recorded
  bool nestedKernels = false;  ///< composite, but with own kernels for nested or sparse tensors
  bool writes = false;
  bool makesTensors = false;  ///< returns or writes tensors; a look at a value (item) does not
  bool viewsInside = true;   ///< a view that it makes is part of its input
  bool makesEmpty = false;   ///< results or resized arguments hold nothing yet
  bool collective = false;
  bool asynchronous = false;  ///< results are there only after a wait
  std::vector<ArgumentUse> arguments;
  std::vector<IntegerMeaning> meanings;
  std::vector<c10::TypePtr> types;  ///< of the arguments
  int trainingFlag = -1;  ///< index of the argument that ArgumentUse::readWriteInTraining looks at
  size_t returns = 0;
  std::vector<bool> returnsWritten;  ///< the return is a written argument

  /// The schema's id in this recording.
  SchemaId id(Session& session) const;
  bool wanted(Session& session) const;  ///< by include and exclude

 private:
  mutable std::atomic<uint64_t> interned_{0};  // generation << 32 | id
  mutable std::atomic<uint64_t> filter_{0};    // generation << 1 | wanted
};

/// Of an operator that is called without the dispatcher. Lives as long as the process.
const SchemaInfo* schemaInfo(const c10::OperatorHandle& op);
/// Null for a record that is not a dispatcher call. Cached per thread by the schema's address.
const SchemaInfo* schemaInfo(ThreadState& thread, const at::RecordFunction& function);

}  // namespace ulpscope
