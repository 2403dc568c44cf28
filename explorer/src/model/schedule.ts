// A schedule as src/linkstep/explorer/panels/schedule.py gives it: its rows by step, and what links carry.
//
// Rows come by receiver (of a reduction by sender), shard and chunk, a link as its number among the ports there; a
// reduction that is the gathering run backwards does not come at all (src/linkstep/explorer/rows.py).
import type { Column } from "./document";
import { linksBack, linksIn, linksOut, type Wires } from "./wires";

interface Part {
  count: Column;
  source: Column;
  port: Column;
  lo: Column;
  hi: Column;
  step: Column;
}

export interface StepFacts {
  busiest: string;
  least: string;
  links: number;
  idle: number;
  reduces: boolean;
  gathers: boolean;
  t_b: string;
  seconds: number;
}

export interface PlayedData {
  key: string;
  name: string;
  collective: string;
  method: string;
  unit: number;
  node: Column; // of each rank
  root: number | null;
  homes: Column | null; // (shard, node, lo, hi) where sums are complete elsewhere than at their own nodes
  rows: { gather: Part; reduce: Part | "mirrored" };
  steps: StepFacts[];
  halves: { reduce: number; names: [string, string] } | null;
  t_b: string;
  seconds: number;
  besides: number;
}

export type Whole = Int32Array | Float64Array;

export const wholes = (count: number, most: number): Whole => (most < 2 ** 31 ? new Int32Array(count) : new Float64Array(count));

// Rows of one kind in the order in which they came: groups of one host and shard stand together.
export interface Grouped {
  host: Int32Array; // the receiver, or of a reduction the sender
  source: Int32Array;
  link: Int32Array;
  step: Int32Array;
  lo: Column;
  hi: Column;
}

export class Rows {
  readonly gathered: Grouped;
  readonly reduced: Grouped;
  readonly count: number;
  // Rows of step t are at ptr[t] up to ptr[t + 1].
  readonly ptr: Int32Array;
  readonly link: Int32Array;
  readonly source: Int32Array;
  readonly lo: Whole;
  readonly hi: Whole;
  readonly reduces: Uint8Array;
  private readonly known = new Map<number, Float64Array>();
  private bySource: { ptr: Int32Array; row: Int32Array } | null = null;

  constructor(readonly wires: Wires, readonly data: PlayedData) {
    const steps = data.steps.length;
    this.gathered = grouped(wires, data.rows.gather, false);
    this.reduced = data.rows.reduce === "mirrored" ? mirrored(wires, this.gathered, steps) : grouped(wires, data.rows.reduce, true);
    const both = [this.gathered, this.reduced];
    this.count = both[0]!.link.length + both[1]!.link.length;
    this.ptr = new Int32Array(steps + 2);
    for (const part of both) for (let k = 0; k < part.step.length; k++) this.ptr[part.step[k]! + 1]!++;
    for (let t = 0; t <= steps; t++) this.ptr[t + 1]! += this.ptr[t]!;
    const next = this.ptr.slice();
    this.link = new Int32Array(this.count);
    this.source = new Int32Array(this.count);
    this.lo = wholes(this.count, data.unit);
    this.hi = wholes(this.count, data.unit);
    this.reduces = new Uint8Array(this.count);
    both.forEach((part, reduces) => {
      for (let k = 0; k < part.link.length; k++) {
        const at = next[part.step[k]!]!++;
        this.link[at] = part.link[k]!;
        this.source[at] = part.source[k]!;
        this.lo[at] = part.lo[k]!;
        this.hi[at] = part.hi[k]!;
        this.reduces[at] = reduces;
      }
    });
  }

  // What each link carries at a step, in the schedule's units.
  loads(step: number): Float64Array {
    const found = this.known.get(step);
    if (found) return found;
    const load = new Float64Array(this.wires.tail.length);
    for (let k = this.ptr[step] ?? 0; k < (this.ptr[step + 1] ?? 0); k++) load[this.link[k]!]! += this.hi[k]! - this.lo[k]!;
    if (this.known.size > 15) this.known.delete(this.known.keys().next().value!);
    this.known.set(step, load);
    return load;
  }

  stepOf(row: number): number {
    let [low, high] = [1, this.ptr.length - 2];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.ptr[middle + 1]! <= row) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // The rows of one shard, by step.
  of(source: number): Int32Array {
    if (!this.bySource) {
      const ptr = new Int32Array(this.data.node.length + 1);
      for (let k = 0; k < this.count; k++) ptr[this.source[k]! + 1]!++;
      for (let s = 0; s < ptr.length - 1; s++) ptr[s + 1]! += ptr[s]!;
      const next = ptr.slice();
      const row = new Int32Array(this.count);
      for (let k = 0; k < this.count; k++) row[next[this.source[k]!]!++] = k;
      this.bySource = { ptr, row };
    }
    return this.bySource.row.subarray(this.bySource.ptr[source]!, this.bySource.ptr[source + 1]!);
  }
}

function grouped(wires: Wires, part: Part, isReduced: boolean): Grouped {
  const count = part.source.length;
  const { ptr, link: links } = isReduced ? linksOut(wires) : linksIn(wires);
  const [host, link, source, step] = [new Int32Array(count), new Int32Array(count), new Int32Array(count), new Int32Array(count)];
  let at = 0;
  for (let v = 0; v < wires.nodes; v++) {
    for (const end = at + part.count[v]!; at < end; at++) {
      host[at] = v;
      link[at] = links[ptr[v]! + part.port[at]!]!;
      source[at] = part.source[at]!;
      step[at] = part.step[at]!;
    }
  }
  return { host, source, link, step, lo: part.lo, hi: part.hi };
}

function mirrored(wires: Wires, gathered: Grouped, steps: number): Grouped {
  const back = linksBack(wires);
  return { ...gathered, link: gathered.link.map((e) => back[e]!), step: gathered.step.map((t) => steps + 1 - t) };
}

// The seconds at which steps end, 0 first.
export function endsOf(data: PlayedData): Float64Array {
  const ends = new Float64Array(data.steps.length + 1);
  data.steps.forEach((one, k) => (ends[k + 1] = ends[k]! + one.seconds));
  return ends;
}

// "reduce-scatter 1 of 4": what a step does.
export function stepName(data: PlayedData, step: number): string {
  const { halves, steps } = data;
  if (halves) {
    const first = step <= halves.reduce;
    return `${halves.names[first ? 0 : 1]} ${first ? step : step - halves.reduce} of ${first ? halves.reduce : steps.length - halves.reduce}`;
  }
  if (data.collective === "all-to-all") return "exchanging";
  const one = steps[step - 1]!;
  if (!one.reduces && !one.gathers) return "nothing";
  return one.reduces && one.gathers ? "reducing and gathering" : one.reduces ? "reducing" : "gathering";
}

// "9 shards", "3/4 of a shard".
export function shardsText(text: string): string {
  if (text === "1") return "1 shard";
  const [over, under] = text.split("/");
  if (under === undefined) return `${Number(over).toLocaleString("en")} shards`;
  return Number(over) < Number(under) ? `${text} of a shard` : `${text} shards`;
}
