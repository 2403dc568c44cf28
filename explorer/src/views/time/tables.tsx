// A timeline in words: the span that is followed, the critical path, the spans that are seen, groups and lanes.
import { useMemo } from "preact/hooks";
import { counted, timeText } from "../../model/words";
import { Table } from "../../parts/Table";
import type { Range } from "../../parts/TimeStage";
import { detailText, exactTime, type TimeModel } from "./model";
import type { Rows } from "./rows";

type Choose = (span: number) => void;
const LISTED = 12; // causes and effects that are named
const MOST = 200; // spans in the table

interface SelectedProps {
  model: TimeModel;
  span: number;
  choose: Choose;
  step: (by: 1 | -1) => number;
  beside: (by: 1 | -1) => number;
  zoomTo: (span: number) => void;
}

export function Selected({ model, span, choose, step, beside, zoomTo }: SelectedProps) {
  const { data } = model;
  const lane = data.spans.lane[span]!;
  const [before, after] = [step(-1), step(1)];
  const place = model.criticalAt[span]!;
  const isMessage = model.detail(span, "from") !== null && model.detail(span, "to") !== null;
  const details = data.details
    .filter((one) => !(isMessage && (one.name === "from" || one.name === "to")))
    .map((one) => [one.name, detailText(one, span)] as const)
    .filter(([, text]) => text !== null);
  const button = (text: string, to: number) => (
    <button type="button" disabled={to < 0} onClick={() => choose(to)}>
      {text}
    </button>
  );
  return (
    <>
      <p>
        <strong>{model.brief(span)}</strong> ({model.kindName(span)}): from {exactTime(model.start[span]!, 7)} to {exactTime(model.end[span]!, 7)}, lasts{" "}
        {timeText(model.end[span]! - model.start[span]!)}. On {model.groupName(lane)}, {model.laneName(lane)}.
        {details.length > 0 && <> {details.map(([name, text]) => `${name} ${text}`).join(", ")}.</>}
        {place > 0 && <> Number {place} of {data.critical.length} on the critical path.</>}
      </p>
      <div class="steps" role="group" aria-label="Follow">
        {button("\u2190 What it waited for", before)}
        {button("What it led to \u2192", after)}
        {button("Before on this lane", beside(-1))}
        {button("Next on this lane", beside(1))}
        <button type="button" onClick={() => zoomTo(span)}>
          Zoom to it
        </button>
        <button type="button" onClick={() => choose(-1)}>
          Leave it
        </button>
      </div>
      <Others words="Waited for" model={model} spans={model.causes(span)} choose={choose} none={data.flows.before.length ? "Waited for nothing that is shown." : ""} />
      <Others words="Led to" model={model} spans={model.effects(span)} choose={choose} none={data.flows.before.length ? "Nothing that is shown waited for it." : ""} />
    </>
  );
}

function Others({ words, model, spans, choose, none }: { words: string; model: TimeModel; spans: Int32Array; choose: Choose; none: string }) {
  if (!spans.length) return none ? <p>{none}</p> : null;
  return (
    <p>
      {words}{" "}
      {Array.from(spans.subarray(0, LISTED), (span, k) => (
        <>
          {k > 0 && "; "}
          <button key={span} type="button" class="link" onClick={() => choose(span)}>
            {model.brief(span)}
          </button>
        </>
      ))}
      {spans.length > LISTED && ` and ${counted(spans.length - LISTED, "other")}`}.
    </p>
  );
}

// The chain with what each of its spans adds: with the pauses between them that makes up the whole.
export function CriticalPath({ model, chosen, choose }: { model: TimeModel; chosen: number; choose: Choose }) {
  const links = useMemo(() => model.criticalPath(), [model]);
  const added = links.reduce((sum, { adds }) => sum + adds, 0);
  const pauses = links.reduce((sum, { pause }) => sum + pause, 0);
  const done = Math.max(added + pauses, model.data.lasts);
  const after = done - added - pauses;
  const small = (seconds: number) => (seconds < 1e-6 * done ? "0s" : timeText(seconds));
  return (
    <div>
      <Table
        caption="Critical path: each waited for the one before, and the last ends last"
        columns={[
          { head: "span", isWide: true, cell: ({ span }) => model.brief(span) },
          { head: "pause", title: "from the end of the one before to its start, such as alpha", cell: ({ pause }) => small(pause), isNumber: true },
          { head: "lasts", cell: ({ span }) => timeText(model.end[span]! - model.start[span]!), isNumber: true },
          { head: "adds", title: "what of it comes after the end of the one before", cell: ({ adds }) => small(adds), isNumber: true },
          { head: "ends at", cell: ({ span }) => exactTime(model.end[span]!, 6), isNumber: true },
        ]}
        rows={links}
        rowKey={({ place }) => place}
        isMarked={({ span }) => span === chosen}
        onPick={({ span }) => choose(span)}
        most={40}
      />
      <p class="sum">
        {counted(links.length, "span")} {links.length === 1 ? "adds" : "add"} {timeText(added)}, pauses {small(pauses)}
        {after > 1e-6 * done && <>, {timeText(after)} until all is done</>}: together {exactTime(done, 6)}.
      </p>
    </div>
  );
}

// The first spans from a time on, over many lanes: the earliest of the lanes' next ones, again and again.
function firstSeen(model: TimeModel, lanes: number[], [from, to]: Range): { spans: number[]; count: number } {
  const heap: [next: number, stop: number][] = [];
  const before = (a: [number, number], b: [number, number]) => model.start[a[0]]! < model.start[b[0]]! || (model.start[a[0]]! === model.start[b[0]]! && a[0] < b[0]);
  const sink = (at: number) => {
    for (;;) {
      let least = at;
      for (const child of [2 * at + 1, 2 * at + 2]) if (child < heap.length && before(heap[child]!, heap[least]!)) least = child;
      if (least === at) return;
      [heap[at], heap[least]] = [heap[least]!, heap[at]!];
      at = least;
    }
  };
  let count = 0;
  for (const lane of lanes) {
    for (let track = model.laneTrack[lane]!; track < model.laneTrack[lane + 1]!; track++) {
      const [first, stop] = model.seen(track, from, to);
      count += stop - first;
      if (stop > first) heap.push([first, stop]);
    }
  }
  for (let k = heap.length >> 1; k >= 0; k--) sink(k);
  const spans: number[] = [];
  while (heap.length && spans.length < MOST) {
    const head = heap[0]!;
    spans.push(head[0]);
    if (++head[0] === head[1]) {
      const last = heap.pop()!;
      if (heap.length) heap[0] = last;
    }
    sink(0);
  }
  return { spans, count };
}

export function SpansSeen({ model, lanes, range, chosen, choose }: { model: TimeModel; lanes: number[]; range: Range; chosen: number; choose: Choose }) {
  const { spans, count } = useMemo(() => firstSeen(model, lanes, range), [model, lanes, range[0], range[1]]);
  const { data } = model;
  const named = (name: string) => data.details.find((one) => one.name === name);
  const [from, to, bytes] = [named("from"), named("to"), named("bytes")];
  const peers = (span: number) =>
    [from, to].flatMap((one) => (one && detailText(one, span) !== null ? [`${one.name} ${detailText(one, span)}`] : [])).join(", ");
  const isMessages = from && to && spans.every((span) => detailText(from, span) !== null && detailText(to, span) !== null);
  return (
    <Table
      caption={`Spans in view: ${count > spans.length ? `the first ${spans.length} of ${count.toLocaleString("en")}` : counted(count, "span")}`}
      columns={[
        { head: "span", isWide: true, cell: (span) => model.name(span) },
        ...(isMessages
          ? [
              { head: "from", cell: (span: number) => detailText(from, span) },
              { head: "to", cell: (span: number) => detailText(to, span) },
            ]
          : [{ head: "on", cell: (span: number) => model.place(span) }]),
        ...(!isMessages && (from || to) ? [{ head: "peers", cell: peers }] : []),
        ...(data.kinds.length > 1 ? [{ head: "kind", cell: (span: number) => model.kindName(span) }] : []),
        ...(bytes ? [{ head: "bytes", cell: (span: number) => detailText(bytes, span), isNumber: true }] : []),
        { head: "start", cell: (span) => exactTime(model.start[span]!, 6), sort: (span) => model.start[span]!, isNumber: true },
        { head: "lasts", cell: (span) => timeText(model.end[span]! - model.start[span]!), sort: (span) => model.end[span]! - model.start[span]!, isNumber: true },
      ]}
      rows={spans}
      rowKey={(span) => span}
      isMarked={(span) => span === chosen}
      onPick={choose}
      most={20}
    />
  );
}

const percent = (part: number): string => `${(100 * part).toFixed(1)}%`;

function spansOf(model: TimeModel, lane: number): number {
  return model.trackPtr[model.laneTrack[lane + 1]!]! - model.trackPtr[model.laneTrack[lane]!]!;
}

export function Lanes({ model, lanes }: { model: TimeModel; lanes: number[] }) {
  const { busy } = model.data.lanes;
  return (
    <Table
      caption="Lanes, and for how much of the time they are busy"
      columns={[
        { head: "group", cell: (lane) => model.groupName(lane), sort: (lane) => model.groupName(lane) },
        { head: "lane", cell: (lane) => model.laneName(lane), sort: (lane) => lane },
        { head: "spans", cell: (lane) => spansOf(model, lane).toLocaleString("en"), sort: (lane) => spansOf(model, lane), isNumber: true },
        { head: "busy", cell: (lane) => timeText(busy[lane]!), sort: (lane) => busy[lane]!, isNumber: true },
        { head: "of all", cell: (lane) => percent(busy[lane]! / model.data.lasts), sort: (lane) => busy[lane]!, isNumber: true },
      ]}
      rows={lanes}
      rowKey={(lane) => lane}
      most={40}
    />
  );
}

export function Groups({ model, rows, toggle }: { model: TimeModel; rows: Rows; toggle: (group: number) => void }) {
  const shown = new Map<number, number[]>();
  for (const lane of rows.lanes) {
    const group = model.data.lanes.group[lane]!;
    shown.set(group, [...(shown.get(group) ?? []), lane]);
  }
  const busy = (lanes: number[]) => lanes.reduce((sum, lane) => sum + model.data.lanes.busy[lane]!, 0) / lanes.length / model.data.lasts;
  return (
    <Table
      caption="Groups of lanes: choose one to open or close it"
      columns={[
        { head: "group", cell: ([group]) => model.data.groups[group]!, sort: ([group]) => group },
        { head: "lanes", cell: ([, lanes]) => lanes.length, sort: ([, lanes]) => lanes.length, isNumber: true },
        { head: "spans", cell: ([, lanes]) => lanes.reduce((sum, lane) => sum + spansOf(model, lane), 0).toLocaleString("en"), isNumber: true },
        { head: "busy", title: "on average over its lanes", cell: ([, lanes]) => percent(busy(lanes)), sort: ([, lanes]) => busy(lanes), isNumber: true },
        { head: "is", cell: ([group]) => (rows.isOpen(group) ? "open" : "closed") },
      ]}
      rows={[...shown]}
      rowKey={([group]) => group}
      onPick={([group]) => toggle(group)}
      most={20}
    />
  );
}
