"""Model files: small JSON documents that ``train-sim`` and ``find --job`` take, ours by name and yours by path.

docs/concepts/training-simulation.md describes the members. A file says what a model is in one of three ways (``kind``):
the hyperparameters of a transformer, the rows of a convolutional network, or a list of layers with FLOPs or measured
times, which ``linkstep profile`` writes. Numbers are exact: decimals are read as they are written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields
from difflib import get_close_matches
from fractions import Fraction
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from linkstep.core.arguments import check_kind
from linkstep.core.errors import FileError, LinkstepError
from linkstep.core.text import shown
from linkstep.core.units import check_count, parse_size, parse_time, parse_written, write_time
from linkstep.files.disk import AnyPath, to_path
from linkstep.files.documents import naming, read_document, write_document
from linkstep.simulation.training.convolutional import Convolutional
from linkstep.simulation.training.job import Layer
from linkstep.simulation.training.model import Hardware, Model, Part, Widths
from linkstep.simulation.training.transformer import Transformer

_KIND = "model"
_MOST = 10**18
"""No count in a model file is larger."""
_MOST_LAYERS = 100_000
_MEMBERS = ("format", "version", "name", "source", "kind", "hyperparameters", "layers", "batch", "hardware", "bytes")
_LAYER_MEMBERS = ("name", "parameters", "flops", "forward", "backward", "experts", "expert_parameters", "all_to_all")
_HARDWARE_MEMBERS = ("name", "peak_flops", "utilisation", "memory")

T = TypeVar("T")


def _folder() -> Path:
    return Path(str(resources.files("linkstep"))) / "data" / "models"


def model_names() -> list[str]:
    """Return the names of the models that come with linkstep.

    >>> "gpt2-small" in model_names()
    True
    """
    return sorted(path.stem for path in _folder().glob("*.json"))


def load_model(name: AnyPath) -> Model:
    """Return one of our models by its name, or the one in a file; FileError of one line if there is none.

    >>> load_model("gpt2-small").num_parameters
    124439808
    """
    if isinstance(name, str) and name in model_names():
        path: AnyPath = _folder() / f"{name}.json"
    elif to_path(name).suffix.lower() == ".json" or to_path(name).exists():
        path = name
    else:
        close = get_close_matches(str(name), model_names(), 1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        raise FileError(
            f"no model is called {shown(str(name))}{hint}: name a .json file, or one of {', '.join(model_names())}"
        )
    document = read_document(path, _KIND)
    with naming(path):
        return _model(document, to_path(path).stem)


def _model(document: Mapping[str, Any], name: str) -> Model:
    _check_members(document, _MEMBERS, "a model")
    kind = document.get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise FileError(f"kind must be one of {', '.join(_KINDS)}, not {shown(kind)}")
    widths = _record(Widths, document.get("bytes", {}), "bytes", _size)
    parts = tuple(_KINDS[kind](document, widths))
    hardware = _hardware(document.get("hardware", {}))
    batch, of_all = _batch(document.get("batch"))
    model = Model(_text(document.get("name", name), "name"), parts, widths, hardware, batch, of_all)
    _check_complete(model)
    return model


def _check_complete(model: Model) -> None:
    measured = [part.seconds is not None for part in model.parts]
    if not model.parts:
        raise FileError("has no layers")
    if any(measured):
        if not all(measured):
            raise FileError(
                "some layers have measured times and some have none: all need forward and backward, or flops"
            )
        return
    if model.hardware.peak_flops is None:
        raise FileError("hardware needs peak_flops (FLOP/s), for its layers have no measured times")
    if model.batch is None and model.batch_of_all is None:
        raise FileError('batch must be {"server": samples} or {"all": samples}, for its layers have no measured times')


# --- the kinds of models ---


def _transformer(document: Mapping[str, Any], widths: Widths) -> Iterable[Part]:
    made = _record(Transformer, document.get("hyperparameters"), "hyperparameters", _hyperparameter)
    return made.parts(widths)


def _hyperparameter(value: object, what: str) -> int | bool | Fraction:
    if what == "capacity":
        return _number(value, what)
    return value if isinstance(value, bool) and what in ("gated", "biased") else _count(value, what)


def _convolutional(document: Mapping[str, Any], widths: Widths) -> Iterable[Part]:
    given = _object(document.get("hyperparameters"), "hyperparameters")
    _check_members(given, ("image", "normed", "rows"), "hyperparameters")
    image, rows, normed = given.get("image"), given.get("rows"), given.get("normed", False)
    if not isinstance(image, list) or len(image) != 3:
        raise FileError(f"image must be [channels, height, width], not {shown(image)}")
    if not isinstance(rows, list) or not rows or not all(isinstance(row, list) and row for row in rows):
        raise FileError(f'rows must be a list of rows such as ["linear", 10], not {shown(rows)}')
    if not isinstance(normed, bool):
        raise FileError(f"normed must be true or false, not {shown(normed)}")
    if len(rows) > _MOST_LAYERS:
        raise FileError(f"rows must be at most {_MOST_LAYERS}, not {len(rows)}")
    channels, height, width = (_count(side, "image", 1) for side in image)
    return Convolutional(channels, height, width, tuple(map(tuple, rows)), normed).parts()


def _layers(document: Mapping[str, Any], widths: Widths) -> Iterable[Part]:
    rows = document.get("layers")
    if not isinstance(rows, list) or not 1 <= len(rows) <= _MOST_LAYERS:
        raise FileError(f"layers must be a list of 1 to {_MOST_LAYERS} layers, not {shown(rows)}")
    for number, row in enumerate(rows, 1):
        try:
            yield _part(_object(row, "a layer"))
        except LinkstepError as error:
            raise FileError(f"layer {number}: {error}") from None


def _part(row: Mapping[str, Any]) -> Part:
    _check_members(row, _LAYER_MEMBERS, "a layer")
    times = [row[name] for name in ("forward", "backward") if name in row]
    if len(times) == 1 or (times and "flops" in row):
        raise FileError("needs forward and backward, or flops, and not both")
    exchanged = parse_size(row.get("all_to_all", 0))
    experts, each = (
        _count(row.get("experts", 0), "experts"),
        _count(row.get("expert_parameters", 0), "expert_parameters"),
    )
    if bool(exchanged) != bool(experts):
        raise FileError("experts and all_to_all (bytes) go together: give both, or none")
    return Part(
        _text(row.get("name"), "name"),
        _count(row.get("parameters", 0), "parameters"),
        _number(row.get("flops", 0), "flops"),
        (parse_written(times[0], parse_time), parse_written(times[1], parse_time)) if times else None,
        experts,
        each,
        exchanged,
    )


_KINDS: dict[str, Callable[[Mapping[str, Any], Widths], Iterable[Part]]] = {
    "transformer": _transformer,
    "convolutional": _convolutional,
    "layers": _layers,
}
"""What a file can describe a model by, and what makes its parts."""


# --- members ---


def _hardware(given: object) -> Hardware:
    row = _object(given, "hardware")
    _check_members(row, _HARDWARE_MEMBERS, "hardware")
    peak, part, memory = row.get("peak_flops"), _number(row.get("utilisation", 1), "utilisation"), row.get("memory")
    if not 0 < part <= 1:
        raise FileError(f"utilisation must lie in (0, 1], not {shown(row['utilisation'])}")
    flops = None if peak is None else _number(peak, "peak_flops")
    if flops == 0:
        raise FileError("peak_flops must be more than 0")
    return Hardware(_text(row.get("name", ""), "name"), flops, part, None if memory is None else parse_size(memory))


def _batch(given: object) -> tuple[Fraction | None, Fraction | None]:
    if given is None:
        return None, None
    if not isinstance(given, dict) or list(given) not in (["server"], ["all"]):
        raise FileError(f'batch must be {{"server": samples}} or {{"all": samples}}, not {shown(given)}')
    [(whose, samples)] = given.items()
    count = Fraction(_count(samples, "batch", 1))
    return (count, None) if whose == "server" else (None, count)


def _object(value: object, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise FileError(f"{what} must be an object with members, not {shown(value)}")
    return value


def _check_members(given: Mapping[str, Any], known: Sequence[str], what: str) -> None:
    """Refuse what nobody reads: a misspelt member would change nothing, in silence."""
    for name in given:
        if name not in known:
            raise FileError(f"{what} has no member {shown(name)}; it may have {', '.join(known)}")


def _record(kind: type[T], given: object, what: str, read: Callable[[object, str], Any]) -> T:
    """Make a dataclass from members of the same names."""
    row, known = _object(given, what), fields(kind)  # type: ignore[arg-type]
    _check_members(row, [field.name for field in known], what)
    for field in known:
        if field.name not in row and field.default is MISSING:
            raise FileError(f"{what} has no {field.name!r}, which it needs")
    return kind(**{name: read(value, name) for name, value in row.items()})


def _text(value: object, what: str) -> str:
    if not isinstance(value, str) or not value.isprintable() or len(value) > 200:
        raise FileError(f"{what} must be a text of at most 200 printable characters, not {shown(value)}")
    return value


def _count(value: object, what: str, least: int = 0) -> int:
    if type(value) is not int or not least <= value <= _MOST:
        raise FileError(f"{what} must be a whole number from {least} to {_MOST}, not {shown(value)}")
    return value


def _number(value: object, what: str) -> Fraction:
    """Read a number as it is written: 0.4 is two fifths."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= _MOST**2:
        raise FileError(f"{what} must be a number from 0 to 1e36, not {shown(value)}")
    if 0 < value < 1 / _MOST:  # what is divided by it would be no time that anybody computes
        raise FileError(f"{what} must be 0 or at least 1e-18, not {shown(value)}")
    return Fraction(repr(value))


def _size(value: object, what: str) -> Fraction:
    found = _number(value, what)
    if found > 1024:
        raise FileError(f"{what} must be the bytes of one number, at most 1024, not {shown(value)}")
    return found


# --- writing ---


def save_layers(
    path: AnyPath, name: str, layers: Sequence[tuple[Layer, int]], *, source: str, gradient_bytes: int = 4
) -> None:
    """Write measured layers, each with its number of parameters, to a model file.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as here:
    ...     file = pathlib.Path(here, "m.json")
    ...     save_layers(file, "m", [(Layer("a", Fraction(1, 8), Fraction(1, 4)), 10)], source="by hand")
    ...     load_model(file).job(2).compute
    Fraction(3, 8)
    """
    if to_path(path).suffix.lower() != ".json":
        raise FileError(f"{path}: the name of a model file must end in .json")
    for row in check_kind("layers", layers, list, tuple):
        if not isinstance(row, tuple) or len(row) != 2 or not isinstance(row[0], Layer):
            raise LinkstepError(f"layers must be pairs of a Layer and its number of parameters, not {shown(row)}")
    check_count("gradient_bytes", gradient_bytes, 1, 2**20)
    rows = [
        {
            "name": layer.name,
            "parameters": parameters,
            "forward": write_time(layer.forward),
            "backward": write_time(layer.backward),
        }
        for layer, parameters in layers
    ]
    widths = {"parameter": gradient_bytes, "gradient": gradient_bytes}
    members = {"name": name, "source": source, "kind": "layers", "bytes": widths, "layers": rows}
    try:
        _model(members, name).job(2)
    except LinkstepError as error:
        raise FileError(f"{path}: not written, for it could not be read again: {error}") from None
    write_document(path, _KIND, members)
