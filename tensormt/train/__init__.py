"""In the training loop: metrics on token ids, rewards, differentiable relatives, torchmetrics."""
