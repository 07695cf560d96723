"""Measuring: clocks, interleaved rounds, and the statistics of their ratios.  Knows nothing of torch.compile."""
