// A timeline as src/linkstep/explorer/panels/time.py gives it, and what is looked up in it while it moves. Spans are
// sorted by lane, track and start; those of a track never overlap, so that every question is a binary search.
import type { Column } from "../../model/document";
import { general, sizeText } from "../../model/words";

export interface Detail {
  name: string;
  texts: string[] | null; // where values are numbers of these, -1 for none
  values: Column;
}

export interface TimeData {
  asked: Asked | null;
  why_not?: string; // nothing else is there, but for what was asked
  end: number; // of the last span, in seconds, as all times
  lasts: number; // until all is done
  facts: [string, string][];
  beside: { caption: string; heads: string[]; rows: string[][] } | null;
  groups: string[];
  lanes: { name: string[]; group: Column; busy: Column };
  names: string[];
  kinds: string[];
  spans: { lane: Column; track: Column; start: Float64Array; end: Float64Array; name: Column; kind: Column };
  details: Detail[];
  flows: { before: Column; after: Column };
  critical: Column;
  instants: { name: string; time: number }[];
}

// What a live page may ask instead, and what it asked.
export interface Asked {
  what: string;
  job: string;
  collective: string;
  to: string;
  size: string;
  alpha: string;
  bandwidth: string;
  jobs: string[];
  collectives: string[];
  targets: string[];
}

// A list of spans for each span: of[ptr[k]..ptr[k + 1]].
interface Lists {
  ptr: Int32Array;
  of: Int32Array;
}

function lists(by: Column, of: Column, size: number): Lists {
  const ptr = new Int32Array(size + 1);
  for (let k = 0; k < by.length; k++) ptr[by[k]! + 1]!++;
  for (let k = 0; k < size; k++) ptr[k + 1]! += ptr[k]!;
  const next = ptr.slice();
  const found = new Int32Array(by.length);
  for (let k = 0; k < by.length; k++) found[next[by[k]!]!++] = of[k]!;
  return { ptr, of: found };
}

// A span of the critical path, numbered from 1.
export interface Link {
  span: number;
  place: number;
  pause: number; // in seconds, from the end of all before it to its start
  adds: number;
}

export class TimeModel {
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly kind: Column;
  readonly trackLane: Int32Array;
  readonly trackPtr: Int32Array; // spans of track k: trackPtr[k]..trackPtr[k + 1]
  readonly laneTrack: Int32Array; // tracks of lane k: laneTrack[k]..laneTrack[k + 1]
  readonly groupLanes: number[][];
  readonly criticalTrack: Int32Array; // of each of its spans
  readonly criticalTurns: Int32Array; // its places after which it goes on on another track
  readonly criticalAt: Int32Array; // a span's place on the critical path, from 1; 0 where it is not on it
  readonly whole: number; // when the last thing happens
  private readonly busyBefore: Float64Array; // seconds of all spans before a span
  private readonly before: Lists;
  private readonly after: Lists;
  private readonly sharedNames: Set<string>; // of lanes

  constructor(readonly data: TimeData) {
    const { spans, lanes } = data;
    [this.start, this.end, this.kind] = [spans.start, spans.end, spans.kind];
    const count = this.start.length;
    const tracks = new Int32Array(lanes.name.length).fill(1);
    for (let k = 0; k < count; k++) if (spans.track[k]! >= tracks[spans.lane[k]!]!) tracks[spans.lane[k]!] = spans.track[k]! + 1;
    this.laneTrack = new Int32Array(tracks.length + 1);
    for (let k = 0; k < tracks.length; k++) this.laneTrack[k + 1] = this.laneTrack[k]! + tracks[k]!;
    const total = this.laneTrack[tracks.length]!;
    this.trackLane = new Int32Array(total);
    for (let k = 0; k < tracks.length; k++) this.trackLane.fill(k, this.laneTrack[k], this.laneTrack[k + 1]);
    this.trackPtr = new Int32Array(total + 1);
    this.busyBefore = new Float64Array(count + 1);
    for (let k = 0; k < count; k++) {
      this.trackPtr[this.laneTrack[spans.lane[k]!]! + spans.track[k]! + 1]!++;
      this.busyBefore[k + 1] = this.busyBefore[k]! + this.end[k]! - this.start[k]!;
    }
    for (let k = 0; k < total; k++) this.trackPtr[k + 1]! += this.trackPtr[k]!;
    this.groupLanes = data.groups.map(() => []);
    for (let k = 0; k < lanes.name.length; k++) this.groupLanes[lanes.group[k]!]!.push(k);
    this.before = lists(data.flows.after, data.flows.before, count);
    this.after = lists(data.flows.before, data.flows.after, count);
    const names = new Set<string>();
    this.sharedNames = new Set(lanes.name.filter((name) => names.has(name) || !names.add(name)));
    this.criticalAt = new Int32Array(count);
    for (let k = 0; k < data.critical.length; k++) this.criticalAt[data.critical[k]!] = k + 1;
    this.criticalTrack = Int32Array.from(data.critical, (span) => this.track(span));
    this.criticalTurns = this.criticalTrack.map((_, k) => k).filter((k) => k + 1 < data.critical.length && this.criticalTrack[k] !== this.criticalTrack[k + 1]);
    this.whole = Math.max(data.end, ...data.instants.map((mark) => mark.time)) || 1e-9;
  }

  get count(): number {
    return this.start.length;
  }

  track(span: number): number {
    const { lane, track } = this.data.spans;
    return this.laneTrack[lane[span]!]! + track[span]!;
  }

  // What a span waited for, and what waited for it.
  causes = (span: number): Int32Array => this.before.of.subarray(this.before.ptr[span]!, this.before.ptr[span + 1]!);
  effects = (span: number): Int32Array => this.after.of.subarray(this.after.ptr[span]!, this.after.ptr[span + 1]!);

  // The first span of a track from ``low`` on that starts at ``time`` or later, looked for near ``low`` first.
  startingFrom(track: number, time: number, low = this.trackPtr[track]!): number {
    const stop = this.trackPtr[track + 1]!;
    let step = 1;
    let high = low;
    while (high < stop && this.start[high]! < time) {
      low = high + 1;
      high += step;
      step *= 2;
    }
    if (high > stop) high = stop;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.start[middle]! < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // The first span of a track that ends after ``time``.
  endingAfter(track: number, time: number): number {
    let [low, high] = [this.trackPtr[track]!, this.trackPtr[track + 1]!];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.end[middle]! <= time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // Spans of a track that are seen from one time to another, those that take no time too: first and past the last.
  seen(track: number, from: number, to: number): [number, number] {
    let first = this.endingAfter(track, from);
    const least = this.trackPtr[track]!;
    while (first > least && this.start[first - 1]! >= from) first--; // of no length, at the very edge
    return [first, Math.max(first, this.startingFrom(track, to, first))];
  }

  busy(first: number, last: number): number {
    return this.busyBefore[last]! - this.busyBefore[first]!;
  }

  // Add to each of the bins the seconds that a track is busy in it.
  addActivity(track: number, from: number, to: number, bins: Float64Array): void {
    const stop = this.trackPtr[track + 1]!;
    let first = this.endingAfter(track, from);
    if (first === stop || this.start[first]! >= to) return;
    const width = (to - from) / bins.length;
    let bin = Math.max(0, Math.floor((this.start[first]! - from) / width));
    let time = from + bin * width;
    let done = this.busyBefore[first]! + Math.max(0, time - this.start[first]!);
    for (; bin < bins.length; bin++) {
      time = from + (bin + 1) * width;
      const next = this.startingFrom(track, time, first);
      let now = this.busyBefore[next]!;
      if (next > first) now -= Math.max(0, this.end[next - 1]! - time);
      else if (next === stop) break;
      bins[bin]! += Math.max(0, now - done);
      done = now;
      first = Math.max(first, next - 1);
      if (next === stop && this.end[stop - 1]! <= time) break;
    }
  }

  // The span of a track at a time, or the nearest within ``reach``; -1: none.
  at(track: number, time: number, reach: number): number {
    const [first, last] = [this.trackPtr[track]!, this.trackPtr[track + 1]!];
    const next = this.startingFrom(track, time);
    let best = -1;
    let away = reach;
    for (const span of [next - 1, next]) {
      if (span < first || span >= last) continue;
      const far = Math.max(this.start[span]! - time, time - this.end[span]!, 0);
      if (far <= away) [best, away] = [span, far];
    }
    return best;
  }

  detail(span: number, name: string): string | null {
    const found = this.data.details.find((one) => one.name === name);
    return found ? detailText(found, span) : null;
  }

  name = (span: number): string => this.data.names[this.data.spans.name[span]!]!;
  kindName = (span: number): string => this.data.kinds[this.kind[span]!]!;
  laneName = (lane: number): string => this.data.lanes.name[lane]!;
  groupName = (lane: number): string => this.data.groups[this.data.lanes.group[lane]!]!;

  // What a span is in a few words: "round 2, 0 to 3".
  brief(span: number): string {
    const [from, to] = [this.detail(span, "from"), this.detail(span, "to")];
    return `${this.name(span)}, ${from !== null && to !== null ? `${from} to ${to}` : this.place(span)}`;
  }

  // The lane of a span by its name, or by its group's where every group has a lane of this name, as each rank has calls.
  place(span: number): string {
    const lane = this.data.spans.lane[span]!;
    return this.sharedNames.has(this.laneName(lane)) ? this.groupName(lane) : this.laneName(lane);
  }

  // The critical path, with what each of its spans adds to the time: the pauses and what is added make up the end of all.
  // A span may begin before the one before it ends, as a wait does for the send that ends it, and end before it too.
  criticalPath(): Link[] {
    let reached = 0;
    return Array.from(this.data.critical, (span, k) => {
      const begun = Math.max(reached, this.start[span]!);
      const ended = Math.max(begun, this.end[span]!);
      const link = { span, place: k + 1, pause: begun - reached, adds: ended - begun };
      reached = ended;
      return link;
    });
  }
}

export function detailText(detail: Detail, span: number): string | null {
  const value = detail.values[span]!;
  if (detail.texts) return value < 0 ? null : detail.texts[value]!;
  if (Number.isNaN(value)) return null;
  return detail.name === "bytes" ? sizeText(value) : general(value, 10);
}

// A time with as many digits as it takes to tell it from its neighbours: "208.7653us".
export function exactTime(seconds: number, digits = 10): string {
  for (const [unit, scale] of [["s", 1], ["ms", 1e-3], ["us", 1e-6]] as const) if (Math.abs(seconds) >= scale) return general(seconds / scale, digits) + unit;
  return seconds ? `${general(seconds / 1e-9, digits)}ns` : "0s";
}

