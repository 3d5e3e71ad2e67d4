"""``python -m torchshim SCRIPT``: see `torchshim.dropin.runner`."""

from torchshim.dropin.runner import main

if __name__ == "__main__":
    main()
