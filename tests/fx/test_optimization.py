"""torch.fx.experimental.optimization: what is folded and removed leaves the answers of inference as they were."""
import torchshim as torch
from torchshim import nn
from torchshim.fx.experimental.optimization import fuse, remove_dropout


def test_batch_norms_are_folded_into_what_stands_before_them():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Linear(12, 5), nn.BatchNorm1d(5), nn.Dropout())
    model.eval()
    model[1].running_mean.uniform_()
    model[5].running_var.uniform_(1, 2)
    x = torch.randn(2, 1, 4, 4)
    fused = fuse(model)
    assert [name for name, _ in fused.named_children()] == ["0", "2", "3", "4", "6"]
    assert torch.allclose(fused(x), model(x), atol=1e-6) and isinstance(model[1], nn.BatchNorm2d)
    assert not any(isinstance(m, nn.Dropout) for m in remove_dropout(model).modules())
    assert len(list(fuse(nn.Sequential(nn.Conv1d(1, 1, 1), nn.BatchNorm1d(1, track_running_stats=False)).eval()).children())) == 2
