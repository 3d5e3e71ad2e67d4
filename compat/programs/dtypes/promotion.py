# Promotion between tensors: same category, categories, 0-d tensors.
import torch

kinds = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16,
         torch.float32, torch.float64, torch.complex64, torch.complex128]
names = [str(k).split(".")[1] for k in kinds]
for a in kinds:
    row = [str(torch.promote_types(a, b)).split(".")[1] for b in kinds]
    print(names[kinds.index(a)], row)
for a in kinds:
    x = torch.ones(2, dtype=a)
    row = []
    for b in kinds:
        if b.is_complex and a is torch.float16:
            continue                            # complex32 is not part of this comparison
        zero_d = torch.ones((), dtype=b)
        row.append(str((x * zero_d).dtype).split(".")[1])
    print(names[kinds.index(a)], row)
print(torch.result_type(torch.ones(1, dtype=torch.int32), 2.5), torch.result_type(torch.tensor(1), torch.tensor([1], dtype=torch.int8)))
print(torch.can_cast(torch.float32, torch.int32), torch.can_cast(torch.int32, torch.float16))
