// Numbers as people read them, the way linkstep prints them (core/units.py): tests hold the two together.

// As Python's "%.{digits}g".
export function general(value: number, digits: number): string {
  if (value === 0) return "0";
  const exponent = Number(value.toExponential(digits - 1).split("e")[1]);
  if (exponent < -4 || exponent >= digits) {
    const [mantissa, power] = value.toExponential(digits - 1).split("e") as [string, string];
    const trimmed = mantissa.includes(".") ? mantissa.replace(/\.?0+$/, "") : mantissa;
    return `${trimmed}e${power[0]}${power.slice(1).padStart(2, "0")}`;
  }
  const fixed = value.toFixed(digits - 1 - exponent);
  return fixed.includes(".") ? fixed.replace(/\.?0+$/, "") : fixed;
}

const TIMES: [string, number][] = [["s", 1], ["ms", 1e-3], ["us", 1e-6], ["ns", 1e-9]];

export function timeText(seconds: number): string {
  for (const [unit, scale] of TIMES) if (seconds >= scale) return general(seconds / scale, 4) + unit;
  return seconds ? `${general(seconds / 1e-9, 4)}ns` : "0s";
}

const DECIMAL: [string, number][] = [["TB", 1e12], ["GB", 1e9], ["MB", 1e6], ["kB", 1e3]];
const BINARY: [string, number][] = [["TiB", 2 ** 40], ["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]];

export function sizeText(bytes: number, binary = false): string {
  for (const [unit, scale] of binary ? BINARY : DECIMAL) {
    const digits = general(bytes / scale, 4);
    if (Number(digits) >= 1) return digits + unit;
  }
  return `${general(bytes, 4)}B`;
}

const RATES: [string, number][] = [["Tbps", 1e12], ["Gbps", 1e9], ["Mbps", 1e6], ["kbps", 1e3]];

export function rateText(bitsPerSecond: number): string {
  for (const [unit, scale] of RATES) {
    const digits = general(bitsPerSecond / scale, 3);
    if (Number(digits) >= 1) return digits + unit;
  }
  return `${general(bitsPerSecond, 3)}bps`;
}

const SIZE_UNITS: Record<string, number> = { b: 1, kb: 1e3, mb: 1e6, gb: 1e9, tb: 1e12, kib: 2 ** 10, mib: 2 ** 20, gib: 2 ** 30, tib: 2 ** 40 };
const TIME_UNITS: Record<string, number> = { s: 1, ms: 1e-3, us: 1e-6, "\u00b5s": 1e-6, ns: 1e-9 };
const RATE_UNITS: Record<string, number> = { bps: 1, kbps: 1e3, mbps: 1e6, gbps: 1e9, tbps: 1e12, g: 1e9, m: 1e6, t: 1e12, k: 1e3 };

function read(text: string, units: Record<string, number>): number | null {
  const found = /^\s*(\d+(?:\.\d*)?(?:e[+-]?\d+)?)\s*([a-z\u00b5]+)\s*$/i.exec(text);
  const scale = found && units[found[2]!.toLowerCase()];
  return found && scale ? Number(found[1]) * scale : null;
}

// What somebody wrote, in bytes, seconds or bit/s; null where it is no such quantity.
export const readSize = (text: string) => read(text, SIZE_UNITS);
export const readTime = (text: string) => read(text, TIME_UNITS);
export const readRate = (text: string) => read(text, RATE_UNITS);

// "63/32" as a number.
export function fraction(text: string | number): number {
  if (typeof text === "number") return text;
  const [over, under] = text.split("/");
  return under === undefined ? Number(over) : Number(over) / Number(under);
}

export function counted(count: number, noun: string, nouns = `${noun}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? noun : nouns}`;
}
