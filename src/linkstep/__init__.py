"""linkstep: topologies and collective schedules for clusters whose servers are wired to each other.

The verbs, in the order of a day's work: ``find`` a topology (``baselines`` has what people wire today), ``describe``
and ``wire`` it, make a ``schedule`` or a ``trade_off`` of steps against bandwidth, ``check`` and ``save`` it, ``lower``
it to a runtime, ``verify`` the file, ``simulate`` it or a job of ``training``, ``draw`` any of these; ``faults`` change
what all of them start from. ``__init__.pyi`` is the list of names and where they live. Each is imported when it is
first asked for, so that a script pays for what it uses.

>>> import linkstep
>>> topology = linkstep.parse("L^3(C(16,{3,4}))").topology()
>>> topology.num_nodes, topology.degree
(1024, 4)
"""

from linkstep.core.above import ABOVE as _ABOVE


def _homes():
    """Return the module of each public name, and whether the name is that module itself, from the lines of the stub.

    The lines are ``from linkstep.costs import fit as fit`` and ``import linkstep.core.faults as faults``.
    """
    stub = __spec__.loader.get_data(f"{__path__[0]}/__init__.pyi").decode()
    lines = [line.split() for line in stub.splitlines()]
    return {words[-1]: (words[1], words[0] == "import") for words in lines if words and words[0] in ("from", "import")}


_HOMES = _homes()

__all__ = sorted(_HOMES)


def __getattr__(name):
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module 'linkstep' has no attribute {name!r}")
    home, is_module = _HOMES[name]
    module = import_module(home)
    value = globals()[name] = module if is_module else getattr(module, name)
    return value


def __dir__():
    return __all__


def _cost(schedule):
    from linkstep.costs import cost_of

    return cost_of(schedule)


def _picture(topology):
    from linkstep.pictures.topology import topology_svg

    return topology_svg(topology)


def _read(text):
    from linkstep.recipe.resolution import read

    return read(text)


def _schedule(wiring):
    from linkstep.scheduling import schedule

    return schedule(wiring).schedule


_ABOVE.update(cost=_cost, picture=_picture, read=_read, schedule=_schedule)
