// Where hosts stand and where links run between them, in layout units: gaps, lanes side by side, and bends.
import type { Wires } from "../model/wires";

const MOST_TESTS = 6e7;

export function squareToSegment(x: number, y: number, px: number, py: number, qx: number, qy: number): number {
  const [dx, dy] = [qx - px, qy - py];
  const square = dx * dx + dy * dy;
  const t = square ? Math.max(0, Math.min(1, ((x - px) * dx + (y - py) * dy) / square)) : 0;
  return (px + t * dx - x) ** 2 + (py + t * dy - y) ** 2;
}

// The least box with all hosts, and a little more where they stand on a line.
export function boxOf(xy: Float32Array): number {
  const sides = [0, 1].map((axis) => {
    let [least, most] = [Infinity, -Infinity];
    for (let k = axis; k < xy.length; k += 2) [least, most] = [Math.min(least, xy[k]!), Math.max(most, xy[k]!)];
    return Math.max(most - least, 0.2);
  });
  return sides[0]! * sides[1]!;
}

// Whether all hosts stand on a circle around the origin, as on a ring.
export function onOneCircle(xy: Float32Array): boolean {
  if (xy.length < 6) return false;
  const radius = Math.hypot(xy[0]!, xy[1]!);
  for (let k = 0; k < xy.length; k += 2) {
    if (Math.abs(Math.hypot(xy[k]!, xy[k + 1]!) - radius) > 0.01 * radius) return false;
  }
  return radius > 0;
}

// The least distance between two hosts, by a grid of cells.
export function smallestGap(xy: Float32Array): number {
  const nodes = xy.length / 2;
  if (nodes < 2) return 1;
  const cell = 2 / Math.max(1, Math.ceil(Math.sqrt(nodes)));
  const cells = new Map<number, number[]>();
  const key = (cx: number, cy: number) => (cx + 5000) * 10000 + cy + 5000;
  for (let v = 0; v < nodes; v++) {
    const at = key(Math.floor(xy[2 * v]! / cell), Math.floor(xy[2 * v + 1]! / cell));
    const same = cells.get(at);
    if (same) same.push(v);
    else cells.set(at, [v]);
  }
  let nearest = 4;
  for (let v = 0; v < nodes; v++) {
    const [cx, cy] = [Math.floor(xy[2 * v]! / cell), Math.floor(xy[2 * v + 1]! / cell)];
    for (let dx = -1; dx <= 1; dx++) {
      for (let dy = -1; dy <= 1; dy++) {
        for (const w of cells.get(key(cx + dx, cy + dy)) ?? []) {
          if (w === v) continue;
          nearest = Math.min(nearest, (xy[2 * v]! - xy[2 * w]!) ** 2 + (xy[2 * v + 1]! - xy[2 * w + 1]!) ** 2);
        }
      }
    }
  }
  return Math.max(Math.min(Math.sqrt(nearest), 1), 0.004);
}

// Parallel links get lanes 1, 2, ... to the right of the middle; without a link back they are centred on it.
export function lanes(wires: Wires, back: Int32Array): Float32Array {
  const lane = new Float32Array(wires.tail.length);
  const seen = new Map<number, number[]>();
  for (let e = 0; e < wires.tail.length; e++) {
    const key = wires.tail[e]! * wires.nodes + wires.head[e]!;
    const same = seen.get(key);
    if (same) same.push(e);
    else seen.set(key, [e]);
  }
  for (const links of seen.values()) {
    const hasBack = links.some((e) => back[e]! >= 0);
    links.forEach((e, k) => (lane[e] = hasBack ? k + 0.5 : k - (links.length - 1) / 2));
  }
  return lane;
}

// To the right of the way from the lesser host to the other; on a ring inwards, since names stand outside.
export function bends(wires: Wires, xy: Float32Array, gap: number, isRing: boolean): Float32Array {
  const bend = new Float32Array(wires.tail.length);
  if (wires.tail.length * wires.nodes > MOST_TESTS) return bend;
  const near = (0.34 * gap) ** 2;
  const known = new Map<number, number>();
  for (let e = 0; e < bend.length; e++) {
    const [u, w] = [Math.min(wires.tail[e]!, wires.head[e]!), Math.max(wires.tail[e]!, wires.head[e]!)];
    const key = u * wires.nodes + w;
    let found = known.get(key);
    if (found === undefined) {
      const [x0, y0, x1, y1] = [xy[2 * u]!, xy[2 * u + 1]!, xy[2 * w]!, xy[2 * w + 1]!];
      const length = Math.hypot(x1 - x0, y1 - y0);
      found = 0;
      for (let v = 0; length > 1.5 * gap && v < wires.nodes; v++) {
        if (v === u || v === w) continue;
        if (squareToSegment(xy[2 * v]!, xy[2 * v + 1]!, x0, y0, x1, y1) < near) {
          const isOutwards = (y1 - y0) * (x0 + x1) - (x1 - x0) * (y0 + y1) > 0;
          found = Math.max(1.1 * gap, 0.16 * length) * (isRing && isOutwards ? -1 : 1);
          break;
        }
      }
      known.set(key, found);
    }
    bend[e] = found;
  }
  return bend;
}
