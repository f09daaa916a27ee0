/* Two halves of standing between a caller and a function of which only the address is known (System V
 * x86-64). Both keep a frame that unwinders understand, for a kernel may throw. See call_entry.h. */

        .text

/* Where a tapped slot leads, by way of a stub that puts its Tap in r11: saves the argument registers,
 * lets ulpscope_tapped_call do the work, and gives back what that says the function returned. */
        .globl  ulpscope_call_entry
        .hidden ulpscope_call_entry
        .type   ulpscope_call_entry, @function
        .p2align 4
ulpscope_call_entry:
        .cfi_startproc
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        subq    $224, %rsp              /* CallRegisters */
        movq    %rdi, (%rsp)
        movq    %rsi, 8(%rsp)
        movq    %rdx, 16(%rsp)
        movq    %rcx, 24(%rsp)
        movq    %r8, 32(%rsp)
        movq    %r9, 40(%rsp)
        movaps  %xmm0, 48(%rsp)
        movaps  %xmm1, 64(%rsp)
        movaps  %xmm2, 80(%rsp)
        movaps  %xmm3, 96(%rsp)
        movaps  %xmm4, 112(%rsp)
        movaps  %xmm5, 128(%rsp)
        movaps  %xmm6, 144(%rsp)
        movaps  %xmm7, 160(%rsp)
        movq    %r11, %rdi
        movq    %rsp, %rsi
        leaq    16(%rbp), %rdx          /* arguments on the caller's stack */
        movq    8(%rbp), %rcx           /* where the caller goes on */
        call    ulpscope_tapped_call
        movq    176(%rsp), %rax
        movq    184(%rsp), %rdx
        movaps  192(%rsp), %xmm0
        movaps  208(%rsp), %xmm1
        leave
        .cfi_def_cfa %rsp, 8
        ret
        .cfi_endproc
        .size   ulpscope_call_entry, .-ulpscope_call_entry

/* void ulpscope_call_forward(void* function, CallRegisters*, const uint64_t* stack, size_t words):
 * calls `function` with the saved arguments and `words` words of stack; keeps what it returns. */
        .globl  ulpscope_call_forward
        .hidden ulpscope_call_forward
        .type   ulpscope_call_forward, @function
        .p2align 4
ulpscope_call_forward:
        .cfi_startproc
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        pushq   %rbx
        .cfi_offset %rbx, -24
        subq    $8, %rsp
        movq    %rdi, %r11
        movq    %rsi, %rbx
        leaq    15(,%rcx,8), %rax
        andq    $-16, %rax
        subq    %rax, %rsp
        movq    %rdx, %rsi
        movq    %rsp, %rdi
        rep movsq
        movq    (%rbx), %rdi
        movq    8(%rbx), %rsi
        movq    16(%rbx), %rdx
        movq    24(%rbx), %rcx
        movq    32(%rbx), %r8
        movq    40(%rbx), %r9
        movaps  48(%rbx), %xmm0
        movaps  64(%rbx), %xmm1
        movaps  80(%rbx), %xmm2
        movaps  96(%rbx), %xmm3
        movaps  112(%rbx), %xmm4
        movaps  128(%rbx), %xmm5
        movaps  144(%rbx), %xmm6
        movaps  160(%rbx), %xmm7
        movl    $8, %eax                /* vector registers in use, for functions of any arity */
        call    *%r11
        movq    %rax, 176(%rbx)
        movq    %rdx, 184(%rbx)
        movaps  %xmm0, 192(%rbx)
        movaps  %xmm1, 208(%rbx)
        movq    -8(%rbp), %rbx
        leave
        .cfi_def_cfa %rsp, 8
        ret
        .cfi_endproc
        .size   ulpscope_call_forward, .-ulpscope_call_forward

/* In place of dlsym. What is asked for may be given in its place; all else goes to the real one by a
 * jump, for the caller's return address is how it knows what RTLD_NEXT means. */
        .globl  ulpscope_dlsym_entry
        .hidden ulpscope_dlsym_entry
        .type   ulpscope_dlsym_entry, @function
        .p2align 4
ulpscope_dlsym_entry:
        .cfi_startproc
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        pushq   %rdi
        pushq   %rsi
        call    ulpscope_symbol_asked
        popq    %rsi
        popq    %rdi
        popq    %rbp
        .cfi_def_cfa %rsp, 8
        testq   %rax, %rax
        jnz     1f
        jmp     *ulpscope_real_dlsym(%rip)
1:      ret
        .cfi_endproc
        .size   ulpscope_dlsym_entry, .-ulpscope_dlsym_entry

        .section .note.GNU-stack,"",@progbits
