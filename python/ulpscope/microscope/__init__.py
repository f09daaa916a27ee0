"""Opens a compiled kernel: which op inside it departs from eager, on the inputs that a trace kept.

Runs after the program, in a process of its own (`python -m ulpscope.microscope`): the program's
values, random numbers and caches are never touched. `open_kernel.open_kernel` is the entry point.
"""
