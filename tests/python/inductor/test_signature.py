"""Roles of kernel parameters, from generated C++ signatures."""

from ulpscope.inductor import signature
from ulpscope.inductor.signature import READ, READ_WRITE, SCALAR, WRITE


def roles(source, argtypes=None):
    return [(p.name, p.access) for p in signature.parse(source, argtypes)]


FUSED = """
#include <torch/csrc/inductor/cpp_prefix.h>
inline void helper(float* x) {}
extern "C"  void  kernel(float* in_out_ptr0,
                       const int64_t* in_ptr0,
                       const float* in_ptr1,
                       bfloat16* out_ptr0,
                       const int64_t ks0,
                       const float zuf0)
{
    kernel_body(1, 2);
}
"""


def test_pointers_and_scalars():
    assert roles(FUSED) == [
        ("in_out_ptr0", READ_WRITE),
        ("in_ptr0", READ),
        ("in_ptr1", READ),
        ("out_ptr0", WRITE),
        ("ks0", SCALAR),
        ("zuf0", SCALAR),
    ]


def test_template_kernel_names():
    source = 'extern "C" void kernel(const float* X, const float* W, float* Y, const int64_t k)\n{'
    assert roles(source) == [("X", READ), ("W", READ), ("Y", WRITE), ("k", SCALAR)]


def test_the_last_extern_function_counts():
    source = 'extern "C" void kernel(float* a) {}\nextern "C" void kernel(const float* b) {}'
    assert roles(source) == [("b", READ)]


def test_restrict_and_spacing():
    source = 'extern "C" void kernel( const float * __restrict__ a , float *b )'
    assert roles(source) == [("a", READ), ("b", WRITE)]


def test_without_a_signature_the_types_decide():
    assert roles("nothing", ["const float*", "float*", "int64_t"]) == [
        ("arg0", READ),
        ("arg1", READ_WRITE),
        ("arg2", SCALAR),
    ]


def test_a_signature_that_does_not_fit_the_types_is_not_believed():
    source = 'extern "C" void kernel(const float* a)'
    assert roles(source, ["const float*", "float*"]) == [("arg0", READ), ("arg1", READ_WRITE)]


def test_no_parameters():
    assert roles('extern "C" void kernel()') == []
