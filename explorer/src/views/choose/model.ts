// What the choose view works out of its panel: times of rows for any size, alpha and B, and who is the fastest when.
import { Exact } from "../../model/exact";
import { general } from "../../model/words";

export interface Found {
  recipe: string;
  name: string;
  method: string;
  origin: string | null;
  exact: boolean;
  steps: number;
  t_b: string;
  allreduce_at_most: boolean;
  diameter: number | null;
  all_to_all: string | null;
  all_to_all_bound: string | null;
  all_to_all_at_most: boolean;
  all_to_all_bandwidth: number | null;
  bandwidth_optimal: boolean;
  moore_optimal: boolean;
}

export interface Today {
  schedule_name: string;
  recipe: string;
  steps: number;
  t_b: string;
  allreduce_at_most: boolean;
  all_to_all: string | null;
  all_to_all_bound: string | null;
  all_to_all_at_most: boolean;
  all_to_all_bandwidth: number | null;
  our_steps: number | null;
  our_t_b: string | null;
  our_allreduce_seconds: number | null;
  our_allreduce_at_most: boolean | null;
}

interface CostText {
  steps: number;
  t_b: string;
}

interface Cables {
  count: number;
  is_duplex: boolean;
  is_at_most: boolean;
}

interface Pipeline {
  costs: CostText[];
  through_roots?: CostText & { most_pieces: number };
}

export interface Iteration {
  name: string;
  recipe: string | null;
  method: string | null;
  role: string;
  seconds: number;
  compute_seconds: number;
  exposed_allreduce_seconds: number;
  all_to_all_seconds: number;
  reached: boolean;
}

export interface WindowFacts {
  min_bytes: number;
  max_bytes: number;
  name: string;
  method: string;
  steps: number;
  t_b: string;
}

interface Times {
  allreduce: number[];
  all_to_all: number[] | null;
}

export interface ChooseData {
  facts: {
    nodes: number;
    degree: number;
    kind: "duplex" | "directed";
    frontier: Found[];
    bounds: { steps: number; t_b: string; all_to_all_bound: string; all_to_all_bandwidth: number };
    other: { kind: string; frontier: Found[] };
    baselines: Today[];
    best: { recipe: string; name: string; method: string; seconds: number; seconds_at_most: boolean } | null;
    windows: WindowFacts[];
    job?: { model: string; reason: string | null; rows: Iteration[] };
  };
  rank_by: string;
  fabric: { alpha: string; bandwidth: string; exact_alpha: string; exact_bandwidth: string; words: string };
  size: { text: string; exact: string };
  times: { sizes: string[]; frontier: Times[]; today: Times[]; bound: Times } | null;
  methods: Record<string, string>;
  cables: Cables[];
  today: { name: string; cables: Cables; pipeline: Pipeline | null }[];
  job: { frontier: (Iteration | null)[]; today: Iteration[]; bound: Iteration } | null;
  jobs: string[];
  shown: Record<string, number>;
}

// A wiring with a schedule, ours or today's, or what no wiring beats.
export interface Row {
  key: string;
  name: string;
  schedule: string;
  role: "ours" | "today" | "bound";
  cost: CostText;
  pipeline: Pipeline | null;
  isAtMost: boolean;
  flow: string | null;
  isFlowReached: boolean;
  isFlowAtMost: boolean; // whether an all-to-all takes at most what its flow says
  rate: number | null; // bit/s of a server in it, on the panel's fabric
  diameter: number | null;
  cables: Cables | null;
  times: Times | null;
  iteration: Iteration | null; // of a training job
  found: Found | null;
  today: Today | null;
}

export interface Rows {
  ours: Row[];
  today: Row[];
  bound: Row;
}

export function rowsOf(data: ChooseData): Rows {
  const { facts, times } = data;
  const flows = (one: Found | Today) => ({
    flow: one.all_to_all ?? one.all_to_all_bound,
    isFlowReached: one.all_to_all !== null,
    isFlowAtMost: one.all_to_all_at_most,
    rate: one.all_to_all_bandwidth,
  });
  const ours = facts.frontier.map(
    (one, k): Row => ({
      key: `${one.name}|${one.method}|${one.steps}`, name: one.name, schedule: one.method, role: "ours", cost: one, pipeline: null,
      isAtMost: one.allreduce_at_most, ...flows(one), diameter: one.diameter, cables: data.cables[k]!,
      times: times?.frontier[k] ?? null, iteration: data.job?.frontier[k] ?? null, found: one, today: null,
    }),
  );
  const today = facts.baselines.map((one, k): Row => {
    const { name, cables, pipeline } = data.today[k]!;
    return {
      key: `${name}|${one.schedule_name}`, name, schedule: one.schedule_name, role: "today", cost: one, pipeline,
      isAtMost: one.allreduce_at_most, ...flows(one), diameter: null, cables,
      times: times?.today[k] ?? null, iteration: data.job?.today.find((other) => other.name === name) ?? null, found: null, today: one,
    };
  });
  const { steps, t_b, all_to_all_bound, all_to_all_bandwidth } = facts.bounds;
  const bound: Row = {
    key: "bound", name: "no wiring beats", schedule: "", role: "bound", cost: { steps, t_b }, pipeline: null,
    isAtMost: false, flow: all_to_all_bound, isFlowReached: true, isFlowAtMost: false, rate: all_to_all_bandwidth, diameter: steps / 2, cables: null,
    times: times?.bound ?? null, iteration: data.job?.bound ?? null, found: null, today: null,
  };
  return { ours, today, bound };
}

export interface Timed {
  seconds: number;
  cost: CostText; // of a pipeline, the one that is the fastest
  starting: number | null; // seconds that steps take, and that data take; null where a fabric has more to it
  moving: number | null;
}

const EIGHT = Exact.of(8);

// Times on a fabric: exactly as linkstep has them, and the nearest number of the browser's only then.
export class Clock {
  private readonly perByte: Exact; // seconds of M/B for each byte

  constructor(private readonly data: ChooseData, readonly alpha: Exact, readonly bandwidth: Exact) {
    this.perByte = EIGHT.by(bandwidth);
  }

  cost(cost: CostText, size: Exact): Timed {
    const starting = this.alpha.times(Exact.of(cost.steps));
    const moving = Exact.read(cost.t_b).times(size).times(this.perByte);
    return { seconds: starting.plus(moving).number, cost, starting: starting.number, moving: moving.number };
  }

  allreduce(row: Row, size: Exact): Timed {
    if (row.times) return { seconds: row.times.allreduce[this.at(size)]!, cost: row.cost, starting: null, moving: null };
    if (!row.pipeline) return this.cost(row.cost, size);
    const offers = [...row.pipeline.costs, ...this.piped(row.pipeline, size)].map((cost) => this.cost(cost, size));
    return offers.reduce((best, one) => (one.seconds < best.seconds ? one : best));
  }

  // Pipelines through roots that may be the fastest: (lead + k)(alpha + T / k) is least near the root of lead T / alpha.
  private piped({ through_roots: one }: Pipeline, size: Exact): CostText[] {
    if (!one) return [];
    const lead = one.steps - 1;
    const step = Exact.read(one.t_b).by(Exact.of(one.steps));
    const whole = step.times(size).times(this.perByte);
    const best = this.alpha.isZero ? one.most_pieces : Math.floor(Math.sqrt((lead * whole.number) / this.alpha.number));
    return [best - 1, best, best + 1, best + 2].map((near) => {
      const pieces = Math.min(Math.max(1, near), one.most_pieces);
      const t_b = step.times(Exact.of(lead + pieces)).by(Exact.of(pieces));
      return { steps: lead + pieces, t_b: `${t_b.over}/${t_b.under}` };
    });
  }

  exchange(row: Row, size: Exact): number | null {
    if (row.times) return row.times.all_to_all?.[this.at(size)] ?? null;
    if (row.flow === null) return null;
    const { nodes, degree } = this.data.facts;
    return size.times(Exact.of(degree)).times(this.perByte).by(Exact.read(row.flow).times(Exact.of(nodes))).number;
  }

  // bit/s that a server sends to the others in an all-to-all.
  exchangeRate(row: Row): number | null {
    const { nodes, degree } = this.data.facts;
    if (row.times) return row.rate;
    if (row.flow === null) return null;
    return Exact.read(row.flow).times(this.bandwidth).times(Exact.of(nodes - 1)).by(Exact.of(degree)).number;
  }

  private at(size: Exact): number {
    return nearest(this.data.times!.sizes.map((one) => Exact.read(one).number), size.number);
  }
}

// The one of some numbers above 0 that is nearest, by its ratio.
export function nearest(values: number[], to: number): number {
  let found = 0;
  const far = (k: number) => Math.abs(Math.log(values[k]! / to));
  for (let k = 1; k < values.length; k++) if (far(k) < far(found)) found = k;
  return found;
}

export const [SMALLEST, LARGEST] = [2 ** 10, 2 ** 30];

export interface Window {
  row: Row;
  from: number;
  to: number;
}

// Which row is the fastest from the smallest size to the largest, as linkstep.problem.SizeRange says: two rows change
// places at one size at most, and at a size at which both take the same the one that was faster before stays.
export function windowsOf(data: ChooseData, rows: Row[], clock: Clock): Window[] {
  if (data.times) {
    const row = (one: WindowFacts) => rows.find(({ name, schedule, cost }) => name === one.name && schedule === one.method && cost.steps === one.steps)!;
    return data.facts.windows.map((one) => ({ row: row(one), from: one.min_bytes, to: one.max_bytes }));
  }
  const lines = rows.map((row) => ({
    row,
    start: clock.alpha.times(Exact.of(row.cost.steps)),
    slope: Exact.read(row.cost.t_b).times(EIGHT).by(clock.bandwidth),
  }));
  const found: Window[] = [];
  let at = BigInt(SMALLEST);
  while (lines.length && at <= BigInt(LARGEST)) {
    const here = lines.map((line) => line.start.plus(line.slope.times(Exact.of(at))));
    let best = 0;
    for (let k = 1; k < lines.length; k++) {
      if (here[k]!.isLess(here[best]!) || (!here[best]!.isLess(here[k]!) && lines[k]!.slope.isLess(lines[best]!.slope))) best = k;
    }
    const { row, start, slope } = lines[best]!;
    let end = BigInt(LARGEST);
    for (const other of lines) {
      if (!other.slope.isLess(slope)) continue;
      const change = other.start.minus(start).by(slope.minus(other.slope)).floor;
      if (change < end) end = change;
    }
    found.push({ row, from: Number(at), to: Number(end) });
    at = end + 1n;
  }
  return found;
}

// "1.8 times as fast as", as linkstep.cli says it.
export const timesText = (slow: number, fast: number): string => general(slow / fast, 2);

// T_B as a number of four decimals; exactly, it is a fraction.
export const decimalText = (t_b: string): string => Exact.read(t_b).number.toFixed(4);

export function cablesText({ count, is_duplex, is_at_most }: Cables): string {
  const noun = is_duplex ? "duplex cable" : "one-way link";
  return `${is_at_most ? "at most " : ""}${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

// What a row is called beside others: by its schedule, and by that one's steps, where another is of the same wiring.
export function titleOf(row: Row, rows: Row[]): string {
  const same = rows.filter((one) => one !== row && one.name === row.name);
  if (!same.length) return row.name;
  const by = `${row.name} by ${row.schedule}`;
  return same.some((one) => one.schedule === row.schedule) ? `${by} in ${row.cost.steps} steps` : by;
}
