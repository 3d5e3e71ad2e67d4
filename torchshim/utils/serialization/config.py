"""Settings of torch.save and torch.load, kept and read back."""


class load:
    """Of torch.load."""
    mmap, endianness, mmap_flags, calculate_storage_offsets = False, None, None, False


class save:
    """Of torch.save."""
    compute_crc32, use_pinned_memory_for_d2h, storage_alignment = True, False, 64
