#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

/// What the C++ text that Inductor generates says of its kernels: names and types of parameters, and
/// the calls in their order.
namespace ulpscope::native {

struct KernelParameter {
  enum class Kind : uint8_t { pointer, integer, float32, float64 };
  std::string name;
  std::string type;  ///< "const float*"
  Kind kind = Kind::pointer;
  uint8_t bytes = 8;      ///< of an integer
  bool isSigned = true;   ///< of an integer
  bool isBool = false;
  bool isConst() const { return type.starts_with("const "); }
};

struct KernelSignature {
  std::vector<KernelParameter> parameters;
  /// False where a parameter is of a type whose way of being passed is not known.
  bool complete = true;
};

/// A call as it is written.
struct WrittenCall {
  std::string function;
  std::string handle;  ///< "cpp_fused_add_0:3", Inductor's provenance handle; empty where it gave none
  size_t line = 0;     ///< in GeneratedSource::lines()
  std::vector<std::string> buffers;  ///< by argument: the variable that is passed; empty: a number
};

class GeneratedSource {
 public:
  explicit GeneratedSource(std::string text);
  GeneratedSource(const GeneratedSource&) = delete;  // lines are parts of the text
  GeneratedSource& operator=(const GeneratedSource&) = delete;

  const std::unordered_map<std::string, KernelSignature>& kernels() const { return kernels_; }
  const std::vector<WrittenCall>& calls() const { return calls_; }
  /// Trimmed.
  const std::vector<std::string_view>& lines() const { return lines_; }
  /// The text of a kernel's definition; empty where this file only declares it.
  std::string_view definition(const std::string& kernel) const;

 private:
  void readDeclarations();
  void readCalls();
  std::string text_;
  std::unordered_map<std::string, KernelSignature> kernels_;
  std::unordered_map<std::string, std::pair<size_t, size_t>> definitions_;
  std::vector<WrittenCall> calls_;
  std::vector<std::string_view> lines_;
};

/// The variables that stand in the arguments of a call, `text` being what follows its parenthesis.
std::vector<std::string> argumentsOf(std::string_view text);

/// "const float* in_ptr0, const int64_t ks0", without the parentheses.
KernelSignature parseParameters(std::string_view text);

}  // namespace ulpscope::native
