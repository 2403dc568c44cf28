"""The programs that tests share, which dialects accept them, and which rules the verifier says a text breaks."""

from pathlib import Path

from linkstep.core.errors import FileError
from linkstep.verification import verify_text

PROGRAMS = Path(__file__).parent / "programs"
ACCEPTED = {
    "allpairs-allreduce.mscclpp.json": ("mscclpp",),
    "allpairs-allreduce.rccl.xml": ("msccl", "msccl-azure", "rccl"),
    "direct-all-to-all.rccl.xml": ("msccl", "msccl-azure", "rccl"),
    "ports-allgather.mscclpp.json": ("mscclpp",),
    "ring-allgather.msccl.xml": ("msccl",),
    "ring-allreduce.cpu.xml": ("cpu",),
    "ring-allreduce.msccl.xml": ("msccl",),
    "ring-reduce-scatter.azure.xml": ("msccl-azure",),
}


def text_of(name: str) -> str:
    return (PROGRAMS / name).read_text()


def rules(text: str, dialect: str | None = None) -> set[str]:
    """The rules a text breaks; {"unreadable"} if it cannot be read at all."""
    try:
        report = verify_text(text, dialect)
        return {f.rule for f in report.errors + report.unknowns}
    except FileError as error:
        assert "\n" not in str(error) and len(str(error)) < 400
        return {"unreadable"}


def warned(text: str, dialect: str) -> list[str]:
    return [f.message for f in verify_text(text, dialect).warnings]
