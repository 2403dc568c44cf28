"""Training jobs in time: how long one iteration of a model takes on a topology, and what of that is communication.

A ``Model`` comes from a file (``load_model``): layers with parameters and compute times, measured or from a count of
FLOPs. ``Model.job`` says what one of N servers does in an iteration. ``simulate_iteration`` runs that on two streams,
as PyTorch's DistributedDataParallel does (app-sec:simtrainingdetails), over a ``Network`` whose collectives take what
our cost model says. Not here: real training (``linkstep.torch``) and event simulation of programs
(``linkstep.simulation.machine``).

>>> len(load_model("resnet50").job(8).layers)
107
"""

from linkstep.simulation.training.comparison import Comparison, Outcome, compare, rank_choices
from linkstep.simulation.training.job import Job, Layer
from linkstep.simulation.training.model import Model
from linkstep.simulation.training.model_files import load_model, model_names, save_layers
from linkstep.simulation.training.network import Network, bound_network, choice_network
from linkstep.simulation.training.objective import Training
from linkstep.simulation.training.streams import BUCKETS, Event, Iteration, best_iteration, simulate_iteration

__all__ = [
    "BUCKETS",
    "Comparison",
    "Event",
    "Iteration",
    "Job",
    "Layer",
    "Model",
    "Network",
    "Outcome",
    "Training",
    "best_iteration",
    "bound_network",
    "choice_network",
    "compare",
    "load_model",
    "model_names",
    "rank_choices",
    "save_layers",
    "simulate_iteration",
]
