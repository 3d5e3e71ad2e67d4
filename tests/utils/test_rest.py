"""The small parts of torch.utils, torch.hub, torch.library, torch.overrides and the rare names of `torch.` itself."""
import pytest

import torchshim as torch


def test_hub_reads_local_folders(tmp_path, monkeypatch):
    (tmp_path / "hubconf.py").write_text("dependencies = ['math']\ndef model(n=2):\n    'A model.'\n    return [0] * n\n_hidden = 1\n")
    assert torch.hub.list(str(tmp_path)) == ["model"] and torch.hub.help(str(tmp_path), "model") == "A model."
    assert torch.hub.load(str(tmp_path), "model", n=3, source="local") == [0, 0, 0]
    with pytest.raises(RuntimeError, match="Cannot find callable other in hubconf"):
        torch.hub.load(str(tmp_path), "other", source="local")
    with pytest.raises(NotImplementedError, match="source='github'"):
        torch.hub.load("pytorch/vision", "resnet18")
    torch.save({"w": torch.ones(2)}, tmp_path / "weights.pth")
    monkeypatch.setattr(torch.hub, "_hub_dir", str(tmp_path / "hub"))
    state = torch.hub.load_state_dict_from_url((tmp_path / "weights.pth").as_uri())
    assert state["w"].tolist() == [1, 1] and (tmp_path / "hub" / "checkpoints" / "weights.pth").exists()


def test_custom_operators():
    @torch.library.custom_op("tests_own::double", mutates_args=())
    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @double.register_fake
    def _(x):
        return torch.empty_like(x)

    double.register_autograd(lambda ctx, g: g * ctx.factor, setup_context=lambda ctx, inputs, output: setattr(ctx, "factor", 5))
    x = torch.ones(2, requires_grad=True)
    y = torch.ops.tests_own.double(x)
    y.sum().backward()
    assert y.tolist() == [2, 2] and x.grad.tolist() == [5, 5]
    lib = torch.library.Library("tests_own", "FRAGMENT")
    lib.define("triple(Tensor x) -> Tensor")
    lib.impl("triple", lambda x: x * 3, "CPU")
    assert torch.ops.tests_own.triple(torch.ones(1)).item() == 3


def test_rare_names():
    assert torch.typename(torch.ones(1)) == "torch.FloatTensor" and torch.typename(3) == "int"
    with pytest.raises(RuntimeError, match="^abc$"):
        torch._check(False, lambda: "abc")
    torch.set_num_threads(3)
    assert torch.get_num_threads() == 3
    with pytest.raises(RuntimeError, match="set_num_threads expects a positive integer"):
        torch.set_num_threads(0)
    a, b = torch.ones(2), torch.zeros(1, 2)
    torch._foreach_add_([a, b], [1, 2])
    assert a.tolist() == [2, 2] and b.tolist() == [[2, 2]] and torch._foreach_mul([a], 2)[0].tolist() == [4, 4]
    flat = torch._utils._flatten_dense_tensors([a, b])
    assert [t.shape for t in torch._utils._unflatten_dense_tensors(flat, [a, b])] == [a.shape, b.shape]
    assert torch._C._nn._parse_to("cpu", torch.float64) == (torch.device("cpu"), torch.float64, False, None)
    for call in (lambda: torch.package.PackageExporter("x"),
                 lambda: torch.utils.cpp_extension.load("x", [])):
        with pytest.raises(NotImplementedError, match="^torchshim: "):
            call()


def test_benchmark():
    from torchshim.utils.benchmark import Compare, Language, Timer
    m = Timer("x + 1", globals={"x": torch.ones(2)}, label="add", description="ours").timeit(3)
    assert m.number_per_run == 3 and len(m.times) == 1 and "add" in repr(m)
    assert "add" in str(Compare([m])) and "ours" in str(Compare([m]))
    assert len(Timer("pass", language=Language.PYTHON).timeit(1).times) == 1
    with pytest.raises(NotImplementedError):
        Timer("int x = 1;", language=Language.CPP)


#: What torch 2.13 with tensorboard 2.21 writes after its first record for the three calls below.
EVENTS = (
          "1a00000000000000129bd82d09000000000000144010072a0d0a0b0a046c6f7373150000003f1fda98735c00000000000000c9cdf98f090000000000001440100"
          "22a4f0a4d0a01682a4811000000000000f03f1900000000000000402100000000000008402900000000000010403210000000000000f03f00000000000000403a"
          "100000000000000840000000000000104000c104ea3700000000000000e7e8ca5909000000000000144010032a2a0a280a0e742f746578745f73756d6d6172794"
          "20c0807120412020801420268694a080a060a0474657874df04273f")


def test_event_files_of_tensorboard(tmp_path):
    import struct
    from torchshim.utils.tensorboard import SummaryWriter
    with SummaryWriter(tmp_path) as w:
        w.add_scalar("loss", torch.tensor(0.5), 7, walltime=5.0)
        w.add_histogram_raw("h", 0, 1, 2, 3.0, 4.0, [1.0, 2.0], [3, 4], 2, walltime=5.0)
        w.add_text("t", "hi", 3, walltime=5.0)
    (file,) = tmp_path.iterdir()
    written = file.read_bytes()
    assert written[struct.unpack("<Q", written[:8])[0] + 16:].hex() == EVENTS


def test_pictures_are_png_files():
    import struct
    import zlib
    import numpy as np
    from torchshim.utils.tensorboard.events import png
    pixels = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    file = png(pixels)
    assert file[:8] == b"\x89PNG\r\n\x1a\n" and struct.unpack(">IIBB", file[16:26]) == (4, 2, 8, 2)
    length, = struct.unpack(">I", file[33:37])
    assert zlib.decompress(file[41:41 + length]) == b"\0" + pixels[0].tobytes() + b"\0" + pixels[1].tobytes()


def test_names_that_libraries_test_for():
    assert not isinstance(torch.ones(1), torch._subclasses.fake_tensor.FakeTensor)
    shapes = torch.fx.experimental.symbolic_shapes
    assert shapes.guard_or_false(1 == 1) and shapes.free_symbols(3) == set()


def test_names_that_programs_touch():
    assert torch.legacy_contiguous_format is torch.contiguous_format
    assert torch._functorch.config.activation_memory_budget == 1.0
    with torch._functorch.config.patch(activation_memory_budget=0.5):
        assert torch._functorch.config.activation_memory_budget == 0.5
    with pytest.raises(RuntimeError, match="Tried to instantiate class 'foo.Bar', but it does not exist!"):
        torch.classes.foo.Bar


def test_a_checkpoint_is_valid_where_all_leaves_are_reached():
    x, seen = torch.ones(2, requires_grad=True), []
    y = x * 2
    y.register_hook(lambda g: seen.append(torch.autograd._is_checkpoint_valid()))
    s = y.sum()
    s.backward(retain_graph=True)
    s.backward(inputs=[x], retain_graph=True)
    torch.autograd.grad(s, x)
    assert seen == [True, False, False] and torch.autograd._is_checkpoint_valid()


def test_a_library_without_its_compiled_part():
    # what torchvision touches when it is imported: it does without its extension where that cannot be loaded
    from torchshim._dynamo.utils import is_compile_supported
    from torchshim.jit.annotations import BroadcastingList2
    from torchshim.onnx import symbolic_opset11
    from torchshim.utils.model_zoo import tqdm
    for load in (torch.ops.load_library, torch.classes.load_library):
        with pytest.raises(OSError, match="Could not load this library: _C.so"):
            load("_C.so")
    keys, Set = torch._C.DispatchKey, torch._C.DispatchKeySet
    both = Set(keys.AutocastCPU) | Set(keys.AutocastCUDA)
    assert repr(both) == "DispatchKeySet(AutocastCPU, AutocastCUDA)" and (both - Set(keys.AutocastCPU)).has(keys.AutocastCUDA)
    assert is_compile_supported("cpu") and BroadcastingList2[int] is None and not hasattr(symbolic_opset11, "unsqueeze")
    with tqdm(total=2, disable=True) as bar:
        bar.update(1)
    x = torch.ones(2)
    assert torch.ao.quantization.DeQuantStub()(torch.ao.quantization.QuantStub()(x)) is x


def test_cond_runs_one_branch():
    x, seen = torch.full((2,), 0.5, requires_grad=True), []
    y = torch.cond(x.sum() > 0, torch.sin, lambda x: seen.append(1) or x.cos(), (x,))
    y.sum().backward()
    assert not seen and y.tolist() == torch.sin(x).tolist() and x.grad.tolist() == torch.cos(x).tolist()
    assert torch.cond(0, lambda: 1, lambda: 2) == 2
    for args, text in (((torch.ones(2), len, len), "single-element"), ((torch.ones(1), 1, 2), "branches to be callable"),
                       ((torch.ones(1), len, len, (3,)), r"tensor leaves, but got \(3,\)"), (("a", len, len), "bool or tensor, but got a")):
        with pytest.raises(RuntimeError, match=text):
            torch.cond(*args)


def test_names_for_annotations_and_tests():
    """What libraries take at their import: pyro, captum, monai, fvcore, lightning."""
    from torchshim.ao.quantization import FakeQuantizeBase, ObserverBase
    from torchshim.futures import Future
    from torchshim.serialization import MAP_LOCATION
    from torchshim.utils._pytree import PyTree
    from torchshim.utils.data._utils.collate import np_str_obj_array_pattern
    assert Future[int] and MAP_LOCATION and PyTree and torch.cuda.CUDAGraph | None and not torch.profiler.kineto_available()
    assert np_str_obj_array_pattern.search("<U3") and not np_str_obj_array_pattern.search("<f4")
    assert not isinstance(torch.nn.Linear(1, 1), (FakeQuantizeBase, ObserverBase, torch.ScriptModule))
    with pytest.raises(NotImplementedError, match="CUDA graphs"):
        torch.cuda.CUDAGraph()
    with pytest.raises(NotImplementedError, match="PyTorchFileReader"):
        torch.PyTorchFileReader("x")


def test_the_text_of_tensors():
    from torchshim._tensor_str import PRINT_OPTS, _str, _tensor_str
    x = torch.tensor([[1.5, 2.0], [3.0, -4.0]], requires_grad=True)
    assert _tensor_str(x, indent=0) == "[[ 1.5000,  2.0000],\n [ 3.0000, -4.0000]]" and _str(x) == repr(x) and PRINT_OPTS.threshold == 1000


def test_a_number_tells_tensors_apart():
    x = torch.ones(2)
    assert x._cdata == x._cdata != x.data._cdata


def test_graphs_curves_embeddings_and_videos_of_tensorboard(tmp_path, capsys):
    """Byte by byte as tensorboard's own messages, for what is no graph; the graph's nodes have their modules' folders."""
    from torchshim.utils.tensorboard import SummaryWriter

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())

        def forward(self, x):
            return torch.softmax(self.body(x), 1)
    net = Net()
    with SummaryWriter(tmp_path) as w:
        w.add_graph(net, torch.ones(1, 2))
        w.add_pr_curve("pr", torch.tensor([0, 1, 1]), torch.tensor([.1, .4, .35]), 3, num_thresholds=5)
        w.add_custom_scalars({"T": {"m": ["Margin", ["l", "a", "b"]]}})
        w.add_video("v", torch.rand(2, 3, 3, 4, 4), 1)
        w.add_embedding(torch.arange(4.).reshape(2, 2), metadata=["a", "b"], label_img=torch.rand(2, 3, 4, 4), global_step=2, tag="x y")
        with pytest.raises(AssertionError, match="#labels should equal with #data points"):
            w.add_embedding(torch.ones(2, 2), metadata=["a"])
        with pytest.raises(RuntimeError):
            w.add_graph(net, torch.ones(1, 5))
    assert net.training and "No graph saved" in capsys.readouterr().out
    written = next(tmp_path.glob("events*")).read_bytes()
    for name in (b"input/input_0", b"Net/Sequential[body]/Linear[0]/weight", b"Net/Sequential[body]/ReLU[1]/relu", b"Net/softmax",
                 b"output/output_0",
                 b"aten::linear", b"_output_shapes"):
        assert name in written
    assert b'pr_curves\x12\x02\x10\x05' in written and b"\x12\x10\n\x01m\x1a\x0b\n\t\n\x01l\x12\x01a\x1a\x01b" in written
    assert written.count(b"fcTL") == 3 and written.count(b"fdAT") == 2
    assert (tmp_path / "00002/x y/tensors.tsv").read_text() == "0.0\t1.0\n2.0\t3.0\n"
    assert 'single_image_dim: 4' in (tmp_path / "projector_config.pbtxt").read_text()


def test_a_download_is_announced_on_standard_output(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(torch.hub, "download_url_to_file", lambda url, path, *args, **kwargs: torch.save({"w": torch.ones(2)}, path))
    found = torch.hub.load_state_dict_from_url("https://example.com/weights.pth", model_dir=str(tmp_path))
    assert found["w"].tolist() == [1, 1]
    said = capsys.readouterr()
    assert said.out == f'Downloading: "https://example.com/weights.pth" to {tmp_path}/weights.pth\n' and not said.err
