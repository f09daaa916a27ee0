#include "diff/op_facts.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

namespace ulpscope {
namespace {

using Names = std::unordered_set<std::string_view>;

const Names kRandom = {
    "bernoulli", "cauchy", "dropout", "exponential", "geometric", "log_normal", "multinomial",
    "native_dropout", "normal", "poisson", "rand", "rand_like", "randint", "randint_like", "randn",
    "randn_like", "random", "randperm", "rrelu_with_noise", "uniform", "binomial", "_standard_gamma",
    "_sample_dirichlet", "_fused_dropout", "alpha_dropout", "feature_dropout", "normal_functional",
    "inductor_random", "inductor_randint", "inductor_seed", "inductor_seeds", "philox_rand",
    "rngprim_philox_rand", "seed", "seeds",
};

const Names kMovesData = {
    "alias", "as_strided", "chunk", "clone", "contiguous", "detach", "diagonal", "expand", "lift",
    "lift_fresh", "movedim", "narrow", "permute", "reshape", "select", "slice", "split",
    "split_with_sizes", "squeeze", "swapaxes", "swapdims", "t", "transpose", "unbind", "unfold",
    "unsqueeze", "unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes", "view", "view_as",
    "view_as_complex", "view_as_real", "conj", "_conj", "_neg_view", "resolve_conj", "resolve_neg",
    "_to_copy", "to", "copy", "_foreach_copy", "set", "requires_grad",
};

const Names kCopies = {"clone", "contiguous", "_to_copy", "copy", "_foreach_copy"};

const Names kAllocates = {
    "empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "empty_permuted",
    "resize", "resize_as", "_empty_affine_quantized", "_efficientzerotensor",
};

const Names kWorkspace = {
    "mkldnn_rnn_layer", "mkldnn_rnn_layer_backward", "_cudnn_rnn", "_cudnn_rnn_backward", "miopen_rnn",
    "miopen_rnn_backward", "batch_norm", "native_batch_norm_backward",
};

const Names kOverwrites = {
    "fill", "zero", "copy", "normal", "uniform", "random", "bernoulli", "exponential", "geometric",
    "cauchy", "log_normal", "_foreach_zero", "_foreach_copy", "set", "resize", "resize_as", "_resize_output",
};

const Names kSync = {
    "_local_scalar_dense", "item", "is_nonzero", "nonzero", "equal", "allclose", "masked_select",
    "repeat_interleave", "unique_dim", "_unique", "_unique2", "unique_consecutive",
    "nonzero_numpy", "nonzero_static",
};

// Relative error of the output may exceed that of the input by any factor: cancellation, a pole, a
// root near zero, a comparison or a choice by value.
const Names kAmplifies = {
    "add", "sub", "rsub", "log", "log1p", "log2", "log10", "div", "reciprocal", "sqrt", "rsqrt", "pow",
    "tan", "exp", "exp2", "expm1", "acos", "asin", "atanh", "acosh", "erfinv", "logit", "floor", "ceil",
    "round", "trunc", "fmod", "remainder", "sign", "sgn", "heaviside", "eq", "ne", "lt", "gt", "le",
    "ge", "argmax", "argmin", "topk", "sort", "argsort", "max", "min", "where", "sin", "cos", "sum",
    "mean", "var", "std", "var_mean", "std_mean", "nonzero", "_local_scalar_dense", "logical_not",
    "cumsum", "cumprod", "addcdiv", "addcmul", "lerp", "cross", "det", "_linalg_det", "linalg_inv_ex",
    "_linalg_solve_ex", "linalg_lu_factor_ex", "linalg_eig", "_linalg_eigh", "_linalg_svd",
    "linalg_qr", "linalg_cholesky_ex", "searchsorted", "bucketize", "histc", "bincount",
    "frac", "floor_divide", "nll_loss_forward", "_foreach_add", "_foreach_sub", "_foreach_div",
    "_foreach_addcdiv", "_foreach_addcmul", "_foreach_lerp", "_foreach_sqrt", "_foreach_pow",
    "_foreach_reciprocal", "_fused_adamw", "_fused_adam", "native_layer_norm_backward",
    "native_batch_norm_backward", "native_group_norm_backward", "_softmax_backward_data",
    "_log_softmax_backward_data", "_to_copy", "dequantize", "quantize_per_tensor",
};

const Names kPartial = {
    "log", "log2", "log10", "log1p", "div", "reciprocal", "rsqrt", "sqrt", "pow", "acos", "asin",
    "atanh", "acosh", "logit", "erfinv", "exp", "exp2", "expm1", "fmod", "remainder", "addcdiv",
    "_foreach_div", "_foreach_addcdiv", "_foreach_sqrt", "_foreach_pow", "_foreach_reciprocal",
    "_fused_adamw", "_fused_adam", "lgamma", "digamma", "tan", "sinh", "cosh",
};

const Names kReduces = {
    "sum", "mean", "var", "std", "var_mean", "std_mean", "norm", "linalg_vector_norm", "logsumexp",
    "_softmax", "_log_softmax", "softmax", "log_softmax", "native_layer_norm", "native_group_norm",
    "batch_norm", "native_layer_norm_backward", "native_group_norm_backward",
    "native_batch_norm_backward", "_softmax_backward_data", "_log_softmax_backward_data", "cumsum",
    "cumprod", "prod", "nansum", "trace", "avg_pool2d", "_adaptive_avg_pool2d", "index_add",
    "scatter_add", "embedding_dense_backward", "mse_loss", "nll_loss_forward", "_foreach_norm",
    "_fused_rms_norm", "rms_norm",
};

const Names kCommutative = {
    "add", "mul", "maximum", "minimum", "eq", "ne", "logical_and", "logical_or", "logical_xor",
    "bitwise_and", "bitwise_or", "bitwise_xor", "fmax", "fmin", "hypot", "dot",
};

// Synonyms: one operator under several names, as torch's own passes rewrite them.
const std::unordered_map<std::string_view, std::string_view> kSynonyms = {
    {"_unsafe_view", "view"}, {"_reshape_alias", "view"}, {"reshape", "view"},
    {"_reshape_copy", "view"}, {"_unsafe_index", "index"}, {"_unsafe_index_put", "index_put"},
    {"_index_put_impl", "index_put"}, {"lift_fresh_copy", "lift_fresh"}, {"to", "_to_copy"},
    {"_native_batch_norm_legit", "batch_norm"}, {"_native_batch_norm_legit_functional", "batch_norm"},
    {"_native_batch_norm_legit_no_training", "batch_norm"}, {"native_batch_norm", "batch_norm"},
    {"_batch_norm_with_update", "batch_norm"}, {"_batch_norm_with_update_functional", "batch_norm"},
    {"_batch_norm_no_update", "batch_norm"}, {"cudnn_batch_norm", "batch_norm"},
    {"batch_norm_backward", "native_batch_norm_backward"},
    {"_convolution", "convolution"}, {"mkldnn_convolution", "convolution"},
    {"convolution_overrideable", "convolution"}, {"cudnn_convolution", "convolution"},
    {"thnn_conv2d", "convolution"}, {"_slow_conv2d_forward", "convolution"},
    {"true_divide", "div"}, {"divide", "div"}, {"multiply", "mul"}, {"subtract", "sub"},
    {"softmax", "_softmax"}, {"log_softmax", "_log_softmax"},
    {"dropout", "native_dropout"}, {"_fused_dropout", "native_dropout"},
    {"unsafe_split", "split"}, {"unsafe_chunk", "chunk"},
    {"unsafe_split_with_sizes", "split_with_sizes"}, {"absolute", "abs"}, {"negative", "neg"},
    {"greater", "gt"}, {"greater_equal", "ge"}, {"less", "lt"}, {"less_equal", "le"},
    {"not_equal", "ne"}, {"clip", "clamp"}, {"concat", "cat"}, {"concatenate", "cat"},
    {"slice_inverse", "slice_scatter"}, {"swapaxes", "transpose"}, {"swapdims", "transpose"},
};

// Ops whose `_copy` form is the functionalised view.
const std::array kViewCopies = {
    "alias_copy", "as_strided_copy", "detach_copy", "diagonal_copy", "expand_copy", "permute_copy",
    "select_copy", "slice_copy", "split_copy", "split_with_sizes_copy", "squeeze_copy", "t_copy",
    "transpose_copy", "unbind_copy", "unfold_copy", "unsqueeze_copy", "view_copy",
    "view_as_complex_copy", "view_as_real_copy",
};

std::string_view withoutNamespace(std::string_view name) {
  const size_t at = name.find("::");
  return at == std::string_view::npos ? name : name.substr(at + 2);
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

std::string baseName(std::string_view name) {
  const size_t at = name.find("::");
  std::string_view space = at == std::string_view::npos ? "" : name.substr(0, at + 2);
  std::string_view op = withoutNamespace(name);
  if (op.size() > 1 && op.back() == '_' && !op.ends_with("__")) op.remove_suffix(1);
  if (std::find(kViewCopies.begin(), kViewCopies.end(), op) != kViewCopies.end()) {
    op.remove_suffix(std::string_view("_copy").size());
  }
  if (space == "aten::" || space.empty()) {
    if (const auto found = kSynonyms.find(op); found != kSynonyms.end()) op = found->second;
  }
  return std::string(space).append(op);
}

OpFacts factsOf(const Schema& schema) {
  const std::string base = baseName(schema.name);
  const std::string_view op = withoutNamespace(base);
  OpFacts facts;
  facts.random = kRandom.contains(op) || (op == "_foreach_norm" ? false : op.ends_with("_dropout"));
  facts.movesData = kMovesData.contains(op);
  facts.allocates = kAllocates.contains(op);
  facts.overwrites = kOverwrites.contains(op);
  facts.copies = kCopies.contains(op);
  facts.workspace = kWorkspace.contains(op);
  facts.takesMask = op == "index";
  facts.sync = kSync.contains(op);
  facts.amplifies = kAmplifies.contains(op);
  facts.partial = kPartial.contains(op);
  facts.reduces = kReduces.contains(op);
  facts.contracts = op == "mm" || op == "bmm" || op == "addmm" || op == "baddbmm" || op == "dot" ||
                    op == "mv" || op == "addmv" || op == "addbmm" || op == "addr" ||
                    contains(op, "convolution") || contains(op, "conv") ||
                    contains(op, "attention") || contains(op, "linear") || contains(op, "matmul") ||
                    contains(op, "_mm") || contains(op, "einsum") || contains(op, "lstm") ||
                    contains(op, "gru") || contains(op, "rnn");
  facts.commutative = kCommutative.contains(op);
  // scaled_dot_product_attention with dropout draws too, but only its dropout_p argument tells.
  return facts;
}

bool isOutArgument(const Schema& schema, int argument) {
  if (argument < 0 || size_t(argument) >= schema.arguments.size()) return false;
  if (!schema.overload.ends_with("out") && !contains(schema.overload, "out")) return false;
  const std::string& name = schema.arguments[size_t(argument)];
  // The out= arguments come last and carry these names in native_functions.yaml.
  static const Names names = {"out",     "out0",    "out1",   "out2",         "out3",    "out4",
                              "values",  "indices", "grad_input", "output",   "buffer",  "save_mean",
                              "save_invstd", "total_weight", "mask", "result", "U", "S", "V", "Vh",
                              "L", "LU", "pivots", "info", "Q", "R", "eigenvalues", "eigenvectors",
                              "max", "max_values", "max_indices", "min", "min_indices", "rstd"};
  return names.contains(name);
}

}  // namespace ulpscope
