"""Module names of provenance are those of eager module regions."""

import pytest

from ulpscope.inductor.fx_nodes import clean_module


@pytest.mark.parametrize(
    "path, name",
    [
        ("L['self']", ""),
        ("L['self'].transformer.h.0.ln_1", "transformer.h.0.ln_1"),
        ("L['self']._modules['h']._modules['0'].lin", "h.0.lin"),
        ("L['self'].layers[3].mlp", "layers.3.mlp"),
        ("G['model'].encoder", "encoder"),
        ("L['fn'].__closure__[0].cell_contents.head", "head"),
        ("L['models'][1].head", "head"),
        ("L['self']._orig_mod.head", "head"),
        ("", ""),
    ],
)
def test_names(path, name):
    assert clean_module(path) == name
