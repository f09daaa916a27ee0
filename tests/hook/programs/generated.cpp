// A library that is built as generated code is: kernels that could be replaced, called one after the
// other. In a second form its calls are bound inside (-Bsymbolic).

extern "C" void cpp_fused_add_0(float* in_out_ptr0) { *in_out_ptr0 += 1; }
extern "C" void cpp_fused_mul_1(float* in_out_ptr0) { *in_out_ptr0 *= 2; }

extern "C" void run(float* x) {
  cpp_fused_add_0(x);
  cpp_fused_add_0(x);
  cpp_fused_mul_1(x);
  cpp_fused_add_0(x);
  *x += 1;
}
