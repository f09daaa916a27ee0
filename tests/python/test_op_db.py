"""The ops recorded are DebugMode's list on torch's op_db, but for what is listed here.

DebugMode is a Python dispatch mode, and torch's own code takes other paths under one. So the list is
asked for three times: recorded alone, recorded while DebugMode is on, and DebugMode's own. Where the
first differs from the third, the second shows which program DebugMode made of it.
"""

import json
import pathlib
import subprocess
import sys

import conftest
import pytest

# Why a list differs. The first kinds are DebugMode's doing: the second list has the difference too.

#: Composite and derivative code writes in place, or into zeros that it made, unless a Python mode or
#: a tensor subclass is about; then it makes new tensors (at::isTensorSubclassLike).
IN_PLACE = "in place"
#: reshape is a view under a mode, where it is _reshape_alias else.
RESHAPE = "reshape"
#: A composite op writes into a tensor that it made, by an out variant, which a mode does not allow.
OUT = "out variant"
#: Checks that read values are left out under a mode.
CHECKS = "checks"
#: Derivatives have another formula under a mode, one that reads no values or writes into no views.
FORMULA = "formula"
#: torch.tensor() ends with a detach_ from which it hides the modes.
HIDDEN = "hidden"
#: The op's own autograd or conjugate kernel calls another op: a clone of what is overwritten, of a
#: lazily conjugated input; a detach of a saved output. Such kernels come before the modes, so that
#: DebugMode logs that op beside the one it belongs to. The recorder, which sees the op begin, takes
#: it as part of it.
INSIDE = "inside"

FORWARD = {
    "fft.hfft": [INSIDE],
    "fft.hfft2": [INSIDE],
    "fft.hfftn": [INSIDE],
    "linalg.eigvals": [FORMULA],
    "linalg.matrix_rank": [OUT],
    "linalg.matrix_rank.hermitian": [OUT],
    "linalg.tensorinv": [RESHAPE],
    "masked.cumprod": [HIDDEN],
    "masked.cumsum": [HIDDEN],
    "nanquantile": [CHECKS],
    "nn.functional.scaled_dot_product_attention": [IN_PLACE, RESHAPE],
    "quantile": [CHECKS],
}

BACKWARD = {
    **dict.fromkeys(
        """
        __getitem__ aminmax atan2 clamp combinations corrcoef cov cummax cummin cumulative_trapezoid
        dsplit gather gradient hsplit index_select kthvalue linalg.cond masked.median
        masked.normalize masked.std masked.var masked_select max.reduction_with_dim
        min.reduction_with_dim mode msort nn.functional.binary_cross_entropy
        nn.functional.binary_cross_entropy_with_logits nn.functional.cosine_similarity
        nn.functional.gaussian_nll_loss nn.functional.kl_div nn.functional.local_response_norm
        nn.functional.multilabel_soft_margin_loss nn.functional.normalize
        nn.functional.pad.circular nn.functional.poisson_nll_loss nn.functional.rms_norm
        nn.functional.softsign nn.functional.triplet_margin_loss
        nn.functional.triplet_margin_with_distance_loss pca_lowrank sort svd_lowrank take
        take_along_dim tensor_split topk trace trapezoid trapz vsplit
        """.split(),
        [IN_PLACE],
    ),
    **dict.fromkeys(
        """
        cumprod linalg.eigh linalg.householder_product masked.cumprod matrix_exp
        max.reduction_no_dim median min.reduction_no_dim nanmedian ormqr prod
        """.split(),
        [FORMULA],
    ),
    "fft.hfft": [INSIDE],
    "fft.hfft2": [INSIDE],
    "fft.hfftn": [INSIDE],
    "linalg.matrix_rank": [OUT],
    "linalg.matrix_rank.hermitian": [OUT],
    "linalg.tensorinv": [RESHAPE],
    "masked.cumsum": [HIDDEN],
    "nanquantile": [CHECKS, IN_PLACE],
    "nn.functional.cosine_embedding_loss": [IN_PLACE, INSIDE],
    "nn.functional.hinge_embedding_loss": [IN_PLACE, INSIDE],
    "nn.functional.linear_cross_entropy.chunked": [INSIDE],
    "nn.functional.linear_cross_entropy.chunked_none": [INSIDE],
    "nn.functional.margin_ranking_loss": [INSIDE],
    "nn.functional.multi_head_attention_forward": [RESHAPE],
    "nn.functional.scaled_dot_product_attention": [IN_PLACE, RESHAPE],
    "quantile": [CHECKS, IN_PLACE],
}


def without(ops, *names):
    return [op for op in ops if op not in names]


def renamed(ops, old, new):
    return [new if op == old else op for op in ops]


def out_of_place(ops):
    others = {"aten::_index_put_impl": "aten::index_put", "aten::zeros": "aten::new_zeros"}
    result = []
    for op in ops:
        name, dot, overload = op.partition(".")
        name = name.rstrip("_")
        result.append(others.get(name, name) + dot + overload)
    return result


def without_checks(ops):
    checks = ["ge.Scalar", "le.Scalar", "logical_and_", "all", "new_ones", "equal"]
    checks = [f"aten::{name}" for name in checks]
    for i in range(len(ops)):
        if ops[i : i + len(checks)] == checks:
            return ops[:i] + ops[i + len(checks) :]
    return ops


#: What makes two lists equal that differ for this reason alone.
LEVELLED = {
    IN_PLACE: out_of_place,
    RESHAPE: lambda ops: renamed(ops, "aten::_reshape_alias", "aten::view"),
    OUT: lambda ops: renamed(ops, "aten::sum.IntList_out", "aten::sum.dim_IntList"),
    CHECKS: without_checks,
    HIDDEN: lambda ops: without(ops, "aten::detach_"),
    INSIDE: lambda ops: without(ops, "aten::clone", "aten::detach"),
}


@pytest.fixture(scope="module", params=["forward", "backward"])
def lists(request):
    program = pathlib.Path(__file__).with_name("op_db_lists.py")
    done = subprocess.run(
        [sys.executable, program, request.param],
        env=conftest.environment(None, PYTHONPATH=str(conftest.PACKAGE.parent)),
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert done.returncode == 0, done.stderr
    exceptions = FORWARD if request.param == "forward" else BACKWARD
    return json.loads(done.stdout), exceptions


def test_recorded_ops_are_those_of_debug_mode(lists):
    seen, exceptions = lists
    assert len(seen) > 660
    differing = {name for name, (alone, _, logged) in seen.items() if alone != logged}
    assert differing == set(exceptions)


def test_each_exception_has_the_reason_that_is_given(lists):
    seen, exceptions = lists
    for name, kinds in exceptions.items():
        alone, together, logged = seen[name]
        if kinds == [FORMULA]:
            # DebugMode changed the program: recorded under it, the list is DebugMode's. (It makes
            # a saved output's detach beside its own log, so that detach is not counted.)
            assert without(together, "aten::detach", "aten::detach_") == without(
                logged, "aten::detach", "aten::detach_"
            ), name
            continue
        for kind in kinds:
            alone, logged = LEVELLED[kind](alone), LEVELLED[kind](logged)
        assert alone == logged, name
