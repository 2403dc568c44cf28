"""The process group of ``torch.distributed`` that ``linkstep.torch`` registers, and what of it can be run where."""
