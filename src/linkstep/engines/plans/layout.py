"""How an array is cut into chunks: sections of a rank each where the collective divides the data, chunks in a section.

Chunks are equally long. Where a section's length is no multiple of its chunks, the array is copied to a padded one.
"""

from __future__ import annotations

from dataclasses import dataclass

from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError


@dataclass(frozen=True)
class BufferLayout:
    """Elements of a section and of a chunk, and how many sections a rank's input and output have."""

    section: int
    chunk: int
    chunks: int
    """Of a section."""
    input_sections: int
    output_sections: int

    @classmethod
    def of(cls, collective: Collective, num_ranks: int, chunks: int, length: int) -> BufferLayout:
        """Cut a rank's input of ``length`` elements when the data is ``chunks`` chunks.

        >>> BufferLayout.of(Collective.ALLGATHER, 4, 12, 10)
        BufferLayout(section=10, chunk=4, chunks=3, input_sections=1, output_sections=4)
        """
        sections = num_ranks if collective.is_divided else 1
        input_sections = 1 if collective.starts_with_shard else sections
        if length % input_sections:
            raise LinkstepError(
                f"{collective} needs a multiple of {num_ranks} elements, one part for each rank, not {length}"
            )
        section, each = length // input_sections, chunks // sections
        return cls(section, -(-section // each), each, input_sections, 1 if collective.ends_with_shard else sections)

    @property
    def padded_section(self) -> int:
        """Elements of a section with its padding."""
        return self.chunk * self.chunks

    @property
    def is_padded(self) -> bool:
        """Whether chunks do not divide a section."""
        return self.padded_section != self.section

    @property
    def total(self) -> int:
        """Elements of the data in all, M."""
        return self.section * max(self.input_sections, self.output_sections)
