"""Quantities as people write them."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkstep.core import spellings
from linkstep.core.errors import LinkstepError, UnitError
from linkstep.core.units import (
    WrittenSize,
    check_count,
    format_size,
    format_time,
    parse_bandwidth,
    parse_duration,
    parse_fraction,
    parse_size,
    parse_sizes,
    parse_time,
    parse_written,
    read_bandwidth,
    read_duration,
    read_time,
    write_bandwidth,
    write_size,
    write_time,
)
from support.strategies import near_quantities


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10us", Fraction(1, 10**5)),
        ("10µs", Fraction(1, 10**5)),
        (" 10 us ", Fraction(1, 10**5)),
        ("1s", 1),
        ("1.5ms", Fraction(3, 2000)),
        ("2.ms", Fraction(1, 500)),
        (".5ns", Fraction(1, 2 * 10**9)),
        ("1e-6s", Fraction(1, 10**6)),
        ("2e+3ps", Fraction(1, 5 * 10**8)),
        ("0s", 0),
        ("0", 0),
        ("10 μs", Fraction(1, 10**5)),
        ("10usec", Fraction(1, 10**5)),
        ("10 microseconds", Fraction(1, 10**5)),
        ("2min", 120),
        ("1h", 3600),
        (3, 3),
        (Fraction(1, 7), Fraction(1, 7)),
    ],
)
def test_times(text, seconds):
    assert parse_time(text) == seconds
    assert isinstance(parse_time(text), Fraction)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1B", 1),
        ("1kB", 1000),
        ("1KB", 1000),
        ("1MB", 10**6),
        ("1MiB", 2**20),
        ("1KiB", 2**10),
        ("2.5GiB", 5 * 2**29),
        ("1TB", 10**12),
        ("1PiB", 2**50),
        ("1e3MB", 10**9),
        ("1048576", 2**20),
        ("1M", 10**6),
        ("1m", 10**6),
        ("1mb", 10**6),
        ("1 MB", 10**6),
        ("1mB", 10**6),
        ("1Mi", 2**20),
        ("1mib", 2**20),
        ("3 bytes", 3),
        (1024, 1024),
    ],
)
def test_sizes(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("100Gbps", 10**11),
        ("100Gb/s", 10**11),
        ("100Gbit/s", 10**11),
        ("12.5GB/s", 10**11),
        ("25 Gbps", 25 * 10**9),
        ("1GiB/s", 2**33),
        ("1bps", 1),
        ("400e9bps", 4 * 10**11),
        ("100G", 10**11),
        ("100g", 10**11),
        ("100gbps", 10**11),
        ("100 Gbit/s", 10**11),
        ("100Gb", 10**11),
        ("100GbE", 10**11),
        ("100gbe", 10**11),
        ("12.5GBps", 10**11),
        ("10kbps", 10**4),
    ],
)
def test_bandwidths(text, rate):
    assert parse_bandwidth(text) == rate


@pytest.mark.parametrize(
    ("parse", "text", "message"),
    [
        (parse_time, "10", "time '10' has no known unit: write it like 10us or 10s"),
        (parse_time, "10 parsecs", "time '10 parsecs' has no known unit: write it like 10us or 10s"),
        (parse_time, "10US", "time '10US' has no known unit: write it like 10us or 10s"),
        (parse_time, "10m", "time '10m' may be in minutes or milliseconds: write 10min or 10ms"),
        (parse_time, "", "time must be a number with a unit, such as 10us, not ''"),
        (parse_time, "us", "time must be a number with a unit, such as 10us, not 'us'"),
        (parse_time, "-1us", "time must be a number with a unit, such as 10us, not '-1us'"),
        (parse_time, "1,5us", "time must be a number with a unit, such as 10us, not '1,5us'"),
        (parse_time, "1 0us", "time must be a number with a unit, such as 10us, not '1 0us'"),
        (parse_time, "1.2.3us", "time must be a number with a unit, such as 10us, not '1.2.3us'"),
        (parse_time, "1/2us", "time must be a number with a unit, such as 10us, not '1/2us'"),
        (parse_time, -1, "time must be at least 0, not -1"),
        (parse_size, Fraction(-1, 2), "size must be at least 0, not -1/2"),
        (parse_time, "١us", "time must be a number with a unit, such as 10us, not '١us'"),
        (parse_time, "1e99s", "time must be a number with a unit, such as 10us, not '1e99s'"),
        (parse_time, "1" * 41 + "s", f"time must be a number with a unit, such as 10us, not '{'1' * 41}s'"),
        (parse_time, "nan", "time must be a number with a unit, such as 10us, not 'nan'"),
        (
            parse_time,
            1.5,
            "time must be text with a unit, such as 10us, or an int or a Fraction of seconds, not 1.5",
        ),
        (
            parse_size,
            float("nan"),
            "size must be text with a unit, such as 1MB or 1MiB, or an int or a Fraction of bytes, not nan",
        ),
        (
            parse_bandwidth,
            True,
            "bandwidth must be text with a unit, such as 100Gbps or 12.5GB/s, or an int or a Fraction of bit/s, not True",  # noqa: E501
        ),
        (
            parse_size,
            None,
            "size must be text with a unit, such as 1MB or 1MiB, or an int or a Fraction of bytes, not None",
        ),
        (parse_size, "nan", "size must be a number with a unit, such as 1MB or 1MiB, not 'nan'"),
        (parse_size, "infB", "size must be a number with a unit, such as 1MB or 1MiB, not 'infB'"),
        (parse_size, "-1MB", "size must be a number with a unit, such as 1MB or 1MiB, not '-1MB'"),
        (parse_size, "", "size must be a number with a unit, such as 1MB or 1MiB, not ''"),
        (parse_size, "1Mb", "size '1Mb' is in bits: write 1MB for bytes"),
        (parse_size, "1Mib", "size '1Mib' is in bits: write 1MiB for bytes"),
        (parse_size, "1bit", "size '1bit' has no known unit: write it like 1MB or 1MiB"),
        (parse_bandwidth, "100GB", "bandwidth '100GB' is a size: write 100GB/s or 100Gbps"),
        (parse_bandwidth, "100GBPS", "bandwidth '100GBPS' has no known unit: write it like 100Gbps or 100GB/s"),
        (parse_bandwidth, "100", "bandwidth '100' has no known unit: write it like 100Gbps or 100GB/s"),
        (
            parse_bandwidth,
            "fast",
            "bandwidth must be a number with a unit, such as 100Gbps or 12.5GB/s, not 'fast'",
        ),
    ],
)
def test_refusals(parse, text, message):
    with pytest.raises(UnitError) as caught:
        parse(text)
    assert str(caught.value) == message
    assert isinstance(caught.value, LinkstepError)


@pytest.mark.parametrize("value", [1.5, 2.0, True, "3", None, float("inf"), Fraction(2)])
def test_counts_are_integers(value):
    with pytest.raises(LinkstepError) as caught:
        check_count("chunks", value, 1, 9)
    assert str(caught.value) == f"chunks must be an integer, not {value!r}"


@pytest.mark.parametrize(
    ("text", "value"), [("7/8", Fraction(7, 8)), ("2", 2), ("0.875", Fraction(7, 8)), (".5", Fraction(1, 2)), ("1.", 1)]
)
def test_fractions(text, value):
    assert parse_fraction(text, "T_B") == value


@pytest.mark.parametrize("text", ["", "nan", "inf", "-1", "7/0", "7/00", "1/2/3", "1e999999999", "x", "1" * 81, "٣"])
def test_not_fractions(text):
    with pytest.raises(UnitError) as caught:
        parse_fraction(text, "T_B")
    assert str(caught.value) == f"T_B must be a fraction such as 7/8, not {text!r:.60}"


def test_counts_have_bounds():
    assert check_count("chunks", 9, 1, 9) == check_count("chunks", np.int32(9), 1, 9) == 9
    for value in (0, 10, -1, 10**30):
        with pytest.raises(LinkstepError, match=rf"^chunks must lie in \[1, 9\], not {value}$"):
            check_count("chunks", value, 1, 9)


@given(st.one_of(near_quantities, st.text(max_size=80)))
def test_any_text_is_a_quantity_or_refused(text):
    for parse in (parse_time, parse_duration, parse_size, parse_bandwidth):
        try:
            assert parse(text) >= 0
        except UnitError as error:
            assert "\n" not in str(error)


READERS = {
    "time": (read_time, parse_time, spellings.TIMES),
    "duration": (read_duration, parse_duration, spellings.DURATIONS),
    "size": (WrittenSize, parse_size, spellings.SIZES),
    "rate": (read_bandwidth, parse_bandwidth, spellings.RATES),
}
NUMBERS = st.one_of(
    st.integers(0, 10**12).map(str), st.decimals(0, 10**6, places=6).map("{:f}".format), st.sampled_from([".5", "2e-3"])
)


@pytest.mark.parametrize("kind", READERS)
@given(data=st.data())
def test_what_is_understood_reads_back(kind, data):
    """Every spelling is worth the unit it is printed with, with or without a space; what is printed is no guess."""
    read, parse, units = READERS[kind]
    number, spelling, space = data.draw(NUMBERS), data.draw(st.sampled_from(sorted(units))), data.draw(st.booleans())
    reading = read(f"{number}{' ' * space}{spelling}")
    text = reading if kind == "size" else reading.text
    value = reading.bytes if kind == "size" else reading.value
    assert str(text) == f"{number}{units[spelling].name}"
    assert parse(str(text)) == value == Fraction(number) * units[spelling].factor
    assert not read(str(text)).is_guess
    assert reading.is_guess == units[spelling].is_guess


@pytest.mark.parametrize(
    ("read", "text", "understood", "is_guess"),
    [
        (read_bandwidth, "100G", "100Gbps", True),
        (read_bandwidth, "100gb", "100Gbps", True),
        (read_bandwidth, "100gbps", "100Gbps", False),
        (read_bandwidth, "100GbE", "100Gbps", False),
        (read_bandwidth, "12.5 GBps", "12.5GB/s", False),
        (read_time, "10 µs", "10us", False),
        (read_duration, "5", "5s", False),
        (read_duration, "2m", "2min", True),
    ],
)
def test_what_was_understood(read, text, understood, is_guess):
    assert read(text)[1:] == (understood, is_guess)


@pytest.mark.parametrize(
    ("text", "understood", "is_guess"),
    [("1M", "1MB", True), ("1mb", "1MB", True), ("1 MB", "1MB", False), ("1048576", "1048576B", False),
     ("0.5mib", "0.5MiB", True), ("1kB", "1kB", False)],
)  # fmt: skip
def test_sizes_as_understood(text, understood, is_guess):
    assert (str(WrittenSize(text)), WrittenSize(text).is_guess) == (understood, is_guess)


def test_case_separates_bits_from_bytes():
    assert parse_bandwidth("1Gb/s") * 8 == parse_bandwidth("1GB/s")
    bits = {
        name for name in spellings.RATES if "b" in name and "B" not in name and not name.endswith(("byte/s", "bytes/s"))
    }
    assert all(spellings.RATES[name].name.endswith("bps") for name in bits)
    assert all(spellings.RATES[name].name.endswith("B/s") for name in spellings.RATES if "B" in name)


@given(st.fractions(0, 10**6), st.sampled_from([(write_time, parse_time), (write_bandwidth, parse_bandwidth)]))
def test_what_is_written_reads_back(value, pair):
    write, parse = pair
    assert parse_written(write(value), parse) == value


@given(st.integers(0, 10**9), st.integers(0, 10**6), st.sampled_from(["s", "ms", "us", "ns", "ps"]))
def test_decimals_are_exact(whole, thousandths, unit):
    scale = {"s": 0, "ms": 3, "us": 6, "ns": 9, "ps": 12}[unit]
    expected = (whole + Fraction(thousandths, 10**7)) / 10**scale
    assert parse_time(f"{whole}.{thousandths:07d}{unit}") == expected


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (1, "1s"),
        (Fraction(3235, 10**7), "323.5us"),
        (Fraction(1, 1000), "1ms"),
        (0.0123456, "12.35ms"),
        (Fraction(1, 10**6), "1us"),
        (5e-9, "5ns"),
        (5e-10, "0.5ns"),
        (1e-13, "0.0001ns"),
        (59.999, "60s"),
        (1234.5, "1234s"),
    ],
)
def test_format_time(seconds, text):
    assert format_time(seconds) == text


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=1000))
def test_format_time_reads_back(seconds):
    """Four significant digits: at most half a unit of the fourth away."""
    assert abs(parse_time(format_time(seconds)) - seconds) <= seconds * Fraction(501, 10**6)


@given(st.integers(1, 10**17), st.booleans())
def test_format_size_reads_back(size, binary):
    text = format_size(size, binary=binary)
    assert abs(parse_size(text) - size) <= size * Fraction(501, 10**6)
    assert len(text) <= len("1.234KiB") and ("i" in text) == (binary and size >= 1024)


@pytest.mark.parametrize(
    ("size", "text"), [(999_999, "1MB"), (999_949, "999.9KB"), (0, "0B"), (Fraction(1, 3), "0.3333B")]
)
def test_format_size(size, text):
    assert format_size(size) == text


@given(st.integers(0, 10**18), st.sampled_from([1, 1000, 2**10, 10**6, 2**30]))
def test_write_size_is_exact_and_no_longer_than_bytes(number, scale):
    text = write_size(number * scale)
    assert parse_size(text) == number * scale
    assert len(text) <= len(f"{number * scale}B")


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("1KiB", (1024,)),
        ("1KiB:1KiB", (1024,)),
        ("1KiB:4KiB", (1024, 2048, 4096)),
        ("1KiB:5KiB", (1024, 2048, 4096, 5120)),  # the end is measured too
        ("3B:24B:x02", (3, 6, 12, 24)),
        ("1B:1GB:x1000", (1, 10**3, 10**6, 10**9)),
        (" 1MB , 1000003B, 1kB,1MB", (1000, 10**6, 1000003)),
        ("1kB:4kB:x4,1.5kB", (1000, 1500, 4000)),
    ],
)
def test_sweeps(text, sizes):
    assert parse_sizes(text) == sizes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1.5B", "a size must be a whole number of bytes from 1, not '1.5B'"),
        ("0B:1MB", "a size must be a whole number of bytes from 1, not '0B'"),
        ("1MB:1KB", "sizes must go from the smaller to the larger, not '1MB:1KB'"),
        ("1KB:1MB:x1", "the factor of sizes must be a whole number from 2, written like x4, not '1KB:1MB:x1'"),
        ("1KB:1MB:4", "the factor of sizes must be a whole number from 2, written like x4, not '1KB:1MB:4'"),
        ("1KB:2KB:x2:3", "sizes must be written like 1KiB:1GiB, 1KiB:1GiB:x4 or 1KiB,1MB, not '1KB:2KB:x2:3'"),
        ("", "size must be a number with a unit, such as 1MB or 1MiB, not ''"),
        ("1KB,", "size must be a number with a unit, such as 1MB or 1MiB, not ''"),
        ("1KB:", "size must be a number with a unit, such as 1MB or 1MiB, not ''"),
        ("jobs.csv", "size must be a number with a unit, such as 1MB or 1MiB, not 'jobs.csv'"),
    ],
)
def test_not_sweeps(text, message):
    with pytest.raises(UnitError) as caught:
        parse_sizes(text)
    assert str(caught.value) == message
