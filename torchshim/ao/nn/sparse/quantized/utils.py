"""The pattern of zeros of sparse weights."""
import threading


class LinearBlockSparsePattern:
    """The size of the blocks in which zeros come, for a thread."""
    rlock = threading.RLock()
    row_block_size = 1
    col_block_size = 4

    @staticmethod
    def block_size():
        """(rows, columns)."""
        return LinearBlockSparsePattern.row_block_size, LinearBlockSparsePattern.col_block_size


__all__ = ["LinearBlockSparsePattern"]
