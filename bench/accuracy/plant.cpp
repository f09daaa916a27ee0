// Changes what one chosen op wrote, from Python through ctypes: the accuracy bench's hand inside a
// run. Everything after the op is computed from the changed values.

#include <ATen/MemoryOverlap.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/copy.h>
#include <vector>

#include "dispatch_hook/instrument.h"

namespace {

// Called for each float32 tensor that the op wrote or returned. `count` is in elements.
using Change = void (*)(float* data, int64_t count);

struct Plant {
  int64_t op;
  Change change;
};
std::vector<Plant> plants;  // one thread at a time

void afterOp(ulpscope::OpId id, std::span<const at::Tensor> results) {
  for (const Plant& plant : plants) {
    if (plant.op != id.value) continue;
    for (const at::Tensor& tensor : results) {
      if (tensor.scalar_type() != at::kFloat || !tensor.device().is_cpu() ||
          tensor.layout() != at::kStrided || tensor.numel() == 0) {
        continue;
      }
      if (tensor.is_non_overlapping_and_dense()) {
        plant.change(static_cast<float*>(tensor.unsafeGetTensorImpl()->mutable_data()),
                     tensor.numel());
      } else if (at::has_internal_overlap(tensor) != at::MemOverlap::Yes) {
        // A part of a larger tensor. The write must not count as one: autograd would refuse to use
        // what it saved.
        const at::NoGradGuard noGrad;
        const at::Tensor copy = tensor.detach().contiguous();
        plant.change(copy.mutable_data_ptr<float>(), copy.numel());
        tensor.variable_data().copy_(copy);
      }
    }
  }
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void ulpscope_plant(int64_t op, Change change) {
  plants.push_back({op, change});
  ulpscope::instrument::setAfterOp(afterOp);
}

extern "C" __attribute__((visibility("default"))) void ulpscope_plant_none() {
  ulpscope::instrument::setAfterOp(nullptr);
  plants.clear();
}

extern "C" __attribute__((visibility("default"))) int64_t ulpscope_last_op() {
  return ulpscope::instrument::lastOp().value;
}
