"""Protects the tables, figures and fuzzers of torch.utils.benchmark, and what collect_env tells. Texts are PyTorch 2.13's."""
import pytest
import torchshim as torch
from torchshim.utils import benchmark as B
from torchshim.utils import collect_env
from torchshim.utils.file_baton import FileBaton


def measured(times, **names):
    return B.Measurement(10, times, B.TaskSpec("x + y", "pass", **names))


def test_measurements():
    m = measured([1e-3, 1.1e-3, 1.05e-3, 1.2e-3, 1.9e-3], label="L", sub_label="s")
    assert (m.significant_figures, m.has_warnings, m.meets_confidence(0.2), m.env, m.as_row_name,
            m.title) == (1, True, True, None, "s", "L: s")
    assert repr(m).splitlines()[1:] == ["L: s", "  Median: 110.00 us", "  IQR:    15.00 us (105.00 to 120.00)",
                                        "  5 measurements, 10 runs per measurement, 1 thread",
                                        "  WARNING: Interquartile range is 13.6% of the median measurement.",
                                        "           This could indicate system fluctuation."]
    assert B.select_unit(1e-6) == ("us", 1e-6) and B.trim_sigfig(123.456, 2) == 120.0 and B.unit_to_english("us") == "microsecond"


def test_tables():
    table = B.Compare([measured([1e-3], label="L", sub_label="s", description="d1"),
                       measured([2e-3], label="L", sub_label="s", description="d2")])
    table.trim_significant_figures()
    assert str(table).splitlines() == ["[---------- L ----------]", "         |    d1   |   d2", "1 threads: --------------",
                                       "      s  |  100.0  |  200", "", "Times are in microseconds (us)."]
    table.colorize(rowwise=True)
    assert "\033[92m" in str(table) and "\033[91m" in str(table)
    with pytest.raises(ValueError, match="Expected an instance of `Measurement`"):
        B.Compare([1])


def test_fuzzers_draw_the_same_for_a_seed():
    p, q = B.FuzzedParameter("p", 1, 100, "loguniform"), B.FuzzedParameter("q", 0, 5, "uniform")
    draw = lambda: B.Fuzzer([p, q], [B.FuzzedTensor("x", ("p", "q"), min_elements=1, max_elements=200)], seed=3)
    first, again = [[(params, t["x"].tolist()) for t, _, params in f.take(3)] for f in (draw(), draw())]
    assert first == again and all([1 <= params["p"] * params["q"] <= 200 for params, _ in first])
    from torchshim.utils.benchmark.op_fuzzers.unary import UnaryOpFuzzer
    (tensors, properties, _), = UnaryOpFuzzer(seed=1).take(1)
    assert 4096 <= properties["x"]["numel"] == tensors["x"].numel()
    with pytest.raises(AssertionError, match="Unknown distribution"):
        B.FuzzedParameter("z", distribution="odd")


def test_the_environment(tmp_path):
    said = {"gcc --version": (0, "gcc (X) 1.2\nmore", ""), "bad": (1, "", "no")}
    assert collect_env.get_gcc_version(said.get) == "(X) 1.2" and collect_env.run_and_read_all(said.get, "bad") is None
    assert collect_env.run("echo a") == (0, "a", "")
    baton, other = FileBaton(str(tmp_path / "lock")), FileBaton(str(tmp_path / "lock"))
    assert baton.try_acquire() and not other.try_acquire()
    baton.release()
    other.wait()
    assert other.try_acquire() and isinstance(torch.utils.cmake_prefix_path, str)
    other.release()
