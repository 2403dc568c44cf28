// Who talks to whom, and the messages on their way.
import { useMemo, useState } from "preact/hooks";
import { Graph, type Look, type View } from "../../draw/graph";
import type { Painter } from "../../draw/painter";
import type { Palette } from "../../draw/palette";
import { usePart } from "../../model/route";
import { hostName, linkName, linksBack, type Wires } from "../../model/wires";
import { counted, sizeText, timeText } from "../../model/words";
import { Stage } from "../../parts/Stage";
import { Table } from "../../parts/Table";
import { useTheme } from "../../parts/theme";
import { bytesText, contentOf, contentText, OnTheWay, placeName, type Content, type FileData } from "./data";
import type { Marked } from "./marks";
import { Player, useClock } from "./player";

const CONTENTS = ["data of one rank", "a sum of some ranks", "the sum of all ranks", "data"] as const;
const MOST_LOADS = 4000;
const MOST_IN_RING = 100; // ranks, where springs would be an equal choice
const contentColours = (colours: Palette): string[] => [colours.marks[0]!, colours.marks[1]!, colours.marks[2]!, colours.ink];

interface Props {
  data: FileData;
  marked: Marked;
  mark: (what: string) => void;
}

export function Picture({ data, marked, mark }: Props) {
  const wires = data.wires!;
  const { messages } = data;
  const { colours } = useTheme();
  const best = wires.layouts[0]!.name;
  const usual = best === "force" && wires.nodes <= MOST_IN_RING && wires.layouts.some((one) => one.name === "ring") ? "ring" : best;
  const [layout, setLayout] = usePart("layout", usual);
  const [pointed, point] = useState<{ rank: number } | { link: number } | null>(null);
  const back = useMemo(() => linksBack(wires), [wires]);
  const xy = (wires.layouts.find((one) => one.name === layout) ?? wires.layouts.find((one) => one.name === usual)!).xy;
  const graph = useMemo(() => new Graph(wires, xy, back), [wires, xy, back]);
  const way = useMemo(() => messages && new OnTheWay(messages), [messages]);
  const sent = useMemo(() => sentBy(data), [data]);
  const total = useMemo(() => lastOf(data), [data]);
  const clock = useClock(total);
  const now = way ? way.at(clock.time) : [];

  const look = (view: View, time: number): Look => {
    const links = wires.tail.length;
    const widest = graph.widest(view, false);
    const linkWidth = new Float32Array(links).fill(Math.min(1.25, 0.6 * widest));
    const linkColour = new Uint8Array(links);
    const loads: Look["loads"] = [];
    const shades = contentColours(colours);
    for (const k of way ? way.at(time) : []) {
      const link = messages!.link[k]!;
      linkColour[link] = 1;
      linkWidth[link] = Math.min(2, widest);
      if (loads.length >= MOST_LOADS) continue;
      const part = (time - messages!.start[k]!) / (messages!.here[k]! - messages!.start[k]! || 1);
      loads.push({ link, at: part, colour: shades[contentOf(messages!, k, data.facts.ranks!)]!, size: marked.kind === "message" && marked.number === k ? 8 : 5.5 });
    }
    const near = pointed && "link" in pointed ? pointed.link : -1;
    for (const link of near < 0 ? marked.links : [...marked.links, near]) {
      linkColour[link] = 2;
      linkWidth[link] = 3;
    }
    const radius = graph.radius(view);
    return {
      isByCable: false, linkWidth, linkColour, colours: [colours.line, colours.accent, colours.warn],
      nodeColour: new Uint8Array(wires.nodes), nodeColours: [colours.accent], nodeEdge: colours.paper, nodeRadius: radius,
      hasArrows: links <= 600, ink: radius >= 9 ? colours.paper : colours.ink, paper: colours.paper,
      name: (node) => hostName(wires, node), marked: marked.ranks.map((node) => ({ node, colour: colours.warn })), loads,
    };
  };

  const found = (x: number, y: number, view: View) => {
    const rank = graph.nodeAt(x, y, view);
    if (rank >= 0) return { rank };
    const link = graph.linkAt(x, y, view, false);
    return link >= 0 ? { link } : null;
  };
  const shown = pointed ?? (marked.kind === "rank" && marked.ranks.length ? { rank: marked.number } : marked.kind === "link" && marked.links.length ? { link: marked.number } : null);

  return (
    <>
      <div class="controls">
        <label>
          Layout
          <select value={layout} onChange={(event) => setLayout(event.currentTarget.value)}>
            {wires.layouts.map((one) => (
              <option key={one.name}>{one.name}</option>
            ))}
          </select>
        </label>
      </div>
      {way && <Player clock={clock} total={total} next={(time) => way.next(time)} before={(time) => way.before(time)} />}
      <Stage
        label={`${data.file}: ${counted(wires.nodes, "rank")}, ${counted(wires.tail.length, "pair")} that send${messages ? `, ${timeText(clock.time)} after the start` : ""}`}
        name={data.file}
        data={data}
        paper={colours.paper}
        home={(width, height) => graph.home(width, height)}
        homeKey={xy}
        paint={(painter: Painter, view: View, frame: number) => graph.paint(painter, view, look(view, clock.at(frame)))}
        isPlaying={clock.isPlaying}
        onPoint={(x, y, view) => point(found(x, y, view))}
        onPick={(x, y, view) => {
          const picked = found(x, y, view);
          mark(picked === null ? "" : "rank" in picked ? `rank.${picked.rank}` : `link.${picked.link}`);
        }}
        onLeave={() => point(null)}
      />
      {messages?.parts && <Legend colours={colours} />}
      {messages?.parts && data.facts.status !== "verified" && <p class="hint">What messages carry is so in one of the orders in which it may run.</p>}
      <p class="pointed" aria-live="polite">
        {shown ? pointedText(data, sent, shown) : "Point at a rank or a link; click a rank to find it in the file."}
      </p>
      {data.why_not_played && <p class="hint">Not played. {data.why_not_played}</p>}
      {messages && <MessageTable data={data} now={now} time={clock.time} marked={marked} mark={mark} />}
      {messages && <BusyTable data={data} sent={sent} marked={marked} mark={mark} />}
    </>
  );
}

function Legend({ colours }: { colours: Palette }) {
  const shades = contentColours(colours);
  return (
    <ul class="legend">
      {([0, 1, 2] as Content[]).map((k) => (
        <li key={k}>
          <span class="dot" style={{ background: shades[k] }} /> {CONTENTS[k]}
        </li>
      ))}
    </ul>
  );
}

// When everything is done and has come.
function lastOf(data: FileData): number {
  let last = data.simulation?.simulated_seconds ?? 0;
  for (let k = 0; data.messages && k < data.messages.here.length; k++) last = Math.max(last, data.messages.here[k]!);
  return last;
}

interface Sent {
  messages: Int32Array;
  chunks: Float64Array;
  busy: Float64Array; // seconds
}

// What each link carries in all.
function sentBy(data: FileData): Sent {
  const links = data.wires!.tail.length;
  const sent = { messages: new Int32Array(links), chunks: new Float64Array(links), busy: new Float64Array(links) };
  const { messages } = data;
  for (let k = 0; messages && k < messages.link.length; k++) {
    const link = messages.link[k]!;
    sent.messages[link]!++;
    sent.chunks[link]! += messages.chunks[k]!;
    sent.busy[link]! += messages.end[k]! - messages.start[k]!;
  }
  return sent;
}

const chunkBytes = (data: FileData): number => data.simulation!.size / data.facts.chunks!;

function pointedText(data: FileData, sent: Sent, shown: { rank: number } | { link: number }): string {
  const wires = data.wires!;
  if ("link" in shown) {
    const says = `Rank ${linkName(wires, shown.link).replace(" to ", " sends to rank ")}`;
    if (!data.messages) return `${says}.`;
    return `${says}: ${counted(sent.messages[shown.link]!, "message")}, ${sizeText(sent.chunks[shown.link]! * chunkBytes(data))} in all.`;
  }
  const to: string[] = [];
  for (let e = 0; e < wires.tail.length; e++) if (wires.tail[e] === shown.rank) to.push(hostName(wires, wires.head[e]!));
  return `Rank ${hostName(wires, shown.rank)} sends to ${to.length ? [...new Set(to)].join(", ") : "nobody"}.`;
}

interface TableProps extends Props {
  now: number[];
  time: number;
}

function MessageTable({ data, now, time, marked, mark }: TableProps) {
  const messages = data.messages!;
  const wires = data.wires!;
  const chosen = marked.kind === "message" && !now.includes(marked.number) ? [marked.number] : [];
  const hasText = data.text.some((piece) => piece.text.length > 0);
  return (
    <Table
      caption={`Messages on their way at ${timeText(time)}`}
      columns={[
        { head: "from, to", cell: (k) => linkName(wires, messages.link[k]!) },
        { head: "carries", isWide: true, cell: (k) => contentText(messages, k, data.facts.ranks!) },
        { head: "bytes", cell: (k) => bytesText(data, k), isNumber: true, sort: (k) => messages.chunks[k]! },
        { head: "begins", cell: (k) => timeText(messages.start[k]!), isNumber: true, sort: (k) => messages.start[k]! },
        { head: "is there", title: "a latency after its link is done with it", cell: (k) => timeText(messages.here[k]!), isNumber: true, sort: (k) => messages.here[k]! },
        ...(hasText ? [{ head: "by", isWide: true, cell: (k: number) => placeName(messages.rank[k]!, messages.block[k]!, messages.step[k]!) }] : []),
      ]}
      rows={[...now, ...chosen]}
      rowKey={(k) => k}
      isMarked={(k) => marked.kind === "message" && marked.number === k}
      onPick={(k) => mark(`message.${k}`)}
      most={30}
    />
  );
}

function BusyTable({ data, sent, marked, mark }: Props & { sent: Sent }) {
  const wires: Wires = data.wires!;
  const time = data.simulation!.simulated_seconds;
  const rows = useMemo(() => Array.from(sent.busy.keys()).sort((a, b) => sent.busy[b]! - sent.busy[a]! || a - b), [sent]);
  return (
    <Table
      caption="Links, the busiest first"
      columns={[
        { head: "from, to", cell: (e) => linkName(wires, e) },
        { head: "messages", cell: (e) => sent.messages[e]!, sort: (e) => sent.messages[e]!, isNumber: true },
        { head: "bytes", cell: (e) => sizeText(sent.chunks[e]! * chunkBytes(data)), sort: (e) => sent.chunks[e]!, isNumber: true },
        { head: "busy", title: "the part of the time for which it carries data", cell: (e) => `${Math.round((100 * sent.busy[e]!) / (time || 1))}%`, sort: (e) => sent.busy[e]!, isNumber: true },
      ]}
      rows={rows}
      rowKey={(e) => e}
      isMarked={(e) => marked.kind === "link" && marked.number === e}
      onPick={(e) => mark(`link.${e}`)}
      most={8}
    />
  );
}
