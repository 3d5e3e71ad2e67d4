"""torch's functions and methods: what the declarations in `ops` yield, and what is written in terms of them."""
