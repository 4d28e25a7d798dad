"""Kernel names, compared ever more loosely."""

from __future__ import annotations

import pytest

from cuvein.findings.names import bare, plain, without_noise, without_parameters


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("void k<float>(float *, int)", "k<float>(float*,int)"),
        ("k(float const*)", "k(floatconst*)"),
        ("voidless(int)", "voidless(int)"),
    ],
)
def test_plain_has_neither_return_type_nor_spaces(name, expected):
    assert plain(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("void n::k<float, 4>(float *, int)", "n::k<float,4>"),
        ("k", "k"),
        ("(anonymous namespace)::k(int)", "k"),
        ("void f<void (*)(int)>(int)", "f<void(*)(int)>"),
        ("functor::operator()(int) const", "functor::operator()"),
        ("A::operator<<(int)", "A::operator<<"),
    ],
)
def test_without_parameters(name, expected):
    assert without_parameters(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("void n::k<float, c<int> >(float *)", "n::k"),
        ("a<b>::k<c>(d<e>)", "a::k"),
        ("functor<int>::operator()(int) const", "functor::operator()"),
        ("f<(x)1>::operator<(int)", "f::operator<"),
        ("softmax_kernel", "softmax_kernel"),
    ],
)
def test_bare(name, expected):
    assert bare(name) == expected


def test_without_noise_drops_numbers():
    assert without_noise("triton_poi_fused_add_12(float*)") == without_noise("triton_poi_fused_add_7(float*)")
    assert without_noise("add_kernel") != without_noise("mul_kernel")
