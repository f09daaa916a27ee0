#include "dispatch_hook/operands.h"

#include <ATen/NestedTensorImpl.h>
#include <ATen/SparseCsrTensorImpl.h>
#include <ATen/SparseTensorImpl.h>
#include <c10/core/StorageImpl.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "dispatch_hook/storage_table.h"

namespace ulpscope {

namespace {

using c10::DispatchKey;

static_assert(int(DType::UInt8) == int(c10::ScalarType::Byte));
static_assert(int(DType::Float64) == int(c10::ScalarType::Double));
static_assert(int(DType::BFloat16) == int(c10::ScalarType::BFloat16));
static_assert(int(DType::Float8_e4m3fnuz) == int(c10::ScalarType::Float8_e4m3fnuz));
static_assert(int(DType::UInt64) == int(c10::ScalarType::UInt64));
static_assert(int(DType::Int7) == int(c10::ScalarType::Int7));
static_assert(int(DType::Float4_e2m1fn_x2) == int(c10::ScalarType::Float4_e2m1fn_x2));
static_assert(kDTypeCount == int(c10::ScalarType::NumOptions));

constexpr c10::DispatchKeySet kWrappers({DispatchKey::Python, DispatchKey::FuncTorchBatched,
                                         DispatchKey::FuncTorchGradWrapper,
                                         DispatchKey::Functionalize});

uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9FB21C651E98DF25u;
  return hash ^ (hash >> 32);
}

/// Equal for views of one storage that visit the same bytes in the same order, such as a contiguous
/// tensor and its reshapes.
uint64_t geometryOf(const StridedView& view, int64_t offset) {
  uint64_t hash = mix(uint64_t(view.dtype) | uint64_t(view.conjugate) << 8 |
                          uint64_t(view.negative) << 9,
                      uint64_t(offset));
  int64_t size = 1, stride = 0;  // of the dims merged so far, from the innermost out
  for (int32_t d = view.dim; d-- > 0;) {
    if (view.sizes[d] == 0) return 1;
    if (view.sizes[d] == 1) continue;
    if (size == 1) {
      size = view.sizes[d];
      stride = view.strides[d];
    } else if (view.strides[d] == stride * size) {
      size *= view.sizes[d];
    } else {
      hash = mix(mix(hash, uint64_t(size)), uint64_t(stride));
      size = view.sizes[d];
      stride = view.strides[d];
    }
  }
  return mix(mix(hash, uint64_t(size)), uint64_t(size == 1 ? 0 : stride)) | 2;
}

/// Elements that a view visits, and the bytes of its storage that it needs (from the storage's
/// start). False where the numbers overflow.
bool extent(const StridedView& view, int64_t offset, int64_t& elements, int64_t& bytes) {
  elements = 1;
  int64_t last = offset;
  for (int32_t d = 0; d < view.dim; ++d) {
    if (__builtin_mul_overflow(elements, view.sizes[d], &elements)) return false;
  }
  if (elements == 0) {
    bytes = 0;
    return true;
  }
  for (int32_t d = 0; d < view.dim; ++d) {
    int64_t step;
    if (view.strides[d] < 0 || __builtin_mul_overflow(view.sizes[d] - 1, view.strides[d], &step) ||
        __builtin_add_overflow(last, step, &last)) {
      return false;
    }
  }
  return !__builtin_mul_overflow(last + 1, int64_t(info(view.dtype).bytes), &bytes);
}

/// An expanded view may visit far more elements than any memory holds; hashing stops here.
constexpr int64_t kMaxElements = int64_t(1) << 36;

/// A mark of a storage's content at its ends, to notice that somebody filled it.
uint64_t sampleOf(const c10::StorageImpl& storage) {
  const auto* data = static_cast<const char*>(storage.data());
  const int64_t bytes = int64_t(storage.nbytes());
  if (data == nullptr || bytes == 0) return 0;
  const int64_t part = std::min<int64_t>(bytes, 4096);
  StridedView view{.data = data, .dtype = DType::UInt8, .dim = 1, .sizes = &part};
  const uint64_t head = fingerprint(view, Level::digest).digest.low;
  if (part == bytes) return head;
  view.data = data + (bytes - part);
  return mix(mix(0, head), fingerprint(view, Level::digest).digest.low);
}

const c10::StorageImpl* storageOf(const c10::TensorImpl& tensor) {
  const c10::Storage& storage = tensor.unsafe_storage();
  return storage ? storage.unsafeGetStorageImpl() : nullptr;
}

/// A plain strided tensor as a view of its memory. Only for tensors without a wrapper key.
StridedView viewOf(const c10::TensorImpl& tensor) {
  StridedView view;
  const c10::StorageImpl* storage = storageOf(tensor);
  view.dtype = DType(tensor.dtype().toScalarType());
  view.conjugate = tensor.is_conj();
  view.negative = tensor.is_neg();
  view.dim = int32_t(tensor.dim_default());
  view.sizes = tensor.sizes_default().data();
  view.strides = tensor.strides_default().data();
  if (storage != nullptr && storage->data() != nullptr) {
    view.data = static_cast<const char*>(storage->data()) +
                tensor.storage_offset_default() * info(view.dtype).bytes;
  }
  return view;
}

/// The components of a layout of several tensors, most important last (the values).
struct Components {
  std::array<const at::Tensor*, 3> tensor{};
  size_t count = 0;
  void add(const at::Tensor& t) { tensor[count++] = &t; }
};

Components componentsOf(const c10::TensorImpl& tensor) {
  Components components;
  if (tensor.is_sparse()) {
    const auto& sparse = static_cast<const at::SparseTensorImpl&>(tensor);
    components.add(sparse.indices_);
    components.add(sparse.values_);
  } else if (tensor.is_sparse_compressed()) {
    const auto& sparse = static_cast<const at::SparseCsrTensorImpl&>(tensor);
    components.add(sparse.compressed_indices());
    components.add(sparse.plain_indices());
    components.add(sparse.values());
  }
  return components;
}

bool readable(const StridedView& view, const c10::StorageImpl* storage, int64_t offset,
              int64_t& elements) {
  int64_t bytes = 0;
  if (!extent(view, offset, elements, bytes)) return false;
  if (elements == 0) return true;
  return elements <= kMaxElements && storage != nullptr && view.data != nullptr && offset >= 0 &&
         bytes <= int64_t(storage->nbytes());
}

/// One fingerprint for several tensors: the digest of their digests; statistics and sketch of the
/// last, which holds the values.
bool combine(const Components& parts, Level level, Fingerprint& result) {
  std::array<Digest, 3> digests;
  for (size_t i = 0; i < parts.count; ++i) {
    const c10::TensorImpl& part = *parts.tensor[i]->unsafeGetTensorImpl();
    if (!parts.tensor[i]->defined() || wrapsOthers(part) || !part.is_cpu() ||
        part.layout() != c10::kStrided) {
      return false;
    }
    const StridedView view = viewOf(part);
    int64_t elements = 0;
    if (!readable(view, storageOf(part), part.storage_offset_default(), elements)) return false;
    result = fingerprint(view, i + 1 == parts.count ? level : Level::digest);
    digests[i] = result.digest;
  }
  const int64_t bytes = int64_t(parts.count * sizeof(Digest));
  const StridedView all{.data = digests.data(), .dtype = DType::UInt8, .dim = 1, .sizes = &bytes};
  result.digest = fingerprint(all, Level::digest).digest;
  return true;
}

}  // namespace

bool wrapsOthers(const c10::TensorImpl& tensor) noexcept {
  return tensor.key_set().has_any(kWrappers);
}

bool isFake(const c10::TensorImpl& tensor) noexcept {
  if (tensor.is_fake()) return true;
  if (!tensor.key_set().has(DispatchKey::Python)) return false;
  // FakeTensor is a subclass that claims a device over a storage on the meta device.
  const c10::StorageImpl* storage = storageOf(tensor);
  return storage != nullptr && storage->device_type() == c10::DeviceType::Meta &&
         !tensor.key_set().has_backend(c10::BackendComponent::MetaBit);
}

bool stillHolds(TensorValues& values) {
  const auto& tensor = *static_cast<const c10::TensorImpl*>(values.impl);
  if (wrapsOthers(tensor) || tensor.has_symbolic_sizes_strides() || tensor._is_zerotensor() ||
      tensor.layout() != c10::kStrided || !tensor.is_cpu()) {
    return false;
  }
  const StridedView view = viewOf(tensor);
  int64_t elements = 0;
  if (!readable(view, storageOf(tensor), tensor.storage_offset_default(), elements)) return false;
  if (elements * info(view.dtype).bytes != values.bytes) return false;
  if (!(fingerprint(view, Level::digest).digest == values.digest)) return false;
  values.view = view;
  return true;
}

struct OperandCapture::Described {
  RawOperand raw;
  StridedView view;  ///< sizes and strides point into the tensor
  const c10::TensorImpl* tensor = nullptr;
  const c10::StorageImpl* storage = nullptr;
  uint64_t geometry = 0;
  int64_t elements = 0;  ///< of a readable strided tensor
  std::array<int64_t, 2> nested{};
};

OperandCapture::Described OperandCapture::describe(const c10::TensorImpl& tensor, Role role,
                                                   int16_t arg, int16_t item) {
  Described d;
  d.tensor = &tensor;
  RawOperand& raw = d.raw;
  raw.role = role;
  raw.arg = arg;
  raw.item = item;
  const c10::DispatchKeySet keys = tensor.key_set();
  raw.dtype = DType(tensor.dtype().toScalarType());
  if (const auto* meta = static_cast<torch::autograd::AutogradMeta*>(tensor.autograd_meta())) {
    if (meta->requires_grad_ || meta->grad_fn_) raw.flags |= kRequiresGrad;
    if (meta->requires_grad_) raw.flags |= kParameter;
  }
  if (tensor.is_wrapped_number()) raw.flags |= kWrappedNumber;
  const bool wraps = keys.has_any(kWrappers);
  const bool symbolic = tensor.has_symbolic_sizes_strides();
  // A subclass may answer for its device in Python; the keys answer without it.
  const c10::DeviceType device =
      wraps ? c10::dispatchKeyToDeviceType(
                  c10::toRuntimePerBackendFunctionalityKey(DispatchKey::Dense,
                                                           keys.highestBackendKey()))
            : tensor.device().type();
  raw.deviceType = uint8_t(device);
  if (!wraps) raw.deviceIndex = tensor.device().index();
  if (keys.has(DispatchKey::NestedTensorCPU) || tensor.is_nested()) {
    raw.layout = Layout::nested;
  } else if (tensor.is_sparse() || tensor.is_sparse_compressed()) {
    raw.layout = Layout::sparse;
  } else if (tensor.is_mkldnn()) {
    raw.layout = Layout::mkldnn;
  } else if (!wraps && tensor.layout() != c10::kStrided) {
    raw.layout = Layout::other;
  }
  d.view.dtype = raw.dtype;
  if (raw.layout == Layout::nested) {
    if (!wraps) {
      const auto& nested = static_cast<const at::native::NestedTensorImpl&>(tensor);
      d.nested = {nested.get_nested_sizes().unsafeGetTensorImpl()->sizes_default()[0], -1};
      d.view.dim = 2;
      d.view.sizes = d.nested.data();
    }
  } else if (!symbolic) {
    d.view.dim = int32_t(tensor.dim_default());
    d.view.sizes = tensor.sizes_default().data();
  }
  if (isFake(tensor) || symbolic || device == c10::DeviceType::Meta) {
    raw.skip = SkipReason::fake;
  } else if (wraps) {
    raw.skip = SkipReason::wrapper;
  } else if (device != c10::DeviceType::CPU) {
    raw.skip = SkipReason::device;
  } else if (raw.layout == Layout::mkldnn || raw.layout == Layout::other) {
    raw.skip = SkipReason::layout;
  }
  if (raw.layout == Layout::strided && !symbolic) {
    d.view.strides = tensor.strides_default().data();
    raw.hasStrides = true;
    raw.offset = tensor.storage_offset_default();
    if (raw.skip == SkipReason::none || raw.skip == SkipReason::device) {
      d.storage = storageOf(tensor);
    }
    if (raw.skip == SkipReason::none) {
      if (tensor._is_zerotensor()) {
        // Zeros that are nowhere in memory.
        static constexpr std::array<int64_t, 32> kNoStride{};
        static constexpr std::array<char, 16> kZeros{};
        d.storage = nullptr;
        if (d.view.dim <= int32_t(kNoStride.size())) {
          d.view.data = kZeros.data();
          d.view.strides = kNoStride.data();
        } else {
          raw.skip = SkipReason::layout;
        }
      } else {
        d.view = viewOf(tensor);
        if (d.view.conjugate) raw.flags |= kConjugate;
        if (d.view.negative) raw.flags |= kNegative;
        if (!readable(d.view, d.storage, raw.offset, d.elements)) raw.skip = SkipReason::storage;
      }
    }
    if (d.storage != nullptr) d.geometry = geometryOf(d.view, raw.offset);
  }
  raw.dim = d.view.dim;
  if (raw.skip == SkipReason::none && !frame_.fingerprints) raw.skip = SkipReason::option;
  return d;
}

Fingerprint OperandCapture::compute(const Described& d) {
  if (d.raw.layout == Layout::strided) return fingerprint(d.view, session_.level);
  Fingerprint result;
  if (d.raw.layout == Layout::nested) {
    const auto& nested = static_cast<const at::native::NestedTensorImpl&>(*d.tensor);
    const c10::StorageImpl* storage = storageOf(nested);
    const at::Tensor& sizes = nested.get_nested_sizes();
    const int64_t count = storage == nullptr || info(d.raw.dtype).bytes == 0
                              ? 0
                              : int64_t(storage->nbytes()) / info(d.raw.dtype).bytes;
    const StridedView values{.data = count == 0 ? nullptr : storage->data(),
                             .dtype = d.raw.dtype,
                             .dim = 1,
                             .sizes = &count};
    result = fingerprint(values, session_.level);
    const std::array<Digest, 2> parts{
        fingerprint(viewOf(*sizes.unsafeGetTensorImpl()), Level::digest).digest, result.digest};
    const int64_t bytes = sizeof parts;
    result.digest = fingerprint(StridedView{.data = parts.data(),
                                            .dtype = DType::UInt8,
                                            .dim = 1,
                                            .sizes = &bytes},
                                Level::digest)
                        .digest;
    return result;
  }
  if (!combine(componentsOf(*d.tensor), session_.level, result)) {
    throw std::runtime_error("a component of a sparse tensor could not be read");
  }
  return result;
}

void OperandCapture::add(const Described& d, const Fingerprint* fingerprint) {
  RawOperand raw = d.raw;
  raw.hasFingerprint = fingerprint != nullptr;
  // A zero tensor is read with other strides than it has.
  const int64_t* strides = raw.hasStrides ? d.tensor->strides_default().data() : nullptr;
  frame_.operands.addOperand(raw, d.view.sizes, strides, fingerprint);
  ++frame_.op.operandCount;
  if (frame_.keepsValues && fingerprint != nullptr) keepValues(d, *fingerprint);
}

void OperandCapture::keepValues(const Described& d, const Fingerprint& content) {
  if (d.raw.layout != Layout::strided || d.view.data == nullptr) return;
  TensorValues values{.impl = const_cast<c10::TensorImpl*>(d.tensor),
                      .role = d.raw.role,
                      .arg = d.raw.arg,
                      .item = d.raw.item,
                      .view = d.view,
                      .digest = content.digest,
                      .bytes = d.elements * info(d.raw.dtype).bytes};
  // Values are found by their digest, so that it must be theirs and no copy of an earlier one.
  if (d.raw.skip == SkipReason::trusted) values.digest = fingerprint(d.view, Level::digest).digest;
  frame_.values.push_back(values);
}

bool OperandCapture::seen(const Described& d, Fingerprint& content) const {
  if (d.storage == nullptr) return false;
  for (const SeenOperand& seen : frame_.seen) {
    if (seen.storage == d.storage && seen.geometry == d.geometry && seen.fingerprinted) {
      content = seenContent(seen);
      return true;
    }
  }
  return false;
}

Fingerprint OperandCapture::seenContent(const SeenOperand& seen) const {
  Fingerprint content;
  std::memcpy(&content, frame_.operands.bytes().data() + seen.fingerprintAt, sizeof content);
  return content;
}

/// Whether statistics and sketch are worth keeping with the storage: whoever reads it again then
/// needs only the digest, which is cheaper, to know that they still hold. Trusting needs them, too.
bool OperandCapture::keeps(const Described& d) const {
  constexpr int64_t kWorthBytes = 2048;
  return session_.options.inputs == InputMode::tracked ||
         (session_.level != Level::digest &&
          d.elements * info(d.raw.dtype).bytes >= kWorthBytes);
}

void OperandCapture::note(const Described& d, const Fingerprint* fingerprint) {
  if (d.storage == nullptr) return;
  SeenOperand& seen = frame_.seen.emplace_back();
  seen.storage = d.storage;
  seen.geometry = d.geometry;
  seen.fingerprinted = fingerprint != nullptr;
  seen.elements = d.elements;
  seen.fromWriter = d.raw.closure == Closure::matched || d.raw.closure == Closure::source;
  // It was just added, and stands at the end.
  if (fingerprint != nullptr) seen.fingerprintAt = frame_.operands.size() - sizeof(Fingerprint);
}

void OperandCapture::read(const c10::TensorImpl& tensor, Role role, int16_t arg, int16_t item) {
  Described d = describe(tensor, role, arg, item);
  StorageTable& table = session_.storages();
  StorageTable::Known known;
  if (d.storage != nullptr) {
    known = table.look(d.storage, d.geometry);
    d.raw.storage = known.id;
    d.raw.writer = known.writer;
    if ((d.raw.flags & kParameter) != 0 && !known.parameter) table.holdsParameter(d.storage);
  }
  if (d.raw.skip == SkipReason::none && known.uninitialised) {
    if (sampleOf(*d.storage) == known.sample) {
      d.raw.skip = SkipReason::uninitialised;
    } else {
      table.filled(d.storage);
    }
  }
  if (d.raw.skip == SkipReason::none && session_.options.inputs == InputMode::off) {
    d.raw.skip = SkipReason::option;
  }
  if (d.raw.skip == SkipReason::none && session_.options.inputs == InputMode::tracked &&
      known.seen) {
    d.raw.skip = SkipReason::trusted;
    add(d, &known.content);
    note(d, &known.content);
    return;
  }
  if (d.raw.skip != SkipReason::none) {
    add(d, nullptr);
    note(d, nullptr);
    return;
  }
  Fingerprint content;
  if (!seen(d, content)) {
    if (known.whole) {
      content = fingerprint(d.view, Level::digest);
      if (content.digest == known.digest) {
        content = known.content;
      } else {
        content = compute(d);
      }
    } else {
      content = compute(d);
    }
  }
  if (d.storage != nullptr) {
    const bool equal = known.seen && known.digest == content.digest;
    if (!known.writer) {
      d.raw.closure = Closure::source;
    } else if (known.seen && known.fromWriter) {
      d.raw.closure = equal ? Closure::matched : Closure::broken;
    }
    if (!equal) table.saw(d.storage, d.geometry, content, false, keeps(d));
  }
  add(d, &content);
  note(d, &content);
}

void OperandCapture::skip(const c10::TensorImpl& tensor, Role role, int16_t arg, int16_t item,
                          SkipReason reason) {
  Described d = describe(tensor, role, arg, item);
  if (d.storage != nullptr) d.raw.storage = session_.storages().id(d.storage);
  if (d.raw.skip == SkipReason::none) d.raw.skip = reason;
  add(d, nullptr);
  note(d, nullptr);
}

void OperandCapture::wrote(const c10::TensorImpl& tensor, Role role, int16_t arg, int16_t item) {
  Described d = describe(tensor, role, arg, item);
  Fingerprint content;
  const bool hashed = d.raw.skip == SkipReason::none;
  if (hashed) content = compute(d);
  if (d.storage != nullptr) {
    const StorageTable::Written written = session_.storages().wrote(
        d.storage, frame_.op.id, d.geometry, hashed ? &content : nullptr, keeps(d));
    d.raw.storage = written.id;
    if (written.before != frame_.op.id) d.raw.writer = written.before;
  }
  add(d, hashed ? &content : nullptr);
}

void OperandCapture::viewed(const c10::TensorImpl& tensor, Role role, int16_t arg,
                            int16_t item) {
  Described d = describe(tensor, role, arg, item);
  StorageTable& table = session_.storages();
  StorageTable::Known known;
  if (d.storage != nullptr) {
    known = table.look(d.storage, d.geometry);
    d.raw.storage = known.id;
    d.raw.writer = known.writer;
    if (d.raw.skip == SkipReason::none && known.uninitialised) {
      d.raw.skip = SkipReason::uninitialised;
    }
  }
  if (d.raw.skip != SkipReason::none) {
    add(d, nullptr);
    return;
  }
  Fingerprint content;
  if (!seen(d, content)) {
    // What it is a view of, as read in this op.
    const SeenOperand* base = nullptr;
    for (const SeenOperand& each : frame_.seen) {
      if (each.storage == d.storage && each.fingerprinted) base = &each;
    }
    ViewContent whole;
    if (base != nullptr && frame_.viewsInside) {
      whole = {base->geometry, seenContent(*base).digest};
    }
    if (known.whole && whole.geometry != 0 && known.base.geometry == whole.geometry &&
        known.base.digest == whole.digest) {
      content = known.content;  // the same part of the same content
    } else {
      // A compiled graph gives back what its kernels wrote.
      bool same = known.whole;
      if (same) same = fingerprint(d.view, Level::digest).digest == known.digest;
      content = same ? known.content : compute(d);
      if (same) {
        if (whole.geometry != 0) table.determine(d.storage, d.geometry, whole);
      } else if (d.storage != nullptr) {
        table.saw(d.storage, d.geometry, content, base != nullptr && base->fromWriter, keeps(d),
                  whole);
        // Where the view has all elements of its base, each determines the other.
        if (whole.geometry != 0 && base->elements == d.elements &&
            tensor.is_non_overlapping_and_dense_default()) {
          table.determine(d.storage, base->geometry, {d.geometry, content.digest});
        }
      }
    }
  }
  add(d, &content);
}

void OperandCapture::madeEmpty(const c10::TensorImpl& tensor, Role role, int16_t arg,
                               int16_t item) {
  Described d = describe(tensor, role, arg, item);
  if (d.storage != nullptr) {
    const uint64_t sample =
        d.raw.skip == SkipReason::none ? sampleOf(*d.storage) : uint64_t(0);
    d.raw.storage = session_.storages().madeEmpty(d.storage, sample);
  }
  if (d.raw.skip == SkipReason::none) d.raw.skip = SkipReason::uninitialised;
  add(d, nullptr);
}

void OperandCapture::pending(const c10::TensorImpl& tensor, Role role, int16_t arg,
                             int16_t item) {
  Described d = describe(tensor, role, arg, item);
  if (d.storage != nullptr) {
    const StorageTable::Written written =
        session_.storages().wrote(d.storage, frame_.op.id, d.geometry, nullptr, false);
    d.raw.storage = written.id;
    if (written.before != frame_.op.id) d.raw.writer = written.before;
  }
  if (d.raw.skip == SkipReason::none) d.raw.skip = SkipReason::pending;
  add(d, nullptr);
}

void OperandCapture::scratch(const c10::TensorImpl& tensor, int16_t arg, int16_t item) {
  Described d = describe(tensor, Role::after, arg, item);
  d.raw.flags |= kScratch;
  if (d.storage != nullptr) {
    const StorageTable::Written written =
        session_.storages().wrote(d.storage, frame_.op.id, d.geometry, nullptr, false);
    d.raw.storage = written.id;
    if (written.before != frame_.op.id) d.raw.writer = written.before;
  }
  if (d.raw.skip == SkipReason::none) d.raw.skip = SkipReason::uninitialised;
  add(d, nullptr);
}

void OperandCapture::result(const c10::TensorImpl& tensor, int16_t arg, int16_t item,
                            bool enclosing) {
  const c10::StorageImpl* storage = storageOf(tensor);
  bool known = false;
  if (storage != nullptr) {
    for (const SeenOperand& seen : frame_.seen) known = known || seen.storage == storage;
    if (enclosing && !known) {
      known = session_.storages().look(storage, 0).writer > frame_.op.id;
    }
  }
  if (known) {
    viewed(tensor, Role::output, arg, item);
  } else {
    wrote(tensor, Role::output, arg, item);
  }
}

}  // namespace ulpscope
