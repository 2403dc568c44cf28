// Time: what happened when, on links, streams or ranks; what each message waited for, and what decided how long it took.
import { useMemo, useState } from "preact/hooks";
import { useTheme } from "../parts/theme";
import { usePart, useRoute } from "../model/route";
import { counted, readTime, timeText } from "../model/words";
import { Facts, Table } from "../parts/Table";
import { TimeStage, type Range, type Target, type TimeView } from "../parts/TimeStage";
import type { Painter } from "../draw/painter";
import { Ask } from "./time/ask";
import { exactTime, TimeModel, type TimeData } from "./time/model";
import { found, kindColour, notches, paintTimeline, type Look } from "./time/paint";
import { openGroups, rowsOf, toggled } from "./time/rows";
import { CriticalPath, Groups, Lanes, Selected, SpansSeen } from "./time/tables";
import { faults, pricing, type ViewProps, type ViewRow } from "./view";
import "./time.css";

const MANY = 80; // lanes from which groups are closed at first
const PARTS = 400; // of the overview

function TimeOrWhyNot({ panel, isLive }: ViewProps<TimeData>) {
  const { asked, why_not } = panel.data;
  if (!why_not) return <TimeLine panel={panel} isLive={isLive} />;
  return (
    <div class="view wide time">
      {isLive && asked && <Ask asked={asked} />}
      <p role="alert">Not simulated. {why_not}</p>
    </div>
  );
}

function TimeLine({ panel, isLive }: ViewProps<TimeData>) {
  const { data } = panel;
  const { colours } = useTheme();
  const model = useMemo(() => new TimeModel(data), [data]);
  const [rangeText, setRange] = usePart("range", "");
  const [spanText, setSpan] = usePart("span", "");
  const [criticalText, setCritical] = usePart("critical", "on");
  const [filter, setFilter] = usePart("lanes", "");
  const [openText, setOpen] = usePart("open", "");
  const [pointed, point] = useState(-1);
  const [jump, setJump] = useState<Target | null>(null);

  const isUsuallyOpen = data.lanes.name.length <= MANY;
  const rows = useMemo(() => rowsOf(model, openGroups(openText, isUsuallyOpen), filter), [model, openText, filter, isUsuallyOpen]);
  const range = readRange(rangeText, model.whole);
  const chosen = /^\d+$/.test(spanText) && Number(spanText) < model.count ? Number(spanText) : -1;
  const hasCritical = criticalText !== "off" && data.critical.length > 0;
  const overview = useMemo(() => activityOf(model), [model]);

  const show = ([from, to]: Range) => setRange(from <= 0 && to >= model.whole ? "" : `${written(from)}-${written(to)}`);
  const choose = (span: number) => {
    setSpan(span < 0 ? "" : String(span));
    if (span < 0) return;
    const row = rows.rowOfTrack[model.track(span)]!;
    if (row < 0) setFilter("");
    setJump({ key: `${span} ${performance.now()}`, from: model.start[span]!, to: model.end[span]!, y: Math.max(0, row) * rows.high });
  };
  const zoomTo = (span: number) => {
    const long = Math.max(model.end[span]! - model.start[span]!, 1e-9);
    show([Math.max(0, model.start[span]! - long), model.end[span]! + long]);
  };
  const toggle = (group: number) => setOpen(toggled(openText, group, data.groups.length, isUsuallyOpen));
  const openTo = (group: number) => {
    const at = rows.list.findIndex((row) => row.group === group);
    toggle(group);
    setJump({ key: `${group} ${performance.now()}`, from: range[0], to: range[1], y: Math.max(0, at) * rows.high });
  };

  const step = (by: 1 | -1) => follow(model, chosen, by, hasCritical);
  const beside = (by: 1 | -1) => neighbour(model, chosen, by);
  const go = (to: number) => to >= 0 && choose(to);
  const start = () => (data.critical.length ? data.critical[0]! : model.count ? 0 : -1);
  const keys: Record<string, () => void> = {
    n: () => go(chosen < 0 ? start() : step(1)),
    p: () => go(chosen < 0 ? start() : step(-1)),
    "]": () => go(chosen < 0 ? start() : beside(1)),
    "[": () => go(chosen < 0 ? start() : beside(-1)),
    z: () => chosen >= 0 && zoomTo(chosen),
    c: () => setCritical(criticalText === "off" ? "on" : "off"),
    Escape: () => choose(-1),
  };

  const look: Look = { model, rows, colours, overview, hasCritical, chosen, pointed };
  const pick = (x: number, y: number, view: TimeView) => {
    const { row, span } = found(x, y, view, look);
    if (row && row.lane < 0) toggle(row.group);
    else if (row) choose(span);
  };
  const target: Target | null = jump ?? (chosen >= 0 ? { key: "", from: range[0], to: range[1], y: Math.max(0, rows.rowOfTrack[model.track(chosen)]!) * rows.high } : null);

  return (
    <div class="view wide time">
      <section class="picture">
        {isLive && data.asked && <Ask asked={data.asked} />}
        <div class="controls">
          <RangeFields range={range} whole={model.whole} show={show} />
          <label>
            Lanes with
            <input type="search" value={filter} placeholder="a name" size={12} onInput={(event) => setFilter(event.currentTarget.value)} />
          </label>
          {data.groups.length < data.lanes.name.length && (
            <span class="pair">
              <button type="button" onClick={() => setOpen("all")}>
                Open all
              </button>
              <button type="button" onClick={() => setOpen("none")}>
                Close all
              </button>
            </span>
          )}
          {data.critical.length > 0 && (
            <label title="The chain of spans, each waiting for the one before, that decides how long all takes">
              <input type="checkbox" checked={hasCritical} onChange={() => setCritical(hasCritical ? "off" : "on")} />
              Critical path
            </label>
          )}
        </div>
        <TimeStage
          label={`${panel.title}: ${counted(model.count, "span")} on ${counted(data.lanes.name.length, "lane")}, ${timeText(model.whole)}`}
          name={panel.title}
          data={data}
          paper={colours.paper}
          whole={model.whole}
          rows={rows.list.length * rows.high}
          range={range}
          onRange={show}
          target={target}
          paint={(painter: Painter, view: TimeView) => paintTimeline(painter, view, look)}
          onPoint={(x, y, view) => point(found(x, y, view, look).span)}
          onPick={pick}
          onLeave={() => point(-1)}
          keys={keys}
          keysText="n and p follow what a span led to and what it waited for, brackets go along its lane, z zooms to it, c marks the critical path, escape leaves it"
        />
        <Legend model={model} colours={colours} hasCritical={hasCritical} />
        <div class="pointed" aria-live="polite">
          {chosen >= 0 ? (
            <Selected model={model} span={chosen} choose={choose} step={step} beside={beside} zoomTo={zoomTo} />
          ) : pointed >= 0 ? (
            <Brief model={model} span={pointed} />
          ) : (
            "Point at a span; click it to follow what it waited for and what it led to."
          )}
        </div>
      </section>
      <section class="words">
        <Facts rows={factRows(model)} />
        {data.critical.length > 0 && <CriticalPath model={model} chosen={chosen} choose={choose} />}
        {data.beside && <Beside {...data.beside} />}
        <SpansSeen model={model} lanes={rows.lanes} range={range} chosen={chosen} choose={choose} />
        {data.groups.length > 1 && data.groups.length < data.lanes.name.length && <Groups model={model} rows={rows} toggle={openTo} />}
        <Lanes model={model} lanes={rows.lanes} />
      </section>
    </div>
  );
}

const written = (seconds: number): string => String(Number(seconds.toPrecision(15)));

function readRange(text: string, whole: number): Range {
  const at = /^([\d.e-]+?)-([\d.]+(?:e-?\d+)?)$/.exec(text);
  const [from, to] = at ? [Number(at[1]), Number(at[2])] : [0, whole];
  return from >= 0 && to > from && from < whole ? [from, to] : [0, whole];
}

// How busy all lanes are in each part of the whole, where 1 is the busiest.
function activityOf(model: TimeModel): Float64Array {
  const bins = new Float64Array(PARTS);
  const tracks = model.trackLane.length;
  for (let track = 0; track < tracks; track++) model.addActivity(track, 0, model.whole, bins);
  const most = bins.reduce((found, busy) => Math.max(found, busy), 0) || 1;
  return bins.map((busy) => busy / most);
}

// What a span led to, or what it waited for: on the critical path if that goes on so, else the earliest, or the latest.
function follow(model: TimeModel, span: number, by: 1 | -1, hasCritical: boolean): number {
  if (span < 0) return -1;
  const place = model.criticalAt[span]!;
  const next = place && hasCritical ? model.data.critical[place - 1 + by] : undefined;
  if (next !== undefined) return next;
  const found = Array.from(by > 0 ? model.effects(span) : model.causes(span));
  const time = by > 0 ? model.start : model.end;
  found.sort((a, b) => by * (time[a]! - time[b]!) || a - b);
  return found[0] ?? -1;
}

function neighbour(model: TimeModel, span: number, by: 1 | -1): number {
  const track = span < 0 ? -1 : model.track(span);
  const next = span + by;
  return track >= 0 && next >= model.trackPtr[track]! && next < model.trackPtr[track + 1]! ? next : -1;
}

function factRows(model: TimeModel): [string, string][] {
  const { data } = model;
  const rows: [string, string][] = [...data.facts];
  rows.push(["shown", `${counted(model.count, "span")} on ${counted(data.lanes.name.length, "lane")}, ${counted(data.flows.before.length, "flow")}`]);
  for (const mark of data.instants) rows.push([mark.name, `at ${exactTime(mark.time, 6)}`]);
  rows.push(["last span ends", `at ${exactTime(data.end, 6)}`]);
  return rows;
}

function RangeFields({ range, whole, show }: { range: Range; whole: number; show: (range: Range) => void }) {
  const read = (text: string): number | null => (Number(text) === 0 && text.trim() ? 0 : readTime(text));
  const set = (end: 0 | 1) => (event: { currentTarget: HTMLInputElement }) => {
    const time = read(event.currentTarget.value);
    const next: Range = [...range];
    if (time !== null) next[end] = Math.min(time, whole);
    if (time !== null && next[1] > next[0]) show(next);
    else event.currentTarget.value = exactTime(range[end]);
  };
  return (
    <>
      <label>
        From
        <input value={exactTime(range[0])} size={11} onChange={set(0)} />
      </label>
      <label>
        to
        <input value={exactTime(range[1])} size={11} onChange={set(1)} />
      </label>
    </>
  );
}

function Legend({ model, colours, hasCritical }: { model: TimeModel; colours: Look["colours"]; hasCritical: boolean }) {
  return (
    <ul class="legend" aria-label="What spans look like">
      {model.data.kinds.slice(0, 12).map((kind, k) => (
        <li key={kind}>
          <svg width="30" height="14" aria-hidden="true">
            <rect width="30" height="14" fill={kindColour(colours, k)} />
            {Array.from({ length: notches(k) }, (_, at) => (
              <rect key={at} x={3 * at + 2} y="3" width="1.5" height="8" fill={colours.paper} />
            ))}
          </svg>
          {kind}
        </li>
      ))}
      {hasCritical && (
        <li>
          <svg width="30" height="14" aria-hidden="true">
            <rect y="9" width="30" height="3.5" fill={colours.ink} />
          </svg>
          on the critical path
        </li>
      )}
    </ul>
  );
}

function Brief({ model, span }: { model: TimeModel; span: number }) {
  return (
    <>
      <strong>{model.brief(span)}</strong>: {exactTime(model.start[span]!, 7)} to {exactTime(model.end[span]!, 7)}, lasts {timeText(model.end[span]! - model.start[span]!)}.
    </>
  );
}

function Beside({ caption, heads, rows }: { caption: string; heads: string[]; rows: string[][] }) {
  return (
    <Table
      caption={caption}
      columns={heads.map((head, k) => ({ head, cell: (row: string[]) => row[k]!, isNumber: k > 0 }))}
      rows={rows}
      rowKey={(_, at) => at}
    />
  );
}

function Empty() {
  return <p class="hint">{useRoute()["what"] ? "" : "Open a wiring first: its allreduce is simulated here."}</p>;
}

export const TIME: ViewRow = {
  kind: "time",
  title: "Time",
  View: TimeOrWhyNot,
  question: (route) =>
    route["what"]
      ? { ask: "time", what: route["what"], faults: faults(route), ...pricing(route), job: route["job"], to: route["to"], collective: route["collective"] }
      : null,
  Empty,
};
