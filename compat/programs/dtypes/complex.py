# Complex numbers: creation, parts, arithmetic, gradients.
import torch

z = torch.tensor([1 + 2j, 3 - 4j])
print(z, z.dtype, z.real, z.imag, z.abs(), z.angle(), z.conj(), z.conj().is_conj(), z * z, z / (1 + 1j), z.sum(), z.mean())
print(torch.complex(torch.tensor([1.0]), torch.tensor([-2.0])), torch.view_as_real(z), torch.view_as_complex(torch.ones(2, 2)))
print(torch.polar(torch.tensor([1.0]), torch.tensor([0.0])), z == z, z + 1, z + torch.ones(2), (z * 2).dtype, z.to(torch.complex128))
print(torch.zeros(2, dtype=torch.complex64), torch.tensor(1j), torch.tensor([1e-5 + 1e5j]), z.tolist(), z[0].item(), z.exp())
w = torch.tensor([1 + 2j, 3 - 4j], requires_grad=True)
w.abs().sum().backward()
print(w.grad)
w.grad = None
(w * w).real.sum().backward()
print(w.grad)
w.grad = None
(w * w.conj()).real.sum().backward()
print(w.grad)
r = torch.tensor([1.0, 2.0], requires_grad=True)
((r * (1 + 1j)) ** 2).imag.sum().backward()
print(r.grad)
print(torch.matmul(z, z), torch.dot(z, z), torch.vdot(z, z), z.real.requires_grad, torch.is_complex(z))
z.real.fill_(9)
z.imag[0] = -1
print(z)
