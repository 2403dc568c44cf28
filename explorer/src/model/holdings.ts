// What each host holds at each step: for every host and shard, how much of the sum is still to be passed on and how
// much is finished. Changes are kept by step, so that going a step on or back costs what changes in it and no more.
//
// A shard that is gathered is finished where it is held. Of a reduction every rank starts with its part of each shard;
// what it sends, with the sums that came to it, it has passed on, and the shard is finished at its home once all
// parts are in it. Of an all-to-all what counts is the piece that a shard has for the host.
import type { Grouped, PlayedData, Rows } from "./schedule";

const MOST_SLICES = 256;

// A part of a shard, cut from it piece by piece.
class Covered {
  private spans: [number, number][] = [];

  // Take what is not covered of [lo, hi), and return how much that was.
  add(lo: number, hi: number): number {
    let fresh = hi - lo;
    for (const [a, b] of this.spans) fresh -= Math.max(0, Math.min(b, hi) - Math.max(a, lo));
    if (!fresh) return 0;
    const apart: [number, number][] = [];
    for (const [a, b] of this.spans) {
      if (b < lo || a > hi) apart.push([a, b]);
      else [lo, hi] = [Math.min(a, lo), Math.max(b, hi)];
    }
    apart.push([lo, hi]);
    this.spans = apart;
    return fresh;
  }
}

class Changes {
  size = 0;
  step: Int32Array;
  cell: Int32Array;
  toPass: Float64Array;
  done: Float64Array;

  constructor(usual: number) {
    [this.step, this.cell] = [new Int32Array(usual), new Int32Array(usual)];
    [this.toPass, this.done] = [new Float64Array(usual), new Float64Array(usual)];
  }

  add(step: number, cell: number, toPass: number, done: number): void {
    if (this.size === this.step.length) this.grow();
    this.step[this.size] = step;
    this.cell[this.size] = cell;
    this.toPass[this.size] = toPass;
    this.done[this.size++] = done;
  }

  private grow(): void {
    const double = <T extends Int32Array | Float64Array>(old: T): T => {
      const made = new (old.constructor as new (size: number) => T)(2 * old.length);
      made.set(old as never);
      return made;
    };
    [this.step, this.cell] = [double(this.step), double(this.cell)];
    [this.toPass, this.done] = [double(this.toPass), double(this.done)];
  }
}

interface Home {
  shard: number;
  node: number;
  lo: number;
  hi: number;
}

export class Holdings {
  readonly columns: number;
  readonly columnName: (column: number) => string;
  readonly size: Float64Array; // of a column's whole, in the schedule's units
  readonly toPass: Float64Array; // cell host * columns + column
  readonly done: Float64Array;
  readonly toPassOf: Float64Array; // of each host, over all columns
  readonly doneOf: Float64Array;
  step = 0;
  private readonly ptr: Int32Array;
  private readonly cell: Int32Array;
  private readonly toPassBy: Float64Array;
  private readonly doneBy: Float64Array;
  private readonly rank: Int32Array;
  private readonly cuts: number[] | null;
  private changes: Changes;

  constructor(private readonly rows: Rows) {
    const { data, wires } = rows;
    const ranks = data.node.length;
    this.rank = new Int32Array(wires.nodes).fill(-1);
    for (let r = 0; r < ranks; r++) this.rank[data.node[r]!] = r;
    this.cuts = data.root === null ? null : cutsOf(rows);
    this.columns = this.cuts ? this.cuts.length - 1 : ranks;
    this.columnName = this.cuts ? (c) => `part ${c + 1} of ${this.columns}` : (c) => `shard ${c}`;
    this.changes = new Changes(rows.count + wires.nodes + 16);
    const isExchange = data.collective === "all-to-all";
    const usual = isExchange ? data.unit / ranks : data.unit;
    this.size = Float64Array.from({ length: this.columns }, (_, c) => (this.cuts ? this.cuts[c + 1]! - this.cuts[c]! : usual));
    const cells = wires.nodes * this.columns;
    [this.toPass, this.done] = [new Float64Array(cells), new Float64Array(cells)];
    [this.toPassOf, this.doneOf] = [new Float64Array(wires.nodes), new Float64Array(wires.nodes)];
    if (isExchange) this.exchange(usual);
    else {
      const homes = homesOf(data);
      const isReduced = data.collective === "reduce" || data.collective === "reduce-scatter" || data.collective === "allreduce";
      if (isReduced) this.reduce(homes);
      this.gather(homes, !isReduced);
    }
    ({ ptr: this.ptr, cell: this.cell, toPass: this.toPassBy, done: this.doneBy } = sorted(this.changes, data.steps.length));
    this.changes = new Changes(0);
  }

  // Go to what is held after a step.
  go(step: number): void {
    while (this.step < step) this.apply(++this.step, 1);
    while (this.step > step) this.apply(this.step--, -1);
  }

  private apply(step: number, sign: number): void {
    for (let k = this.ptr[step]!; k < this.ptr[step + 1]!; k++) {
      const cell = this.cell[k]!;
      const host = Math.floor(cell / this.columns);
      const [toPass, done] = [sign * this.toPassBy[k]!, sign * this.doneBy[k]!];
      this.toPass[cell]! += toPass;
      this.done[cell]! += done;
      this.toPassOf[host]! += toPass;
      this.doneOf[host]! += done;
    }
  }

  // Note that of [lo, hi) of a shard so much per unit is to be passed on, or finished, from a step on.
  private change(step: number, host: number, shard: number, lo: number, hi: number, amount: number, toPass: number, done: number): void {
    if (!amount) return;
    if (!this.cuts) return this.note(step, host, shard, toPass * amount, done * amount);
    for (let c = 0; c < this.columns; c++) {
      const part = this.columns === 1 ? amount : Math.min(hi, this.cuts[c + 1]!) - Math.max(lo, this.cuts[c]!);
      if (part > 0) this.note(step, host, c, toPass * part, done * part);
    }
  }

  // What is so at first is written at once: nothing goes back behind it.
  private note(step: number, host: number, column: number, toPass: number, done: number): void {
    const cell = host * this.columns + column;
    if (step) return this.changes.add(step, cell, toPass, done);
    this.toPass[cell]! += toPass;
    this.done[cell]! += done;
    this.toPassOf[host]! += toPass;
    this.doneOf[host]! += done;
  }

  private gather(homes: Home[], isFirst: boolean): void {
    const { gathered } = this.rows;
    const own = new Map<number, Home[]>();
    for (const home of homes) {
      if (isFirst) this.change(0, home.node, home.shard, home.lo, home.hi, home.hi - home.lo, 0, 1);
      const key = home.node * this.rows.data.node.length + home.shard;
      own.set(key, [...(own.get(key) ?? []), home]);
    }
    this.arrivals(gathered, own, (k, fresh, lo, hi) => this.change(gathered.step[k]!, gathered.host[k]!, gathered.source[k]!, lo, hi, fresh, 0, 1));
  }

  // Visit what is new to its receiver of each row; rows of a receiver and a shard stand together.
  private arrivals(part: Grouped, own: Map<number, Home[]>, visit: (row: number, fresh: number, lo: number, hi: number) => void): void {
    const { host, source, lo, hi, step } = part;
    const shards = this.rows.data.node.length;
    for (let start = 0; start < host.length; ) {
      let end = start + 1;
      let isApart = true;
      for (; end < host.length && host[end] === host[start] && source[end] === source[start]; end++) isApart &&= hi[end - 1]! <= lo[end]!;
      const held = own.get(host[start]! * shards + source[start]!);
      if (isApart && !held) {
        for (let k = start; k < end; k++) visit(k, hi[k]! - lo[k]!, lo[k]!, hi[k]!);
      } else {
        const covered = new Covered();
        for (const home of held ?? []) covered.add(home.lo, home.hi);
        const order = Array.from({ length: end - start }, (_, k) => start + k).sort((a, b) => step[a]! - step[b]!);
        for (const k of order) this.piecewise(covered, lo[k]!, hi[k]!, (a, b, fresh) => visit(k, fresh, a, b));
      }
      start = end;
    }
  }

  // Where a shard is shown in parts, what is new of each part; else of all at once.
  private piecewise(covered: Covered, lo: number, hi: number, visit: (lo: number, hi: number, fresh: number) => void): void {
    const cuts = this.cuts;
    if (!cuts) return visit(lo, hi, covered.add(lo, hi));
    for (let c = 0; c < this.columns; c++) {
      const [a, b] = [Math.max(lo, cuts[c]!), Math.min(hi, cuts[c + 1]!)];
      const fresh = a < b ? covered.add(a, b) : 0;
      if (fresh) visit(a, b, fresh);
    }
  }

  private reduce(homes: Home[]): void {
    const { data, reduced, wires } = { data: this.rows.data, reduced: this.rows.reduced, wires: this.rows.wires };
    const shards = data.root === null ? Array.from({ length: data.node.length }, (_, s) => s) : [data.root];
    for (const v of data.node as Int32Array) for (const s of shards) this.change(0, v, s, 0, data.unit, data.unit, 1, 0);
    const { host, source, link, lo, hi, step } = reduced;
    const atHome = new Map<number, number[]>();
    const forwarded: number[] = [];
    for (const home of homes) atHome.set(home.node * data.node.length + home.shard, []);
    for (let k = 0; k < host.length; k++) {
      this.change(step[k]!, host[k]!, source[k]!, lo[k]!, hi[k]!, hi[k]! - lo[k]!, -1, 0);
      const head = wires.head[link[k]!]!;
      atHome.get(head * data.node.length + source[k]!)?.push(k);
      if (this.rank[head]! < 0) forwarded.push(k);
    }
    for (const home of homes) this.complete(home, atHome.get(home.node * data.node.length + home.shard)!);
    // A host that takes no part has no sum before one comes to it.
    const covered = new Map<number, Covered>();
    for (const k of forwarded.sort((a, b) => step[a]! - step[b]!)) {
      const head = wires.head[link[k]!]!;
      const key = head * data.node.length + source[k]!;
      if (!covered.has(key)) covered.set(key, new Covered());
      this.piecewise(covered.get(key)!, lo[k]!, hi[k]!, (a, b, fresh) => this.change(step[k]!, head, source[k]!, a, b, fresh, 1, 0));
    }
  }

  // A sum is finished when the last row of it has come home.
  private complete(home: Home, into: number[]): void {
    const { lo, hi, step } = this.rows.reduced;
    const ends = new Set([home.lo, home.hi]);
    for (const k of into) for (const end of [lo[k]!, hi[k]!]) if (home.lo < end && end < home.hi) ends.add(end);
    const cuts = [...ends].sort((a, b) => a - b);
    for (let c = 0; c + 1 < cuts.length; c++) {
      const [a, b] = [cuts[c]!, cuts[c + 1]!];
      let last = 0;
      for (const k of into) if (lo[k]! <= a && b <= hi[k]!) last = Math.max(last, step[k]!);
      this.change(last, home.node, home.shard, a, b, b - a, -1, 1);
    }
  }

  private exchange(piece: number): void {
    const { data, gathered } = this.rows;
    const pairs = gathered;
    for (let r = 0; r < data.node.length; r++) this.change(0, data.node[r]!, r, 0, piece, piece, 0, 1);
    const covered = new Map<number, Covered>();
    const order = Array.from({ length: pairs.host.length }, (_, k) => k).sort((a, b) => pairs.step[a]! - pairs.step[b]!);
    for (const k of order) {
      const [host, shard] = [pairs.host[k]!, pairs.source[k]!];
      const rank = this.rank[host]!;
      if (rank < 0 || rank === shard) continue;
      const [a, b] = [Math.max(pairs.lo[k]!, rank * piece), Math.min(pairs.hi[k]!, (rank + 1) * piece)];
      if (a >= b) continue;
      const key = host * data.node.length + shard;
      if (!covered.has(key)) covered.set(key, new Covered());
      this.change(pairs.step[k]!, host, shard, a, b, covered.get(key)!.add(a, b), 0, 1);
    }
  }
}

// Where sums are complete, and gatherings begin.
function homesOf(data: PlayedData): Home[] {
  const found: Home[] = [];
  if (data.homes) {
    for (let k = 0; k < data.homes.length; k += 4) {
      found.push({ shard: data.homes[k]!, node: data.homes[k + 1]!, lo: data.homes[k + 2]!, hi: data.homes[k + 3]! });
    }
  } else {
    for (let s = 0; s < data.node.length; s++) if (data.root === null || s === data.root) found.push({ shard: s, node: data.node[s]!, lo: 0, hi: data.unit });
  }
  return found;
}

// Where the one shard of a broadcast or a reduce is cut: it is shown in these parts.
function cutsOf(rows: Rows): number[] {
  const ends = new Set([0, rows.data.unit]);
  for (const part of [rows.gathered, rows.reduced]) {
    for (let k = 0; k < part.lo.length && ends.size <= MOST_SLICES; k++) ends.add(part.lo[k]!).add(part.hi[k]!);
  }
  return ends.size > MOST_SLICES ? [0, rows.data.unit] : [...ends].sort((a, b) => a - b);
}

function sorted(changes: Changes, steps: number): { ptr: Int32Array; cell: Int32Array; toPass: Float64Array; done: Float64Array } {
  const ptr = new Int32Array(steps + 2);
  for (let k = 0; k < changes.size; k++) ptr[changes.step[k]! + 1]!++;
  for (let t = 0; t <= steps; t++) ptr[t + 1]! += ptr[t]!;
  const next = ptr.slice();
  const [cell, toPass, done] = [new Int32Array(changes.size), new Float64Array(changes.size), new Float64Array(changes.size)];
  for (let k = 0; k < changes.size; k++) {
    const at = next[changes.step[k]!]!++;
    cell[at] = changes.cell[k]!;
    toPass[at] = changes.toPass[k]!;
    done[at] = changes.done[k]!;
  }
  return { ptr, cell, toPass, done };
}
