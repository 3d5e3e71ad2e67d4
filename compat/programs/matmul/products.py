# mm, bmm, matmul in all ranks, mv, dot, outer, addmm, baddbmm, chain, einsum, tensordot, kron.
import torch

a = torch.arange(6.0).reshape(2, 3)
b = torch.arange(12.0).reshape(3, 4)
v = torch.tensor([1.0, 2.0, 3.0])
print(a @ b, torch.mm(a, b).shape, a @ v, v @ b, v @ v, a.mv(v), torch.dot(v, v), torch.outer(v, v), torch.inner(a, v), a.matmul(b.unsqueeze(0)).shape)
t = torch.arange(12.0).reshape(2, 2, 3)
print((t @ b).shape, (t @ v), torch.bmm(t, t.transpose(1, 2)), (t[:, None] @ t.mT).shape, (torch.ones(5, 1, 2, 3) @ torch.ones(4, 3, 2)).shape)
print(torch.addmm(torch.ones(4), a, b, beta=2, alpha=0.5), torch.addmv(torch.ones(2), a, v), torch.addr(torch.zeros(3, 3), v, v), torch.baddbmm(torch.ones(2, 2, 2), t, t.mT), torch.addbmm(torch.zeros(2, 2), t, t.mT))
print(torch.einsum("ij,jk->ik", a, b), torch.einsum("ij->j", a), torch.einsum("ii->i", torch.eye(3)), torch.einsum("i,j->ij", v, v), torch.einsum("bij,bkj->bik", t, t), torch.einsum("...j,j", t, v), torch.einsum("ij,ij", a, a))
print(torch.tensordot(a, b, 1), torch.tensordot(t, t, ([0, 2], [0, 2])), torch.kron(torch.eye(2), torch.ones(1, 2)), torch.linalg.multi_dot([a, b, b.T]), torch.linalg.matrix_power(torch.eye(2) * 2, 3), torch.cross(v, torch.tensor([0.0, 1.0, 0.0]), dim=0), torch.chain_matmul(a, b))
print(torch.zeros(0, 3) @ b, torch.zeros(2, 0) @ torch.zeros(0, 2), torch.tensor([[1, 2], [3, 4]]) @ torch.tensor([1, 1]), torch.trace(torch.eye(3)), torch.eye(2, dtype=torch.float64) @ torch.eye(2, dtype=torch.float64), a.t().matmul(a), torch.vander(v))
