// A topology as src/linkstep/explorer/wires.py gives it, and what views work out of it.
import type { Column } from "./document";

export interface Layout {
  name: string;
  xy: Float32Array;
}

export interface Wires {
  name: string;
  nodes: number;
  degree: number;
  duplex: boolean;
  labels: string[] | null;
  racks: string[] | null;
  tail: Column;
  head: Column;
  bandwidth: Column | null;
  layouts: Layout[];
  orbit: Column | null;
}

export const hostName = (wires: Wires, node: number): string => wires.labels?.[node] ?? String(node);

// "rack1" for hosts with names, "host 3" for those with numbers only.
export const hostTitle = (wires: Wires, node: number): string => wires.labels?.[node] ?? `host ${node}`;

// The host of this name, or of this number where no host is called so; -1 where there is none.
export function nodeNamed(wires: Wires, text: string): number {
  const named = wires.labels?.indexOf(text) ?? -1;
  if (named >= 0) return named;
  const number = /^\d+$/.test(text) ? Number(text) : -1;
  return number < wires.nodes ? number : -1;
}

export const linkName = (wires: Wires, link: number): string =>
  `${hostName(wires, wires.tail[link]!)} to ${hostName(wires, wires.head[link]!)}`;

// The links out of each node: out[ptr[v]..ptr[v+1]].
export interface Adjacency {
  ptr: Int32Array;
  link: Int32Array;
}

function grouped(ends: Column, nodes: number): Adjacency {
  const ptr = new Int32Array(nodes + 1);
  for (let e = 0; e < ends.length; e++) ptr[ends[e]! + 1]!++;
  for (let v = 0; v < nodes; v++) ptr[v + 1]! += ptr[v]!;
  const next = ptr.slice();
  const link = new Int32Array(ends.length);
  for (let e = 0; e < ends.length; e++) link[next[ends[e]!]!++] = e;
  return { ptr, link };
}

export const linksOut = (wires: Wires): Adjacency => grouped(wires.tail, wires.nodes);
export const linksIn = (wires: Wires): Adjacency => grouped(wires.head, wires.nodes);

// Hops from a node to every other, -1 where there is no way.
export function distancesFrom(wires: Wires, root: number, out = linksOut(wires)): Int32Array {
  const far = new Int32Array(wires.nodes).fill(-1);
  far[root] = 0;
  const queue = [root];
  for (let at = 0; at < queue.length; at++) {
    const u = queue[at]!;
    for (let k = out.ptr[u]!; k < out.ptr[u + 1]!; k++) {
      const w = wires.head[out.link[k]!]!;
      if (far[w] === -1) {
        far[w] = far[u]! + 1;
        queue.push(w);
      }
    }
  }
  return far;
}

// Rings around a host, by hops; a host stands near the mean direction of the hosts before it that it hears from.
export function layersAround(wires: Wires, root: number): Float32Array {
  const out = linksOut(wires);
  const into = linksIn(wires);
  const far = distancesFrom(wires, root, out);
  const most = Math.max(...far, 1);
  const xy = new Float32Array(2 * wires.nodes);
  const angle = new Float64Array(wires.nodes);
  for (let hop = 1; hop <= most + 1; hop++) {
    const ring: number[] = [];
    for (let v = 0; v < wires.nodes; v++) if ((far[v] === -1 ? most + 1 : far[v]) === hop) ring.push(v);
    if (!ring.length) continue;
    const wanted = new Map<number, number>();
    for (const v of ring) {
      let x = 0;
      let y = 0;
      for (let k = into.ptr[v]!; k < into.ptr[v + 1]!; k++) {
        const u = wires.tail[into.link[k]!]!;
        if (far[u] === hop - 1 && hop > 1) {
          x += Math.cos(angle[u]!);
          y += Math.sin(angle[u]!);
        }
      }
      wanted.set(v, x || y ? Math.atan2(y, x) : (2 * Math.PI * v) / wires.nodes);
    }
    ring.sort((a, b) => wanted.get(a)! - wanted.get(b)! || a - b);
    const start = hop === 1 ? 0 : wanted.get(ring[0]!)!;
    ring.forEach((v, k) => {
      angle[v] = start + (2 * Math.PI * k) / ring.length;
      const radius = hop / (far.includes(-1) ? most + 1 : most);
      xy[2 * v] = radius * Math.sin(angle[v]!);
      xy[2 * v + 1] = radius * Math.cos(angle[v]!);
    });
  }
  return xy;
}

// For each link the one back, or -1: the two are one duplex cable. Parallel links are paired in their order.
export function linksBack(wires: Wires): Int32Array {
  const waiting = new Map<number, number[]>();
  for (let e = 0; e < wires.tail.length; e++) {
    const key = wires.tail[e]! * wires.nodes + wires.head[e]!;
    const same = waiting.get(key);
    if (same) same.push(e);
    else waiting.set(key, [e]);
  }
  const back = new Int32Array(wires.tail.length).fill(-1);
  for (const [key, links] of waiting) {
    const tail = Math.floor(key / wires.nodes);
    const head = key % wires.nodes;
    if (tail >= head) continue;
    const other = waiting.get(head * wires.nodes + tail) ?? [];
    for (let k = 0; k < Math.min(links.length, other.length); k++) {
      back[links[k]!] = other[k]!;
      back[other[k]!] = links[k]!;
    }
  }
  return back;
}
