# torch.device objects and .to.
import torch

d = torch.device("cpu")
print(d, repr(d), d.type, d.index, d == torch.device("cpu"), d == torch.device("cpu", 0), hash(d) == hash(torch.device("cpu")), torch.device("cuda:1"), torch.device("cuda", 1) == torch.device("cuda:1"), torch.device("meta"))
x = torch.ones(2)
print(x.device, x.to("cpu") is x, x.to(d) is x, x.cpu() is x, x.to(d, torch.float64).dtype, x.to(other := torch.zeros(1, dtype=torch.int32)).dtype, x.to(device="cpu", dtype=torch.float16).dtype, x.to("cpu", copy=True) is x)
with torch.device("meta"):
    print(torch.ones(2).device, torch.nn.Linear(1, 1).weight.device)
print(torch.get_default_device(), str(d), f"{d}", torch.zeros(1, device=d).device, d in {torch.device("cpu")})
