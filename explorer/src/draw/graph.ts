// Wirings: where links run on the screen, how they are painted, and what is under a pointer.
//
// The two links of a duplex cable run side by side, each on the right of its direction, and parallel links beside
// one another; a link that would pass through a host in between is bent around it. Strokes are joined by colour and
// width, so that thousands of links are a few dozen calls.
import { bends, boxOf, lanes, onOneCircle, smallestGap, squareToSegment } from "./geometry";
import type { Painter } from "./painter";
import { readableOn } from "./palette";
import type { Wires } from "../model/wires";

// Layout units to pixels: x * scale + left, top - y * scale.
export interface View {
  scale: number;
  left: number;
  top: number;
  width: number;
  height: number;
}

export interface Look {
  // One line for each duplex cable, or one for each link.
  isByCable: boolean;
  linkWidth: Float32Array; // pixels; 0 is not drawn
  linkColour: Uint8Array; // an index of ``colours``; later ones are painted over earlier ones
  colours: string[];
  nodeColour: Uint8Array;
  nodeColours: string[];
  nodeEdge: string;
  nodeRadius: number;
  hasArrows: boolean;
  ink: string;
  paper: string;
  name: (node: number) => string;
  marked: { node: number; colour: string }[];
  loads: { link: number; at: number; colour: string; size: number }[]; // what moves, ``at`` of its way from 0 to 1
  moving?: { links: Int32Array; at: number; size: number; colour: string }; // the same of many links at once
  arrowsFrom?: number; // the first of ``colours`` whose links have arrows; all where it is missing
}

// Links of one colour and width, placed for a view: kept as long as all of that stays what it is.
interface Placed {
  view: View;
  isByCable: boolean;
  width: Float32Array;
  colour: Uint8Array;
  strokes: { segments: Float32Array; width: number; colour: number }[];
}

const MOST_LETTERS = 24; // of a name beside a host
const WIDTHS = 10; // widths that are told apart, in a pixel
const SEPARATION = 4; // pixels between links side by side

export class Graph {
  // Where the control point of a bent link is, off the middle of its chord, in layout units; 0 for straight ones.
  private readonly bend: Float32Array;
  // How far a link runs off the line between its hosts, in units of SEPARATION, to the right.
  private readonly lane: Float32Array;
  private readonly isFirstOfCable: Uint8Array;
  private readonly scratch: Float32Array;
  private readonly isRing: boolean;
  private placed: Placed | null = null;
  readonly gap: number;
  private readonly room: number; // that hosts and links take, in square layout units
  private readonly length: { cables: number; links: number }; // of all lines together, in layout units

  constructor(readonly wires: Wires, readonly xy: Float32Array, back: Int32Array) {
    const links = wires.tail.length;
    this.scratch = new Float32Array(6 * Math.max(links, wires.nodes, 1));
    this.isFirstOfCable = new Uint8Array(links);
    for (let e = 0; e < links; e++) this.isFirstOfCable[e] = back[e]! < 0 || e < back[e]! ? 1 : 0;
    this.gap = smallestGap(xy);
    this.lane = lanes(wires, back);
    this.isRing = onOneCircle(xy);
    this.bend = bends(wires, xy, this.gap, this.isRing);
    this.room = this.isRing ? Math.PI * (xy[0]! ** 2 + xy[1]! ** 2) : boxOf(xy);
    this.length = { cables: 0, links: 0 };
    for (let e = 0; e < links; e++) {
      const long = Math.hypot(xy[2 * wires.tail[e]!]! - xy[2 * wires.head[e]!]!, xy[2 * wires.tail[e]! + 1]! - xy[2 * wires.head[e]! + 1]!);
      this.length.links += long;
      if (this.isFirstOfCable[e]) this.length.cables += long;
    }
  }

  // The view in which everything is seen: bent links too, and the names around a ring.
  home(width: number, height: number): View {
    const names = this.isRing ? 6.8 * Math.min(MOST_LETTERS, longestName(this.wires)) : 0;
    return fitted(this.outline(), width, height, 34, Math.min(width / 4, Math.max(34, names + 24)));
  }

  // The places of the hosts, and where bent links are farthest from their chords.
  private outline(): Float32Array {
    const found = Array.from(this.xy);
    const { tail, head } = this.wires;
    for (let e = 0; e < this.bend.length; e++) {
      if (!this.bend[e]) continue;
      const [u, w] = [Math.min(tail[e]!, head[e]!), Math.max(tail[e]!, head[e]!)];
      const [dx, dy] = [this.xy[2 * w]! - this.xy[2 * u]!, this.xy[2 * w + 1]! - this.xy[2 * u + 1]!];
      const off = this.bend[e]! / 2 / (Math.hypot(dx, dy) || 1);
      found.push((this.xy[2 * u]! + this.xy[2 * w]!) / 2 + dy * off, (this.xy[2 * u + 1]! + this.xy[2 * w + 1]!) / 2 - dx * off);
    }
    return Float32Array.from(found);
  }

  x(node: number, view: View): number {
    return this.xy[2 * node]! * view.scale + view.left;
  }

  y(node: number, view: View): number {
    return view.top - this.xy[2 * node + 1]! * view.scale;
  }

  radius(view: View): number {
    return Math.max(1.5, Math.min(13, 0.3 * this.gap * view.scale));
  }

  // How wide lines may be, in pixels, if they are to leave half of the picture free: many long ones are thin, and all
  // grow as a part is looked at closely.
  widest(view: View, isByCable: boolean): number {
    const fair = (0.5 * this.room * view.scale) / (this.length[isByCable ? "cables" : "links"] || 1);
    return Math.max(0.3, Math.min(3.5, fair));
  }

  // Write a link's segment at ``at`` of ``to``: x0, y0, cx, cy, x1, y1.
  private place(link: number, view: View, isByCable: boolean, to: Float32Array, at: number): void {
    const u = this.wires.tail[link]!;
    const w = this.wires.head[link]!;
    let x0 = this.x(u, view);
    let y0 = this.y(u, view);
    let x1 = this.x(w, view);
    let y1 = this.y(w, view);
    const length = Math.hypot(x1 - x0, y1 - y0) || 1;
    const rightX = -(y1 - y0) / length; // to the right of the way, on a screen whose y grows downwards
    const rightY = (x1 - x0) / length;
    const off = isByCable ? this.lane[link]! - Math.sign(this.lane[link]!) * 0.5 : this.lane[link]!;
    const shift = off * Math.min(SEPARATION, 0.14 * this.gap * view.scale);
    x0 += rightX * shift;
    y0 += rightY * shift;
    x1 += rightX * shift;
    y1 += rightY * shift;
    to[at] = x0;
    to[at + 1] = y0;
    to[at + 4] = x1;
    to[at + 5] = y1;
    // A cable bends the same way whichever of its links is asked: by the lesser host's right.
    const bend = this.bend[link]! * view.scale * (u < w ? 1 : -1);
    if (bend) {
      to[at + 2] = (x0 + x1) / 2 + rightX * bend;
      to[at + 3] = (y0 + y1) / 2 + rightY * bend;
    } else {
      to[at + 2] = NaN;
      to[at + 3] = NaN;
    }
  }

  // The point of a link at ``t`` of its way, and the direction there.
  point(link: number, t: number, view: View, isByCable = false): [x: number, y: number, dx: number, dy: number] {
    const s = ONE;
    this.place(link, view, isByCable, s, 0);
    if (s[2] !== s[2]) return [s[0]! + (s[4]! - s[0]!) * t, s[1]! + (s[5]! - s[1]!) * t, s[4]! - s[0]!, s[5]! - s[1]!];
    const r = 1 - t;
    const on = (k: number) => r * r * s[k]! + 2 * r * t * s[k + 2]! + t * t * s[k + 4]!;
    const by = (k: number) => 2 * r * (s[k + 2]! - s[k]!) + 2 * t * (s[k + 4]! - s[k + 2]!);
    return [on(0), on(1), by(0), by(1)];
  }

  paint(painter: Painter, view: View, look: Look): void {
    this.paintLinks(painter, view, look);
    if (look.hasArrows) this.paintArrows(painter, view, look);
    this.paintLoads(painter, view, look);
    this.paintNodes(painter, view, look);
  }

  private paintLinks(painter: Painter, view: View, look: Look): void {
    const kept = this.placed;
    const isKept =
      kept && kept.view === view && kept.isByCable === look.isByCable && kept.width === look.linkWidth && kept.colour === look.linkColour;
    if (!isKept) this.placed = this.placeLinks(view, look);
    for (const { segments, width, colour } of this.placed!.strokes) {
      painter.strokes(segments, segments.length / 6, width, look.colours[colour]!);
    }
  }

  private placeLinks(view: View, look: Look): Placed {
    const buckets = new Map<number, number[]>();
    for (let e = 0; e < this.wires.tail.length; e++) {
      const width = look.linkWidth[e]!;
      if (width <= 0 || (look.isByCable && !this.isFirstOfCable[e])) continue;
      const key = look.linkColour[e]! * 64 + Math.max(1, Math.min(63, Math.round(width * WIDTHS)));
      const same = buckets.get(key);
      if (same) same.push(e);
      else buckets.set(key, [e]);
    }
    const strokes = [...buckets.keys()].sort((a, b) => a - b).map((key) => {
      const links = buckets.get(key)!;
      const segments = new Float32Array(6 * links.length);
      for (let k = 0; k < links.length; k++) this.place(links[k]!, view, look.isByCable, segments, 6 * k);
      return { segments, width: (key % 64) / WIDTHS, colour: Math.floor(key / 64) };
    });
    return { view, isByCable: look.isByCable, width: look.linkWidth, colour: look.linkColour, strokes };
  }

  private paintArrows(painter: Painter, view: View, look: Look): void {
    const byColour = new Map<number, number[]>();
    for (let e = 0; e < this.wires.tail.length; e++) {
      if (look.linkWidth[e]! <= 0 || look.linkColour[e]! < (look.arrowsFrom ?? 0)) continue;
      const same = byColour.get(look.linkColour[e]!);
      if (same) same.push(e);
      else byColour.set(look.linkColour[e]!, [e]);
    }
    for (const colour of [...byColour.keys()].sort((a, b) => a - b)) {
      const links = byColour.get(colour)!;
      links.forEach((e, k) => {
        const [x, y, dx, dy] = this.point(e, 0.62, view);
        const length = Math.hypot(dx, dy) || 1;
        const size = 3 + 1.2 * look.linkWidth[e]!;
        const [ax, ay] = [(dx / length) * size, (dy / length) * size];
        this.scratch.set([x + ax, y + ay, x - ax - ay * 0.8, y - ay + ax * 0.8, x - ax + ay * 0.8, y - ay - ax * 0.8], 6 * k);
      });
      painter.triangles(this.scratch, links.length, look.colours[colour]!);
    }
  }

  private paintLoads(painter: Painter, view: View, look: Look): void {
    const byColour = new Map<string, number[]>();
    for (const load of look.loads) {
      const [x, y] = this.point(load.link, load.at, view);
      const same = byColour.get(load.colour) ?? [];
      same.push(x, y, load.size);
      byColour.set(load.colour, same);
    }
    for (const [colour, discs] of byColour) painter.discs(Float32Array.from(discs), discs.length / 3, colour, look.paper, 1);
    if (look.moving) this.paintMoving(painter, view, look.moving);
  }

  private paintMoving(painter: Painter, view: View, { links, at, size, colour }: NonNullable<Look["moving"]>): void {
    const [s, discs] = [ONE, this.scratch];
    const r = 1 - at;
    for (let k = 0; k < links.length; k++) {
      this.place(links[k]!, view, false, s, 0);
      const isStraight = s[2] !== s[2];
      for (let axis = 0; axis < 2; axis++) {
        discs[3 * k + axis] = isStraight
          ? s[axis]! + (s[axis + 4]! - s[axis]!) * at
          : r * r * s[axis]! + 2 * r * at * s[axis + 2]! + at * at * s[axis + 4]!;
      }
      discs[3 * k + 2] = size;
    }
    painter.discs(discs, links.length, colour);
  }

  private paintNodes(painter: Painter, view: View, look: Look): void {
    const radius = look.nodeRadius;
    for (const { node, colour } of look.marked) {
      painter.discs(Float32Array.of(this.x(node, view), this.y(node, view), radius + 4), 1, colour);
    }
    for (let colour = 0; colour < look.nodeColours.length; colour++) {
      let count = 0;
      for (let v = 0; v < this.wires.nodes; v++) {
        if (look.nodeColour[v] !== colour) continue;
        this.scratch[3 * count] = this.x(v, view);
        this.scratch[3 * count + 1] = this.y(v, view);
        this.scratch[3 * count + 2] = radius;
        count++;
      }
      if (count) painter.discs(this.scratch, count, look.nodeColours[colour]!, radius > 3 ? look.nodeEdge : undefined);
    }
    this.paintNames(painter, view, look);
  }

  private paintNames(painter: Painter, view: View, look: Look): void {
    const radius = look.nodeRadius;
    const room = this.gap * view.scale;
    const inks = look.nodeColours.map((colour) => readableOn(colour, look.ink, look.paper));
    const isNamed = radius >= 9 || this.isRing || room > 12 + 6.2;
    const digits = this.wires.labels ? 0 : String(this.wires.nodes - 1).length; // all numbers, or none
    for (let v = 0; v < this.wires.nodes; v++) {
      if (!isNamed && !look.marked.some((one) => one.node === v)) continue;
      const [x, y] = [this.x(v, view), this.y(v, view)];
      if (x < -40 || y < -40 || x > view.width + 40 || y > view.height + 40) continue;
      const name = look.name(v);
      const isMarked = look.marked.some((one) => one.node === v);
      if (name.length <= 3 && radius >= 9) {
        painter.text(x, y, name, { size: Math.min(11, radius), colour: inks[look.nodeColour[v]!]! });
      } else if (isMarked || room > 12 + 6.2 * Math.min(Math.max(name.length, digits), 14) || (this.isRing && this.hasRoomOutside(v, name, room))) {
        const shown = name.length > MOST_LETTERS ? `${name.slice(0, MOST_LETTERS - 1)}\u2026` : name;
        this.paintName(painter, v, x, y, radius, shown, look);
      }
    }
  }

  // At the sides of a ring names are below one another, at its top and bottom next to each other.
  private hasRoomOutside(node: number, name: string, room: number): boolean {
    const aside = Math.abs(this.xy[2 * node]!) / Math.hypot(this.xy[2 * node]!, this.xy[2 * node + 1]!);
    return aside < 0.05 ? room > 8 + 3.1 * Math.min(name.length, MOST_LETTERS) : room * aside > 14;
  }

  // Below a host; around a ring on its outside, where no links are.
  private paintName(painter: Painter, node: number, x: number, y: number, radius: number, text: string, look: Look): void {
    const style = { size: 11, colour: look.ink, halo: look.paper };
    if (!this.isRing) {
      painter.text(x, y + radius + 8, text, style);
      return;
    }
    const far = Math.hypot(this.xy[2 * node]!, this.xy[2 * node + 1]!);
    const [outX, outY] = [this.xy[2 * node]! / far, -this.xy[2 * node + 1]! / far];
    const align = outX > 0.25 ? "left" : outX < -0.25 ? "right" : "center";
    painter.text(x + outX * (radius + 5), y + outY * (radius + 9), text, { ...style, align });
  }

  // The host within reach of a place on the screen, or -1.
  nodeAt(x: number, y: number, view: View): number {
    const reach = Math.max(8, this.radius(view) + 3);
    let [found, nearest] = [-1, reach * reach];
    for (let v = 0; v < this.wires.nodes; v++) {
      const far = (this.x(v, view) - x) ** 2 + (this.y(v, view) - y) ** 2;
      if (far < nearest) [found, nearest] = [v, far];
    }
    return found;
  }

  // The link within reach of a place on the screen, or -1.
  linkAt(x: number, y: number, view: View, isByCable: boolean): number {
    let [found, nearest] = [-1, 36];
    for (let e = 0; e < this.wires.tail.length; e++) {
      if (isByCable && !this.isFirstOfCable[e]) continue;
      const far = this.squareTo(e, x, y, view, isByCable);
      if (far < nearest) [found, nearest] = [e, far];
    }
    return found;
  }

  private squareTo(link: number, x: number, y: number, view: View, isByCable: boolean): number {
    let nearest = Infinity;
    const pieces = this.bend[link] ? 12 : 1;
    let [px, py] = this.point(link, 0, view, isByCable);
    for (let k = 1; k <= pieces; k++) {
      const [qx, qy] = this.point(link, k / pieces, view, isByCable);
      nearest = Math.min(nearest, squareToSegment(x, y, px, py, qx, qy));
      [px, py] = [qx, qy];
    }
    return nearest;
  }
}

const ONE = new Float32Array(6);

const longestName = (wires: Wires): number => (wires.labels ?? []).reduce((most, name) => Math.max(most, name.length), 0);

// The view that fits a layout (a box of side 2 around the origin) into a picture.
function fitted(xy: Float32Array, width: number, height: number, margin = 34, sideMargin = margin): View {
  let [left, right, low, high] = [Infinity, -Infinity, Infinity, -Infinity];
  for (let k = 0; k < xy.length; k += 2) {
    left = Math.min(left, xy[k]!);
    right = Math.max(right, xy[k]!);
    low = Math.min(low, xy[k + 1]!);
    high = Math.max(high, xy[k + 1]!);
  }
  const room = (size: number, free: number) => Math.max(size - 2 * free, 20);
  const scale = Math.min(room(width, sideMargin) / Math.max(right - left, 1e-3), room(height, margin) / Math.max(high - low, 1e-3));
  const most = Math.min(scale, Math.min(width, height)); // one host alone stands in the middle, not at infinity
  return { scale: most, left: width / 2 - ((left + right) / 2) * most, top: height / 2 + ((low + high) / 2) * most, width, height };
}
