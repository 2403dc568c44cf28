// Numbers as people read them, the way linkstep prints them (core/units.py): tests hold the two together.
import { exactRate, exactSize, exactTime } from "./quantities";

// As Python's "%.{digits}g": of two equally near numbers the one whose last digit is even.
export function general(value: number, digits: number): string {
  if (value === 0) return "0";
  const [written, exponent] = rounded(value, digits);
  const point = exponent + 1;
  let text: string;
  if (exponent < -4 || exponent >= digits) {
    text = `${trimmed(`${written[0]}.${written.slice(1)}`)}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
  } else if (point <= 0) text = trimmed(`0.${"0".repeat(-point)}${written}`);
  else text = trimmed(`${written.slice(0, point)}.${written.slice(point)}`);
  return value < 0 ? `-${text}` : text;
}

const trimmed = (text: string): string => text.replace(/\.?0*$/, "");

// The digits of a number, and the power of ten of the first. A browser takes the larger of two equally near ones.
function rounded(value: number, digits: number): [string, number] {
  const split = (text: string): [string, number] => {
    const [mantissa, exponent] = text.split("e") as [string, string];
    return [mantissa.replace(/[-.]/g, ""), Number(exponent)];
  };
  const [whole, exponent] = split(value.toExponential(100));
  const isTie = /^50*$/.test(whole.slice(digits));
  if (isTie && Number(whole[digits - 1]) % 2 === 0) return [whole.slice(0, digits), exponent];
  return split(value.toExponential(digits - 1));
}

const TIMES: [string, number][] = [["s", 1], ["ms", 1e-3], ["us", 1e-6], ["ns", 1e-9]];

export function timeText(seconds: number): string {
  for (const [unit, scale] of TIMES) if (seconds >= scale) return general(seconds / scale, 4) + unit;
  return seconds ? `${general(seconds / 1e-9, 4)}ns` : "0s";
}

const DECIMAL: [string, number][] = [["PB", 1e15], ["TB", 1e12], ["GB", 1e9], ["MB", 1e6], ["KB", 1e3]];
const BINARY: [string, number][] = [["PiB", 2 ** 50], ["TiB", 2 ** 40], ["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]];

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

// What somebody wrote, in bytes, seconds or bit/s; null where it is no such quantity.
export const readSize = (text: string) => exactSize(text).value?.number ?? null;
export const readTime = (text: string) => exactTime(text).value?.number ?? null;
export const readRate = (text: string) => exactRate(text).value?.number ?? null;

// "63/32" as a number.
export function fraction(text: string | number): number {
  if (typeof text === "number") return text;
  const [over, under] = text.split("/");
  return under === undefined ? Number(over) : Number(over) / Number(under);
}

export function counted(count: number, noun: string, nouns = `${noun}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? noun : nouns}`;
}
