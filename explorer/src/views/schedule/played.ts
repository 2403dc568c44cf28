// A schedule that is played: its rows, what hosts hold, and its look on a graph at a step.
import type { Graph, Look, View } from "../../draw/graph";
import type { Palette } from "../../draw/palette";
import { Holdings } from "../../model/holdings";
import { endsOf, Rows, type PlayedData } from "../../model/schedule";
import { hostName, type Wires } from "../../model/wires";

export interface Limit {
  step: number;
  node: number;
  links: number[];
  shards: string;
  load: string;
  sends: boolean;
  hosts: number[];
}

export interface Marks {
  source: number; // the rank whose shard is followed, or -1
  host: number; // a host that was chosen, or -1
  limit: Limit | null;
}

export class Played {
  readonly rows: Rows;
  readonly ends: Float64Array;
  readonly rankOf: Int32Array;
  private held: Holdings | null = null;

  constructor(readonly wires: Wires, readonly data: PlayedData) {
    this.rows = new Rows(wires, data);
    this.ends = endsOf(data);
    this.rankOf = new Int32Array(wires.nodes).fill(-1);
    for (let r = 0; r < data.node.length; r++) this.rankOf[data.node[r]!] = r;
  }

  get steps(): number {
    return this.data.steps.length;
  }

  // What hosts hold after a step.
  holdings(step: number): Holdings {
    this.held ??= new Holdings(this.rows);
    this.held.go(step);
    return this.held;
  }

  // How much of one rank's shard a host has finished, and still to pass on, as parts of it.
  heldOf(source: number, node: number, step: number): { done: number; toPass: number } {
    const held = this.holdings(step);
    const columns = this.data.root === null ? [source] : Array.from({ length: held.columns }, (_, c) => c);
    let [done, toPass, size] = [0, 0, 0];
    for (const c of columns) {
      done += held.done[node * held.columns + c]!;
      toPass += held.toPass[node * held.columns + c]!;
      size += held.size[c]!;
    }
    return { done: done / size, toPass: toPass / size };
  }
}

// What of a look stays the same during a step: frames only move what is on its way.
export interface StepLook {
  width: Float32Array;
  colour: Uint8Array;
  colours: string[];
  nodeColour: Uint8Array;
  nodeColours: string[];
  busy: Int32Array;
  isTree: boolean;
}

// ``widest`` is how many pixels the busiest link may take.
export function stepLook(played: Played, step: number, marks: Marks, colours: Palette, widest: number): StepLook {
  const made = marks.source >= 0 ? ofShard(played, step, marks.source, colours) : ofLoads(played, step, colours, widest);
  for (const e of marks.limit?.links ?? []) {
    made.colour[e] = made.colours.length;
    made.width[e] = Math.max(made.width[e]!, 3.75);
  }
  return { ...made, colours: [...made.colours, colours.warn] };
}

// A link's colour and width are its load, in proportion to its rate, against the busiest one's of the step.
function ofLoads({ rows, wires }: Played, step: number, colours: Palette, widest: number): StepLook {
  const load = rows.loads(step);
  const links = load.length;
  const rate = wires.bandwidth;
  const takes = (e: number) => (rate ? load[e]! / rate[e]! : load[e]!);
  let cap = 0;
  for (let e = 0; e < links; e++) cap = Math.max(cap, takes(e));
  const [idle, least, more] = [0.2 * widest, 0.35 * widest, 0.65 * widest];
  const [width, colour] = [new Float32Array(links).fill(idle), new Uint8Array(links)];
  const busy: number[] = [];
  for (let e = 0; e < links; e++) {
    if (!load[e]) continue;
    const part = takes(e) / cap;
    width[e] = least + more * part;
    colour[e] = Math.max(1, Math.ceil(part * colours.scale.length - 1e-9));
    busy.push(e);
  }
  return {
    width, colour, colours: [colours.pale, ...colours.scale], nodeColour: new Uint8Array(wires.nodes), nodeColours: [colours.accent],
    busy: Int32Array.from(busy), isTree: false,
  };
}

// The tree of one shard: links that carried it, those that do now, and who has it.
function ofShard(played: Played, step: number, source: number, colours: Palette): StepLook {
  const { rows, wires } = played;
  const links = wires.tail.length;
  const isMany = links > 1500;
  const [width, colour] = [new Float32Array(links).fill(isMany ? 0.25 : 0.5), new Uint8Array(links)];
  const busy = new Set<number>();
  for (const row of rows.of(source)) {
    if (row >= rows.ptr[step + 1]!) break;
    const e = rows.link[row]!;
    const isNow = row >= rows.ptr[step]!;
    if (isNow) busy.add(e);
    colour[e] = isNow ? 2 : Math.max(colour[e]!, 1);
    width[e] = isNow ? (isMany ? 2.5 : 3.25) : isMany ? 1.25 : 2;
  }
  const nodeColour = new Uint8Array(wires.nodes);
  for (let v = 0; v < wires.nodes; v++) {
    const { done, toPass } = played.heldOf(source, v, step);
    nodeColour[v] = done > 0 ? 2 : toPass > 0 ? 1 : 0;
  }
  const { none, toPass, done } = colours.held;
  return {
    width, colour, colours: [colours.pale, colours.line, colours.accent], nodeColour, nodeColours: [none, toPass, done],
    busy: Int32Array.from(busy), isTree: true,
  };
}

const MOST_ARROWS = 600;
const MOST_EDGED = 600;

export function lookAt(graph: Graph, view: View, made: StepLook, marks: Marks, colours: Palette, progress: number | null): Look {
  const radius = graph.radius(view);
  const marked: Look["marked"] = [];
  if (marks.host >= 0) marked.push({ node: marks.host, colour: colours.accent });
  if (marks.limit) for (const node of [marks.limit.node, ...marks.limit.hosts]) marked.push({ node, colour: colours.warn });
  const isMany = made.busy.length > MOST_ARROWS;
  return {
    isByCable: false, linkWidth: made.width, linkColour: made.colour, colours: made.colours, nodeColour: made.nodeColour,
    nodeColours: made.nodeColours, nodeEdge: made.isTree ? colours.soft : colours.paper, nodeRadius: radius,
    hasArrows: !isMany && graph.wires.nodes <= MOST_EDGED, arrowsFrom: 1,
    ink: colours.ink, paper: colours.paper,
    name: (node) => hostName(graph.wires, node), marked, loads: [],
    ...(progress === null ? {} : { moving: { links: made.busy, at: progress, size: isMany ? 1.5 : 4, colour: colours.warn } }),
  };
}
