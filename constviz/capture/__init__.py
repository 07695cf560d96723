"""The only part that knows the insides of torch.compile."""
