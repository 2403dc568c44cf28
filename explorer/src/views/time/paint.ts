// Painting a timeline: only what is seen, spans of less than a pixel together, as high as their lane is busy there.
import type { Painter } from "../../draw/painter";
import type { Palette } from "../../draw/palette";
import { general } from "../../model/words";
import { HEAD, OVERVIEW, type TimeView } from "../../parts/TimeStage";
import type { TimeModel } from "./model";
import type { Row, Rows } from "./rows";

export interface Look {
  model: TimeModel;
  rows: Rows;
  colours: Palette;
  overview: Float64Array; // how busy all lanes are, beside when they are busiest
  hasCritical: boolean; // whether the critical path is marked
  chosen: number; // spans, -1 for none
  pointed: number;
}

const [LEAST_BIN, MOST_BINS] = [2, 400]; // pixels of a bin, in which small spans are painted together, and bins of a picture
const NOTCHED = 14; // pixels from which a span shows the notches of its kind

const binOf = (view: TimeView): number => Math.max(LEAST_BIN, (view.right - view.left) / MOST_BINS);

// Rectangles of one colour, painted together.
class Boxes {
  private at = new Float32Array(4096);
  private count = 0;

  add(x: number, y: number, width: number, height: number): void {
    let k = 4 * this.count++;
    if (k === this.at.length) {
      const more = new Float32Array(2 * k);
      more.set(this.at);
      this.at = more;
    }
    this.at[k] = x;
    this.at[++k] = y;
    this.at[++k] = width;
    this.at[++k] = height;
  }
  paint(painter: Painter, fill: string): void {
    painter.rects(this.at, this.count, fill);
    this.count = 0;
  }
}

export const notches = (kind: number): number => kind % 5;
export const kindColour = (colours: Palette, kind: number): string => colours.marks[kind % colours.marks.length]!;

const kindBoxes: Boxes[] = [];
const [paperBoxes, criticalBoxes, activityBoxes, lineBoxes] = [new Boxes(), new Boxes(), new Boxes(), new Boxes()];
let bins = new Float64Array(0);

interface Label {
  x: number;
  y: number;
  width: number;
  span: number;
}

export function paintTimeline(painter: Painter, view: TimeView, look: Look): void {
  const { rows, colours } = look;
  const first = Math.max(0, Math.floor(view.top / rows.high));
  const last = Math.min(rows.list.length, Math.ceil((view.top + view.height - HEAD) / rows.high));
  const labels: Label[] = [];
  while (kindBoxes.length < colours.marks.length) kindBoxes.push(new Boxes());
  for (let k = first; k < last; k++) {
    const row = rows.list[k]!;
    const y = HEAD + k * rows.high - view.top;
    lineBoxes.add(0, y, view.width, row.lane < 0 ? 1 : 0.5);
    if (row.lane >= 0) addTrack(view, look, row.track, y + 2, labels);
    else if (row.lanes.length) addActivity(view, look, row, y + 2);
  }
  lineBoxes.paint(painter, colours.pale);
  kindBoxes.forEach((boxes, k) => boxes.paint(painter, colours.marks[k]!));
  activityBoxes.paint(painter, colours.soft);
  paperBoxes.paint(painter, colours.paper);
  for (const one of labels) paintLabel(painter, look, one);
  if (look.hasCritical) addCritical(view, look, first, last);
  criticalBoxes.paint(painter, colours.ink);
  paintFlows(painter, view, look);
  paintOutline(painter, view, look, look.pointed, 1, colours.ink);
  paintOutline(painter, view, look, look.chosen, 2.5, colours.warn);
  paintInstants(painter, view, look);
  paintNames(painter, view, look, first, last);
  paintHead(painter, view, look);
  paintBar(painter, view, look);
}

function addTrack(view: TimeView, look: Look, track: number, y: number, labels: Label[]): void {
  const { model, colours } = look;
  const tall = look.rows.high - 4;
  const { start, end, kind } = model;
  const [left, right] = [view.left, view.right];
  let [span, stop] = model.seen(track, view.from, view.to);
  const wide = binOf(view);
  const bin = wide * view.perPixel;
  while (span < stop) {
    const x0 = Math.max(left, view.x(start[span]!));
    const x1 = Math.min(right, view.x(end[span]!));
    const of = kind[span]! % colours.marks.length;
    if (x1 - x0 >= wide) {
      const width = x1 - x0 - (x1 - x0 > 4 ? 1 : 0);
      kindBoxes[of]!.add(x0, y, width, tall);
      if (width >= NOTCHED) {
        for (let k = notches(kind[span]!); k > 0; k--) paperBoxes.add(x0 + 3 * k - 1, y + 3, 1.5, tall - 6);
        if (width >= 34) labels.push({ x: x0 + 4 + 3 * notches(kind[span]!), y: y + tall / 2, width: width - 6 - 3 * notches(kind[span]!), span });
      }
      span++;
      continue;
    }
    const time = view.time(left + wide * (Math.floor((x0 - left) / wide) + 1));
    let next = Math.min(stop, Math.max(span + 1, model.startingFrom(track, time, span)));
    if (next - span > 1 && view.x(end[next - 1]!) - view.x(start[next - 1]!) >= wide) next--;
    if (next - span === 1) kindBoxes[of]!.add(x0, y, Math.max(1, x1 - x0), tall);
    else {
      const part = Math.min(1, model.busy(span, next) / bin);
      const high = Math.max(3, Math.round(tall * part));
      kindBoxes[of]!.add(x0, y + tall - high, wide, high);
    }
    span = next;
  }
}

function addActivity(view: TimeView, { model, rows }: Look, row: Row, y: number): void {
  const tall = rows.high - 4;
  const wide = binOf(view);
  const count = Math.ceil((view.right - view.left) / wide);
  if (bins.length !== count) bins = new Float64Array(count);
  bins.fill(0);
  const until = view.time(view.left + wide * count);
  let tracks = 0;
  for (const lane of row.lanes) {
    for (let track = model.laneTrack[lane]!; track < model.laneTrack[lane + 1]!; track++) model.addActivity(track, view.from, until, bins);
    tracks++;
  }
  const whole = wide * view.perPixel * tracks;
  // Bins of the same height are one box.
  let from = 0;
  let before = 0;
  for (let k = 0; k <= count; k++) {
    const busy = k < count ? bins[k]! / whole : 0;
    const high = busy > 1e-9 ? Math.max(1, Math.min(tall, Math.round(tall * busy))) : 0;
    if (high === before) continue;
    if (before) activityBoxes.add(view.left + wide * from, y + tall - before, wide * (k - from), before);
    [from, before] = [k, high];
  }
}

// Where a span is painted: its row, its middle, and from where to where.
function place(view: TimeView, look: Look, span: number): { row: number; y: number; x0: number; x1: number } | null {
  const row = look.rows.rowOfTrack[look.model.track(span)]!;
  if (row < 0) return null;
  return { row, y: HEAD + row * look.rows.high - view.top, x0: view.x(look.model.start[span]!), x1: view.x(look.model.end[span]!) };
}

function addCritical(view: TimeView, look: Look, first: number, last: number): void {
  const { model, rows } = look;
  const path = model.data.critical;
  const [left, right, perPixel] = [view.left, view.right, view.perPixel];
  const x = (time: number) => Math.max(left, Math.min(right, left + (time - view.from) / perPixel));
  let [until, before] = [-Infinity, -1]; // what is marked already, of a row
  for (let k = 0; k < path.length; k++) {
    const span = path[k]!;
    const row = rows.rowOfTrack[model.criticalTrack[k]!]!;
    if (row < first || row >= last || model.end[span]! < view.from || model.start[span]! > view.to) continue;
    const x0 = x(model.start[span]!);
    const x1 = Math.max(x0 + 1.5, x(model.end[span]!));
    const from = row === before ? Math.max(x0, until) : x0;
    if (x1 - from < 1) continue;
    criticalBoxes.add(from, HEAD + (row + 1) * rows.high - view.top - 5, x1 - from, 3.5);
    [until, before] = [x1, row];
  }
}

function paintLabel(painter: Painter, { model, colours }: Look, { x, y, width, span }: Label): void {
  const colour = kindColour(colours, model.kind[span]!);
  const shown = fitted(model.name(span), width);
  if (shown) painter.text(x, y, shown, { size: 11, colour: readable(colour), align: "left" });
}

// Text cut to a width, by what a letter takes on average.
function fitted(text: string, width: number, size = 11): string {
  const most = Math.floor(width / (size * 0.56));
  if (text.length <= most) return text;
  return most < 3 ? "" : `${text.slice(0, most - 1)}\u2026`;
}

const known = new Map<string, string>();

// Black or white, whichever stands out more on a colour.
function readable(colour: string): string {
  const found = known.get(colour);
  if (found) return found;
  const [red, green, blue] = [1, 3, 5].map((k) => (parseInt(colour.slice(k, k + 2), 16) / 255) ** 2.2) as [number, number, number];
  const chosen = 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.19 ? "#000000" : "#ffffff";
  known.set(colour, chosen);
  return chosen;
}

// Arrows between what a span waited for and what waited for it, and along the critical path near them.
function paintFlows(painter: Painter, view: TimeView, look: Look): void {
  const { model, chosen, colours } = look;
  const critical: [number, number][] = [];
  const others: [number, number][] = [];
  if (chosen >= 0) {
    for (const before of model.causes(chosen)) others.push([before, chosen]);
    for (const after of model.effects(chosen)) others.push([chosen, after]);
  }
  const path = model.data.critical;
  if (look.hasCritical) {
    for (const k of model.criticalTurns) {
      if (model.end[path[k + 1]!]! >= view.from && model.start[path[k]!]! <= view.to) critical.push([path[k]!, path[k + 1]!]);
    }
  }
  paintArrows(painter, view, look, critical, 1, colours.ink, [4, 3]);
  paintArrows(painter, view, look, others.slice(0, 200), 2, colours.warn, []);
}

function paintArrows(painter: Painter, view: TimeView, look: Look, pairs: [number, number][], width: number, colour: string, dash: number[]): void {
  const curves = new Float32Array(6 * pairs.length);
  const heads = new Float32Array(6 * pairs.length);
  let count = 0;
  for (const [before, after] of pairs) {
    const [a, b] = [place(view, look, before), place(view, look, after)];
    if (!a || !b || (a.row === b.row && Math.abs(b.x0 - a.x1) < 14)) continue;
    const [x0, y0, x1, y1] = [Math.min(a.x1, Math.max(b.x0, a.x0)), a.y + look.rows.high / 2, Math.max(b.x0, a.x0), b.y + look.rows.high / 2];
    if (Math.max(x0, x1) < view.left || Math.min(x0, x1) > view.right || Math.max(y0, y1) < HEAD || Math.min(y0, y1) > view.height) continue;
    const [cx, cy] = [(x0 + x1) / 2 + Math.min(30, Math.abs(y1 - y0) / 4), (y0 + y1) / 2];
    curves.set([x0, y0, cx, cy, x1, y1], 6 * count);
    const far = Math.hypot(x1 - cx, y1 - cy) || 1;
    const [ux, uy] = [(x1 - cx) / far, (y1 - cy) / far];
    const size = 4 + width;
    heads.set([x1, y1, x1 - size * ux + (size / 2) * uy, y1 - size * uy - (size / 2) * ux, x1 - size * ux - (size / 2) * uy, y1 - size * uy + (size / 2) * ux], 6 * count);
    count++;
  }
  painter.strokes(curves, count, width, colour, dash);
  painter.triangles(heads, count, colour);
}

function paintOutline(painter: Painter, view: TimeView, look: Look, span: number, width: number, colour: string): void {
  const at = span < 0 ? null : place(view, look, span);
  if (!at || at.y < HEAD - look.rows.high || at.y > view.height || at.x1 < view.left || at.x0 > view.right) return;
  const [x0, x1] = [Math.max(view.left, at.x0) - 1, Math.min(view.right, Math.max(at.x1, at.x0 + 2)) + 1];
  const [y0, y1] = [at.y + 1, at.y + look.rows.high - 1];
  const none = NaN;
  const sides = [x0, y0, none, none, x1, y0, x1, y0, none, none, x1, y1, x1, y1, none, none, x0, y1, x0, y1, none, none, x0, y0];
  painter.strokes(Float32Array.from(sides), 4, width, colour);
}

function paintInstants(painter: Painter, view: TimeView, { model, colours }: Look): void {
  for (const [at, mark] of model.data.instants.entries()) {
    const x = view.x(mark.time);
    if (x < view.left - 1 || x > view.right + 1) continue;
    painter.strokes(Float32Array.from([x, OVERVIEW, NaN, NaN, x, view.height]), 1, 1, colours.warn, [6, 4]);
    const isLeft = x - view.left > 160;
    const [text, y] = [fitted(mark.name, 240), view.height - 9 - 15 * at];
    const wide = 6.4 * text.length + 6;
    painter.rect(isLeft ? x - 2 - wide : x + 2, y - 7.5, wide, 15, colours.paper);
    painter.text(x + (isLeft ? -4 : 4), y, text, { size: 11, colour: colours.ink, align: isLeft ? "right" : "left" });
  }
}

function paintNames(painter: Painter, view: TimeView, look: Look, first: number, last: number): void {
  const { model, rows, colours } = look;
  painter.rect(0, HEAD, view.left - 2, view.height - HEAD, colours.paper);
  for (let k = first; k < last; k++) {
    const row = rows.list[k]!;
    const y = HEAD + k * rows.high - view.top;
    const lanes = model.groupLanes[row.group]!.length;
    if (row.lane < 0) {
      const sign = rows.isOpen(row.group) ? "\u25be" : "\u25b8";
      painter.text(4, y + rows.high / 2, fitted(`${sign} ${model.data.groups[row.group]}`, view.left - 8, 12), { size: 12, colour: colours.ink, align: "left", bold: true });
    } else if (row.track === model.laneTrack[row.lane]) {
      const name = lanes > 1 ? model.laneName(row.lane) : `${model.groupName(row.lane)}: ${model.laneName(row.lane)}`;
      painter.text(lanes > 1 ? 14 : 4, y + rows.high / 2, fitted(name, view.left - (lanes > 1 ? 18 : 8)), { size: 11, colour: colours.ink, align: "left" });
    }
  }
}

function paintHead(painter: Painter, view: TimeView, { model, colours, overview }: Look): void {
  painter.rect(0, 0, view.width, HEAD, colours.paper);
  const [left, right] = [view.left, view.right];
  const wide = (right - left) / overview.length;
  for (let k = 0; k < overview.length; k++) {
    const high = overview[k]! > 1e-9 ? Math.max(1, (OVERVIEW - 6) * overview[k]!) : 0;
    if (high) activityBoxes.add(left + k * wide, OVERVIEW - 3 - high, wide + 0.5, high);
  }
  activityBoxes.paint(painter, colours.line);
  const [x0, x1] = [view.over(view.from, model.whole), view.over(view.to, model.whole)];
  const middle = (x0 + x1) / 2;
  const [a, b] = [Math.min(x0, middle - 1.5), Math.max(x1, middle + 1.5)];
  const none = NaN;
  const frame = [a, 1, none, none, b, 1, b, 1, none, none, b, OVERVIEW - 2, b, OVERVIEW - 2, none, none, a, OVERVIEW - 2, a, OVERVIEW - 2, none, none, a, 1];
  painter.strokes(Float32Array.from(frame), 4, 1.5, colours.accent);
  painter.text(4, OVERVIEW / 2, view.left < 100 ? "all" : "how busy all lanes are", { size: 11, colour: colours.soft, align: "left" });
  paintRuler(painter, view, colours);
}

const UNITS: [string, number][] = [["s", 1], ["ms", 1e-3], ["us", 1e-6], ["ns", 1e-9]];

function paintRuler(painter: Painter, view: TimeView, colours: Palette): void {
  const [unit, scale] = UNITS.find(([, one]) => view.to >= one) ?? UNITS[3]!;
  const rough = (110 * view.perPixel) / scale;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((one) => one * power >= rough)! * power;
  const digits = Math.max(0, Math.min(15, -Math.floor(Math.log10(step) + 1e-9)));
  const y = HEAD - 12;
  for (let k = Math.ceil(view.from / scale / step); k * step * scale <= view.to; k++) {
    const x = view.x(k * step * scale);
    lineBoxes.add(x, HEAD - 5, 1, 5);
    const text = `${digits ? (k * step).toFixed(digits) : general(k * step, 12)}${unit}`;
    painter.text(Math.max(view.left + 3.2 * text.length, Math.min(view.right - 3.2 * text.length, x)), y, text, { size: 11, colour: colours.soft });
  }
  painter.text(4, y, "time", { size: 11, colour: colours.soft, align: "left" });
  lineBoxes.add(0, HEAD - 0.5, view.width, 1);
  lineBoxes.paint(painter, colours.line);
}

function paintBar(painter: Painter, view: TimeView, { rows, colours }: Look): void {
  const [whole, inside] = [rows.list.length * rows.high, view.height - HEAD];
  if (whole <= inside) return;
  painter.rect(view.right + 3, HEAD, 9, inside, colours.paper);
  const high = Math.max(16, (inside * inside) / whole);
  const top = HEAD + ((inside - high) * view.top) / (whole - inside);
  painter.rect(view.right + 4, top, 6, high, colours.line);
}

// What is at a place of the picture: a span, a group's or a lane's row, or nothing.
export function found(x: number, y: number, view: TimeView, look: Look): { row: Row | null; span: number } {
  const row = y < HEAD ? null : (look.rows.list[Math.floor((y - HEAD + view.top) / look.rows.high)] ?? null);
  if (!row || row.lane < 0 || x < view.left) return { row, span: -1 };
  return { row, span: look.model.at(row.track, view.time(x), 4 * view.perPixel) };
}
