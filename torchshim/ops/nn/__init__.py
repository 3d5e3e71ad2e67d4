"""The operators of neural networks: softmax family, normalisation, losses, embedding, dropout, attention, padding, convolution,
pooling, resizing, recurrence.

Each hot one is a single record in the trace. torch's public signatures are in `torchshim.nn.functional`.
"""
from . import (attention, binary_entropy, conv, ctc, dropout, embedding, folding, loss, margin_loss, norm, padding, pooling, resize, rnn,
               softmax)
