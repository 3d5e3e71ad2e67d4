"""What a tensor is: storages and views, the record of a call, graph nodes, the Tensor class, how it prints."""
