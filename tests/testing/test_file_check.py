"""Protects FileCheck: which texts pass which checks, as in torch 2.13."""
import pytest

from torchshim.testing import FileCheck

TEXT = "a = foo(b)\nc = bar(d)\nfoo\n"


@pytest.mark.parametrize("check", [
    lambda f: f.check("foo").check("bar"), lambda f: f.check_not("baz").check("foo"), lambda f: f.check_count("foo", 2),
    lambda f: f.check_next("bar"), lambda f: f.check("foo").check_next("bar"), lambda f: f.check("foo").check_same("(b)"),
    lambda f: f.check_dag("bar").check_dag("a ="), lambda f: f.check_regex("f.o")])
def test_passes(check):
    check(FileCheck()).run(TEXT)


@pytest.mark.parametrize("check", [
    lambda f: f.check("bar").check("(b)"), lambda f: f.check_not("foo").check("bar"), lambda f: f.check_count("foo", 1, exactly=True),
    lambda f: f.check_count("foo", 3), lambda f: f.check("foo").check_same("bar"), lambda f: f.check_regex("f.z"), lambda f: f,
    lambda f: f.check("foo").check_next("foo"), lambda f: f.check("c").check_not("foo"), lambda f: f.check_dag("bar").check_dag("zip")])
def test_refuses(check):
    with pytest.raises(RuntimeError):
        check(FileCheck()).run(TEXT)


def test_checks_of_a_text():
    FileCheck().run("# CHECK: foo\n# CHECK-NEXT: bar\n", TEXT)
