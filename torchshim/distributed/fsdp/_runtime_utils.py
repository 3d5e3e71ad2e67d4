"""What happens around a backward whose gradients are cut over processes: nothing is."""
from .._absent import absent_names

globals().update(absent_names(__name__, functions="_post_backward_final_callback"))
