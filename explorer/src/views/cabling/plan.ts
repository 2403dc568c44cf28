// A cabling plan on the screen: hosts as boxes with their ports, in racks where these are known, and cables between ports.
import type { View } from "../../draw/graph";
import type { Painter } from "../../draw/painter";
import type { Palette } from "../../draw/palette";

// A cable, as CablingReport of src/linkstep/reports/cabling.py has it.
export interface CableRow {
  cable: number;
  from: string;
  from_port: number;
  to: string;
  to_port: number;
  kind: string;
  panel_from: number;
  panel_to: number;
  from_port_name?: string;
  to_port_name?: string;
  details?: Record<string, string>;
}

export const fromPort = (row: CableRow): string => row.from_port_name ?? String(row.from_port);
export const toPort = (row: CableRow): string => row.to_port_name ?? String(row.to_port);

export interface Host {
  name: string;
  rack: string | null;
}

// What is drawn: a cable of the plan, or one that another plan adds.
export interface Drawn {
  row: CableRow;
  change: Change;
}
export type Change = "kept" | "unplug" | "move" | "plug";

export interface PlanLook {
  colours: Palette;
  isShown: (at: number) => boolean; // whether a cable passes the filters: others are pale
  cable: number; // the selected one, or -1
  host: number;
}

const TITLE = 1.6; // the height of a rack's name, in ports
const HIGH = 2.2; // of a host's box
const GAP_X = 2;
const GAP_Y = 1.5;
const SIGNS: Record<Change, string> = { kept: "", unplug: "\u2715", move: "\u21c4", plug: "+" };

export class PortPlan {
  private readonly unit: number; // a port's width, in layout units
  private readonly wide: number;
  private readonly left: Float32Array; // of boxes
  private readonly top: Float32Array;
  private readonly titles: { x: number; y: number; text: string }[] = [];
  private readonly ends: Int32Array; // from host, from port, to host, to port of each cable
  private readonly scratch: Float32Array;
  private readonly box: [width: number, height: number];
  private readonly portText: Map<number, string>;

  constructor(readonly hosts: Host[], readonly ports: number, readonly cables: Drawn[]) {
    this.wide = Math.max(ports, 3) + 0.6;
    const racks = new Map<string, number[]>();
    hosts.forEach((host, k) => {
      const name = host.rack ?? `\u0000${k}`; // a host without a rack is a block of its own
      const same = racks.get(name);
      if (same) same.push(k);
      else racks.set(name, [k]);
    });
    const hasRacks = hosts.some((host) => host.rack !== null);
    const title = hasRacks ? TITLE : 0;
    const high = title + Math.max(...[...racks.values()].map((one) => one.length)) * (HIGH + GAP_Y) + (hasRacks ? 1 : 0);
    const across = inFullRows(racks.size, Math.sqrt((racks.size * 1.4 * high) / (this.wide + GAP_X)));
    this.box = [across * (this.wide + GAP_X) - GAP_X, Math.ceil(racks.size / across) * high];
    this.unit = 2 / Math.max(...this.box);
    this.left = new Float32Array(hosts.length);
    this.top = new Float32Array(hosts.length);
    [...racks].forEach(([name, inside], at) => {
      const x = (at % across) * (this.wide + GAP_X);
      const y = Math.floor(at / across) * high;
      if (hasRacks) this.titles.push({ x: x + this.wide / 2, y: y + TITLE / 2, text: name.startsWith("\u0000") ? "no rack" : name });
      inside.forEach((host, k) => {
        this.left[host] = x;
        this.top[host] = y + title + k * (HIGH + GAP_Y);
      });
    });
    const number = new Map(hosts.map((host, k) => [host.name, k]));
    this.ends = new Int32Array(4 * cables.length);
    this.portText = new Map();
    cables.forEach(({ row }, k) => {
      const [from, to] = [number.get(row.from)!, number.get(row.to)!];
      this.ends.set([from, row.from_port, to, row.to_port], 4 * k);
      this.portText.set(from * ports + row.from_port, fromPort(row));
      this.portText.set(to * ports + row.to_port, toPort(row));
    });
    this.scratch = new Float32Array(6 * Math.max(cables.length, 1));
  }

  home(width: number, height: number): View {
    const scale = Math.min((width - 24) / (this.box[0] * this.unit), (height - 24) / (this.box[1] * this.unit), 44 / this.unit);
    return {
      scale, width, height,
      left: (width - this.box[0] * this.unit * scale) / 2,
      top: (height - this.box[1] * this.unit * scale) / 2,
    };
  }

  // Where the cable at a place in the list leaves its ports: x0, y0, cx, cy, x1, y1.
  private place(at: number, view: View, to: Float32Array, put: number): void {
    const pitch = this.unit * view.scale;
    for (let end = 0; end < 2; end++) {
      const host = this.ends[4 * at + 2 * end]!;
      to[put + 4 * end] = view.left + (this.left[host]! + 0.8 + this.ends[4 * at + 2 * end + 1]!) * pitch;
      to[put + 4 * end + 1] = view.top + (this.top[host]! + HIGH - 0.1) * pitch;
    }
    const far = Math.hypot(to[put + 4]! - to[put]!, to[put + 5]! - to[put + 1]!);
    to[put + 2] = (to[put]! + to[put + 4]!) / 2;
    to[put + 3] = (to[put + 1]! + to[put + 5]!) / 2 + Math.min(0.6 * pitch + 0.12 * far, 2.4 * pitch);
  }

  paint(painter: Painter, view: View, look: PlanLook): void {
    const { colours } = look;
    const chosen = (k: number) => k === look.cable || (look.host >= 0 && (this.ends[4 * k] === look.host || this.ends[4 * k + 2] === look.host));
    const many = this.cables.length > 600 ? 0.75 : 1.5;
    this.strokes(painter, view, (k) => !look.isShown(k) && !chosen(k), 0.75, colours.pale);
    this.strokes(painter, view, (k) => look.isShown(k) && !chosen(k) && this.cables[k]!.change === "kept", many, colours.line);
    this.boxes(painter, view, look);
    const changes: [Change, string, number[]][] = [["unplug", colours.warn, [6, 4]], ["move", colours.ink, [2, 3]], ["plug", colours.good, []]];
    for (const [change, colour, dash] of changes) {
      this.strokes(painter, view, (k) => look.isShown(k) && !chosen(k) && this.cables[k]!.change === change, 2, colour, dash);
    }
    this.strokes(painter, view, (k) => chosen(k) && k !== look.cable, 2, colours.accent);
    this.strokes(painter, view, (k) => k === look.cable, 3.5, colours.warn);
    this.cables.forEach(({ change }, k) => {
      if (change === "kept" || !look.isShown(k)) return;
      const [x, y] = this.middle(k, view);
      painter.text(x, y, SIGNS[change], { size: 14, colour: colours.ink, halo: colours.paper, bold: true });
    });
  }

  private strokes(painter: Painter, view: View, wanted: (at: number) => boolean, width: number, colour: string, dash: number[] = []): void {
    let count = 0;
    for (let k = 0; k < this.cables.length; k++) {
      if (wanted(k)) this.place(k, view, this.scratch, 6 * count++);
    }
    if (count) painter.strokes(this.scratch, count, width, colour, dash);
  }

  private boxes(painter: Painter, view: View, look: PlanLook): void {
    const { colours } = look;
    const pitch = this.unit * view.scale;
    const lit = new Set<number>();
    this.cables.forEach((_, k) => {
      const [from, fromAt, to, toAt] = this.ends.subarray(4 * k, 4 * k + 4) as unknown as [number, number, number, number];
      if (k !== look.cable && (look.host < 0 || (from !== look.host && to !== look.host))) return;
      lit.add(from * this.ports + fromAt).add(to * this.ports + toAt);
    });
    for (const { x, y, text } of this.titles) {
      if (pitch > 3) painter.text(view.left + x * pitch, view.top + y * pitch, short(text, (this.wide + GAP_X) * pitch, 8.4), { size: 12, colour: colours.ink, bold: true });
    }
    for (let host = 0; host < this.hosts.length; host++) {
      const [x, y] = [view.left + this.left[host]! * pitch, view.top + this.top[host]! * pitch];
      const [wide, high] = [this.wide * pitch, HIGH * pitch];
      if (x > view.width || y > view.height || x + wide < 0 || y + high < 0) continue;
      const edge = host === look.host ? 3 : pitch > 3 ? 1 : 0.5;
      painter.rect(x - edge, y - edge, wide + 2 * edge, high + 2 * edge, host === look.host ? colours.accent : colours.line);
      painter.rect(x, y, wide, high, colours.paper);
      if (wide > 26 && pitch > 5) {
        const size = Math.min(13, 0.8 * pitch);
        painter.text(x + wide / 2, y + 0.55 * pitch, short(this.hosts[host]!.name, wide, 0.68 * size), { size, colour: colours.ink, bold: host === look.host });
      }
      for (let port = 0; port < this.ports; port++) {
        const key = host * this.ports + port;
        const isLit = lit.has(key);
        if (pitch < 5 && !isLit) continue;
        const [left, top] = [x + (0.35 + port) * pitch, y + 1.15 * pitch];
        const text = this.portText.get(key);
        painter.rect(left, top, 0.9 * pitch, 0.9 * pitch, isLit ? colours.accent : colours.pale);
        if (text === undefined) painter.rect(left + 1, top + 1, 0.9 * pitch - 2, 0.9 * pitch - 2, colours.paper);
        else if (pitch > 11) {
          const size = Math.max(6, Math.min(11, (1.5 * pitch) / Math.max(text.length, 2)));
          painter.text(left + 0.45 * pitch, top + 0.45 * pitch, short(text, 0.95 * pitch, 0.55 * size), { size, colour: isLit ? colours.paper : colours.ink });
        }
      }
    }
  }

  private middle(at: number, view: View): [x: number, y: number] {
    const s = ONE;
    this.place(at, view, s, 0);
    return [(s[0]! + 2 * s[2]! + s[4]!) / 4, (s[1]! + 2 * s[3]! + s[5]!) / 4];
  }

  hostAt(x: number, y: number, view: View): number {
    const pitch = this.unit * view.scale;
    const [px, py] = [(x - view.left) / pitch, (y - view.top) / pitch];
    for (let host = 0; host < this.hosts.length; host++) {
      if (px >= this.left[host]! && px <= this.left[host]! + this.wide && py >= this.top[host]! && py <= this.top[host]! + HIGH) return host;
    }
    return -1;
  }

  // The cable in the port at a place on the screen, or under it, or -1.
  cableAt(x: number, y: number, view: View): number {
    const pitch = this.unit * view.scale;
    const host = this.hostAt(x, y, view);
    if (host >= 0) {
      const port = Math.floor((x - view.left) / pitch - this.left[host]! - 0.3);
      if ((y - view.top) / pitch - this.top[host]! < 1.1) return -1;
      return this.cables.findIndex((_, k) => {
        const at = 4 * k;
        return (this.ends[at] === host && this.ends[at + 1] === port) || (this.ends[at + 2] === host && this.ends[at + 3] === port);
      });
    }
    let [found, nearest] = [-1, 36];
    const s = ONE;
    for (let k = 0; k < this.cables.length; k++) {
      this.place(k, view, s, 0);
      for (let step = 0; step <= 24; step++) {
        const [t, r] = [step / 24, 1 - step / 24];
        const dx = r * r * s[0]! + 2 * r * t * s[2]! + t * t * s[4]! - x;
        const dy = r * r * s[1]! + 2 * r * t * s[3]! + t * t * s[5]! - y;
        if (dx * dx + dy * dy < nearest) [found, nearest] = [k, dx * dx + dy * dy];
      }
    }
    return found;
  }
}

// How many blocks stand side by side: near what fits the picture best, and so that rows are full where that is possible.
function inFullRows(blocks: number, best: number): number {
  const off = (across: number) => Math.abs(Math.log(across / best));
  let found = Math.max(1, Math.min(blocks, Math.round(best)));
  let least = Math.log(1.7);
  for (let across = 1; across <= blocks; across++) {
    if (blocks % across === 0 && off(across) < least) [found, least] = [across, off(across)];
  }
  return found;
}

const ONE = new Float32Array(6);

// Text that fits a width: its middle goes, since ends tell names apart.
const short = (text: string, width: number, perLetter: number): string => shortened(text, Math.max(2, Math.floor(width / perLetter)));

export function shortened(text: string, most: number): string {
  const letters = [...text];
  if (letters.length <= most) return text;
  const tail = Math.floor((most - 1) / 2);
  return `${letters.slice(0, most - 1 - tail).join("")}\u2026${letters.slice(letters.length - tail).join("")}`;
}
