"""Stacks of C++, of which there is none."""


def get_cpp_backtrace(frames_to_skip=0, maximum_number_of_frames=64):
    """""."""
    return ""
