// Quantities as people write them, exactly: the spellings of core/spellings.py, which tests hold these to.
import { Exact } from "./exact";

export type Reading = { value: Exact; error: null } | { value: null; error: string };

type Units = Map<string, Exact>;

const DECIMAL: [string, number][] = [["K", 3], ["M", 6], ["G", 9], ["T", 12], ["P", 15]];
const BINARY: [string, number][] = [["Ki", 10], ["Mi", 20], ["Gi", 30], ["Ti", 40], ["Pi", 50]];
const power = (base: number, exponent: number) => Exact.of(BigInt(base) ** BigInt(exponent));
const PREFIXES: [string, Exact][] = [
  ...DECIMAL.map(([prefix, exponent]): [string, Exact] => [prefix, power(10, exponent)]),
  ...BINARY.map(([prefix, exponent]): [string, Exact] => [prefix, power(2, exponent)]),
];
const cases = (prefix: string) => [prefix, prefix.toLowerCase(), prefix.toUpperCase()];

function times(): Units {
  const units: Units = new Map();
  const words: [string, string, number][] = [["s", "second", 0], ["ms", "millisecond", 3], ["us", "microsecond", 6], ["ns", "nanosecond", 9], ["ps", "picosecond", 12]];
  for (const [name, word, scale] of words) {
    for (const one of [name, `${name}ec`, `${name}ecs`, word, `${word}s`]) units.set(one, Exact.of(1n, 10n ** BigInt(scale)));
  }
  for (const one of ["\u00b5s", "\u03bcs"]) units.set(one, units.get("us")!);
  for (const one of ["min", "mins", "minute", "minutes"]) units.set(one, Exact.of(60));
  for (const one of ["h", "hr", "hrs", "hour", "hours"]) units.set(one, Exact.of(3600));
  return units;
}

function sizes(): Units {
  const one = Exact.of(1);
  const units: Units = new Map(["", "b", "B", "byte", "bytes"].map((name) => [name, one]));
  for (const [prefix, factor] of PREFIXES) {
    for (const p of cases(prefix)) for (const unit of ["", "B"]) units.set(p + unit, factor);
    for (const unit of ["byte", "bytes"]) units.set(prefix + unit, factor);
    units.set(`${prefix.toLowerCase()}b`, factor);
  }
  for (const unit of ["B", "byte", "bytes"]) units.set(`k${unit}`, Exact.of(1000));
  return units;
}

function rates(): Units {
  const units: Units = new Map();
  for (const [prefix, factor] of [["", Exact.of(1)] as [string, Exact], ...PREFIXES]) {
    const isLarge = DECIMAL.some(([known]) => known === prefix);
    for (const p of cases(prefix)) {
      for (const unit of ["bps", "b/s", "bit/s", "bits/s"]) units.set(p + unit, factor);
      for (const unit of ["B/s", "Bps", "byte/s", "bytes/s"]) units.set(p + unit, factor.times(Exact.of(8)));
      if (isLarge) for (const unit of ["", "b", "bit", "bits", "bE", "be", "E"]) units.set(p + unit, factor);
    }
    if (isLarge) units.set(`${prefix.toLowerCase()}e`, factor);
  }
  return units;
}

interface Kind {
  what: string;
  units: Units;
  example: string;
  suggested: [string, string];
  isPositive: boolean;
}

const SIZE: Kind = { what: "size", units: sizes(), example: "1MB or 1MiB", suggested: ["MB", "MiB"], isPositive: true };
const TIME: Kind = { what: "time", units: times(), example: "10us", suggested: ["us", "s"], isPositive: false };
const RATE: Kind = { what: "bandwidth", units: rates(), example: "100Gbps or 12.5GB/s", suggested: ["Gbps", "GB/s"], isPositive: true };

const WRITTEN = /^\s*(\d+(?:\.\d*)?|\.\d+)(?:e([+-]?\d{1,2}))?\s*([^\s\d.]*)\s*$/;

function read(text: string, kind: Kind): Reading {
  const found = WRITTEN.exec(text);
  if (!found || found[1]!.length > 36 || Math.abs(Number(found[2] ?? 0)) > 40) {
    return { value: null, error: `a ${kind.what} is a number with a unit, such as ${kind.example}` };
  }
  const [, digits, exponent = "0", unit] = found as unknown as [string, string, string | undefined, string];
  const scale = power(10, Math.abs(Number(exponent)));
  const number = Exact.read(digits);
  const factor = kind.units.get(unit) ?? (unit === "" && number.isZero ? Exact.of(1) : undefined);
  if (!factor) return { value: null, error: `no unit ${unit || "is given"}: write it like ${kind.suggested.map((one) => digits + one).join(" or ")}` };
  const value = (Number(exponent) < 0 ? number.by(scale) : number.times(scale)).times(factor);
  if (kind.isPositive && value.isZero) return { value: null, error: `a ${kind.what} must be more than 0` };
  return { value, error: null };
}

export const exactSize = (text: string) => read(text, SIZE);
export const exactTime = (text: string) => read(text, TIME);
export const exactRate = (text: string) => read(text, RATE);
