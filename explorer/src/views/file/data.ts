// The panel of src/linkstep/explorer/panels/file.py, and what the view works out of it.
import type { Column } from "../../model/document";
import type { Wires } from "../../model/wires";
import { counted, sizeText } from "../../model/words";

export interface Finding {
  severity: string;
  rule: string;
  message: string;
  rank: number | null;
  threadblock: number | null;
  step: number | null;
}

export interface Verdict {
  file: string;
  status: "verified" | "refuted" | "unknown" | "unreadable";
  error?: string;
  dialect?: string;
  collective?: string;
  ranks?: number;
  forwarders?: number;
  chunks?: number;
  findings?: Finding[];
  dialects?: string[];
  instructions?: number;
  name?: string | null;
}

// Parts of the text, [first, last) in UTF-16 units of the whole text.
export type Spot = [first: number, last: number];

export interface Mark {
  line: number | null;
  spots: Spot[];
  ranks: number[];
}

export interface Places {
  rank: Column;
  block: Column;
  step: Column;
  first: Column;
  last: Column;
}

export interface Messages {
  link: Column;
  round: Column;
  chunks: Column;
  start: Column;
  end: Column;
  here: Column;
  rank: Column;
  block: Column;
  step: Column;
  first?: Column; // of its chunks, below
  chunk?: Column;
  parts?: Column;
  whose?: Column;
}

export interface Simulated {
  size: number;
  simulated_seconds: number;
  bound_seconds: number | null;
  busiest_link: [string, string];
  utilisation: number;
}

export interface FileData {
  file: string;
  facts: Verdict;
  findings: Mark[];
  text: { at: number; line: number; text: string }[];
  length: number;
  lines: number;
  places: Places;
  wires: Wires | null;
  simulation: Simulated | null;
  messages: Messages | null;
  why_not_played: string | null;
}

export const findingsOf = (facts: Verdict): Finding[] =>
  facts.findings ?? [{ severity: "error", rule: "unreadable", message: facts.error ?? "", rank: null, threadblock: null, step: null }];

export function placeName(rank: number | null, block: number | null, step: number | null): string {
  const parts: string[] = [];
  if (rank !== null && rank >= 0) parts.push(`rank ${rank}`);
  if (block !== null && block >= 0) parts.push(`tb ${block}`);
  if (step !== null && step >= 0) parts.push(`step ${step}`);
  return parts.join(" ");
}

// Where an instruction stands in the text, or what is around it; the numbers are -1 for none.
export function spotOf(places: Places, rank: number, block: number, step: number): Spot | null {
  let nearest = -1;
  for (let k = 0; k < places.rank.length; k++) {
    if (places.rank[k] !== rank) continue;
    const isBlock = places.block[k] === block;
    if (isBlock && places.step[k] === step) return [places.first[k]!, places.last[k]!];
    if (places.step[k] === -1 && (isBlock || places.block[k] === -1)) nearest = k;
  }
  return nearest < 0 ? null : [places.first[nearest]!, places.last[nearest]!];
}

// The messages on their way at a time: they are sorted by when they begin.
export class OnTheWay {
  private readonly latest: Float64Array; // when all up to this one have come

  constructor(private readonly messages: Messages) {
    this.latest = new Float64Array(messages.here.length);
    let most = -1;
    for (let k = 0; k < this.latest.length; k++) this.latest[k] = most = Math.max(most, messages.here[k]!);
  }

  at(time: number): number[] {
    const found: number[] = [];
    for (let k = after(this.latest, time); k < this.latest.length && this.messages.start[k]! <= time; k++) {
      if (this.messages.here[k]! > time) found.push(k);
    }
    return found;
  }

  // When the next message begins, or the last one before; null where there is none.
  next(time: number): number | null {
    return this.messages.start[after(this.messages.start, time)] ?? null;
  }

  before(time: number): number | null {
    let [low, high] = [0, this.messages.start.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.messages.start[middle]! < time) low = middle + 1;
      else high = middle;
    }
    return this.messages.start[low - 1] ?? null;
  }
}

// The first of sorted numbers that is more than a value.
function after(sorted: Column, value: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! > value) high = middle;
    else low = middle + 1;
  }
  return low;
}

// 0: somebody's own data, 1: a sum of some, 2: the sum of all, 3: not known.
export type Content = 0 | 1 | 2 | 3;

export function contentOf(messages: Messages, message: number, ranks: number): Content {
  const { first, parts } = messages;
  if (!first || !parts || first[message] === first[message + 1]) return 3;
  let [least, most] = [Infinity, 0];
  for (let k = first[message]!; k < first[message + 1]!; k++) {
    least = Math.min(least, parts[k]!);
    most = Math.max(most, parts[k]!);
  }
  return least === 0 ? 3 : most === 1 ? 0 : least === ranks ? 2 : 1;
}

const SHOWN = 3;

// "chunks 0 to 3 of rank 2", "chunk 5, sum of 4 ranks".
export function contentText(messages: Messages, message: number, ranks: number): string {
  const { first, chunk, parts, whose } = messages;
  if (!first || !chunk || !parts || !whose) return counted(messages.chunks[message]!, "chunk");
  const groups: { low: number; high: number; says: string }[] = [];
  for (let k = first[message]!; k < first[message + 1]!; k++) {
    const says = chunk[k]! < 0 ? "?" : parts[k] === 1 ? ` of rank ${whose[k]}` : parts[k] === ranks ? ", sum of all" : `, sum of ${parts[k]}`;
    const last = groups[groups.length - 1];
    if (last && last.says === says && last.high + 1 === chunk[k]) last.high = chunk[k]!;
    else groups.push({ low: chunk[k]!, high: chunk[k]!, says });
  }
  const words = groups.slice(0, SHOWN).map(({ low, high, says }) =>
    says === "?" ? "what was never written" : low === high ? `chunk ${low}${says}` : `chunks ${low} to ${high}${says}`,
  );
  return words.join("; ") + (groups.length > SHOWN ? `; ${counted(groups.length - SHOWN, "more piece")}` : "");
}

export const bytesText = (data: FileData, message: number): string =>
  sizeText((data.messages!.chunks[message]! * data.simulation!.size) / data.facts.chunks!);

const GOALS: Record<string, string> = {
  allreduce: "every rank ends with the sum of everyone's data",
  allgather: "every rank ends with everyone's data",
  "reduce-scatter": "every rank ends with its part of the sum of everyone's data",
  "all-to-all": "every rank ends with what each of the others has for it",
  broadcast: "every rank ends with the root's data",
  reduce: "the root ends with the sum of everyone's data",
};

export function verdictText(facts: Verdict): [head: string, says: string] {
  const findings = findingsOf(facts);
  if (facts.status === "verified") {
    return ["Proven right", `${GOALS[facts.collective!] ?? `it does what ${facts.collective} says`}, in any order in which the runtime may run it.`];
  }
  const worst = findings.find((one) => one.severity === (facts.status === "unknown" ? "unknown" : "error"));
  const where = worst ? placeName(worst.rank, worst.threadblock, worst.step) : "";
  const says = worst ? `${where ? `${where}: ` : ""}${worst.message}` : "";
  if (facts.status === "refuted") return [`Wrong for ${facts.dialect}`, says];
  if (facts.status === "unknown") return ["Neither proven nor refuted", says];
  return ["This cannot be read", says];
}
