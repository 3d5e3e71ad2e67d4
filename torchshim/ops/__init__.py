"""What each operator computes, by family. Importing this package declares the everyday ones."""
