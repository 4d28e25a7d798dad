"""Names for people."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuvein.source import demangle, names, short


@pytest.mark.parametrize(
    ("mangled", "demangled"),
    [
        ("_Z7combineIfEvPT_PKS0_i", "void combine<float>(float*, float const*, int)"),
        ("$caller$_Z6lookupPKfi", "lookup(float const*, int)"),
        ("_ZN12_GLOBAL__N_16kernelEv", "(anonymous namespace)::kernel()"),
        ("rows", "rows"),
        ("_Zbad", "_Zbad"),
        ("", ""),
    ],
)
def test_demangled(mangled: str, demangled: str) -> None:
    assert demangle(mangled) == demangled


def test_without_a_cxx_runtime_the_name_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(_: object) -> None:
        raise OSError

    monkeypatch.setattr(names.ctypes, "CDLL", absent)
    names._demangler.cache_clear()
    demangle.cache_clear()
    try:
        assert demangle("_Z5resetPf") == "_Z5resetPf"
    finally:
        names._demangler.cache_clear()
        demangle.cache_clear()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("void combine<float>(float*, float const*, int)", "combine<float>"),
        ("(anonymous namespace)::kernel()", "kernel"),
        ("void (anonymous namespace)::kernel<int>(int)", "kernel<int>"),
        ("void a::(anonymous namespace)::kernel(int)", "a::kernel"),
        ("rows", "rows"),
        ("A::operator()(int) const", "A::operator()"),
        ("A::operator float() const", "A::operator float"),
        ("operator<<(S&, int)", "operator<<"),
        ("bool operator< <int>(A<int>, B)", "operator< <int>"),
        ("main::{lambda(int)#1}::operator()(int) const", "main::{lambda(int)#1}::operator()"),
        ("std::enable_if<(a<b), int>::type ns::f<int>(int)", "ns::f<int>"),
        ("decltype (a(b)) f<int>(int)", "f<int>"),
        ("void foo<(4>3)>(void (*)(int))", "foo<(4>3)>"),
        ("f(int)::local::run()", "f(int)::local::run"),
        ("void __global__kernel(int) [clone .cold]", "__global__kernel"),
    ],
)
def test_short_drops_return_type_and_parameters(name: str, expected: str) -> None:
    assert short(name) == expected


def test_short_folds_templates_only_as_far_as_it_must() -> None:
    name = "void lib::apply<4, lib::Fill<float, lib::Policy<128, 8> >, 1ul>(int, char*)"
    assert short(name, 80) == "lib::apply<4, lib::Fill<float, lib::Policy<128, 8> >, 1ul>"
    assert short(name, 54) == "lib::apply<4, lib::Fill<float, lib::Policy<…> >, 1ul>"
    assert short(name, 35) == "lib::apply<4, lib::Fill<…>, 1ul>"
    assert short(name, 30) == "lib::apply<…>"


@given(st.text(alphabet="ab<>(){}[]: ,*&~-=operator", max_size=60))
def test_short_takes_anything(name: str) -> None:
    assert len(short(name, 10)) <= len(name) + 10
