"""Compute the all-to-all throughput of the catalog's entries where it is exact in a moment (``search/throughputs.py``).

``python scripts/make_throughput.py`` takes minutes and adds what is missing; it can be stopped at any time.
"""

from __future__ import annotations

from collections.abc import Iterator

from linkstep.recipe import parse
from linkstep.recipe.names import catalog_names
from linkstep.search.catalog import load_catalog
from linkstep.search.throughputs import FILE, HEADER, stored_throughputs
from linkstep.throughput.solve import exact_all_to_all

MOST_NODES = 4096


def sizes() -> Iterator[tuple[int, int]]:
    """List every N and d of the catalog."""
    catalog = load_catalog()
    for degree in catalog.degrees:
        for nodes in catalog.sizes(degree):
            if 1 < nodes <= MOST_NODES:
                yield nodes, degree


def main() -> None:
    """Go through the catalog by degree and size, and write the file every now and then."""
    known = dict(stored_throughputs()) if FILE.is_file() else {}
    wanted = {}
    for count, (nodes, degree) in enumerate(sizes()):
        for number, text in catalog_names(nodes, degree).items():
            key = nodes, degree, number
            value = known.get(key) or exact_all_to_all(parse(text).topology())
            if value is not None:
                wanted[key] = value
        if count % 100 == 0:
            print(degree, nodes, len(wanted), flush=True)
            write(known | wanted)
    write(wanted)


def write(values: dict) -> None:  # type: ignore[type-arg]
    """Put the values in the file, by degree and size."""
    rows = sorted((degree, nodes, number, value) for (nodes, degree, number), value in values.items())
    lines = [f"{nodes},{degree},{number},{value}" for degree, nodes, number, value in rows]
    FILE.write_text("\n".join([HEADER, *lines, ""]))


if __name__ == "__main__":
    main()
