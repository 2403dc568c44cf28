// Wiring: who is wired to whom, how far everyone is, which hosts are alike, and what a cut changes.
import { useMemo, useState } from "preact/hooks";
import { Graph, type Look, type View } from "../draw/graph";
import type { Painter } from "../draw/painter";
import { scaleStep } from "../draw/palette";
import { go, usePart, useRoute } from "../model/route";
import { distancesFrom, hostName, hostTitle, linksBack, linksIn, linksOut, nodeNamed, type Wires } from "../model/wires";
import { counted, fraction, timeText } from "../model/words";
import { useLayout } from "../parts/layouts";
import { Facts, Table } from "../parts/Table";
import { Stage } from "../parts/Stage";
import { useTheme } from "../parts/theme";
import { faults, pricing, type ViewProps, type ViewRow } from "./view";

interface Cost {
  method: string;
  steps: number;
  t_b: string;
  allreduce_seconds: number;
  size: number;
  fabric: string;
  bandwidth_optimal: boolean;
}

interface Facts {
  nodes: number;
  degree: number;
  num_links: number;
  duplex: boolean;
  diameter: number;
  moore_steps: number;
  moore_steps_duplex: number | null;
  mean_distance: string;
  vertex_transitive: boolean | null;
  nodes_by_distance: number[] | null;
  mean_nodes_by_distance: string[];
  faults: string[];
  t_b_bound: string;
  best: Cost | null;
  all_to_all_bandwidth?: number;
  without_faults: { nodes: number; num_links: number; best: Cost | null } | null;
}

interface WiringData {
  argument: string;
  wires: Wires;
  whole?: Wires;
  facts: Facts;
  method: string | null; // what makes the best schedule, in words
}

type Pointed = { host: number } | { link: number } | null;

function WiringView({ panel, isLive }: ViewProps<WiringData>) {
  const { wires, facts } = panel.data;
  const { colours } = useTheme();
  const route = useRoute();
  const [colouring, setColouring] = usePart("colour", "plain");
  const [chosen, choose] = usePart("host", "");
  const [pointed, point] = useState<Pointed>(null);
  const host = chosen === "" ? -1 : nodeNamed(wires, chosen);

  const around = host < 0 ? 0 : host;
  const back = useMemo(() => linksBack(wires), [wires]);
  const { xy, choice } = useLayout(wires, around);
  const graph = useMemo(() => new Graph(wires, xy, back), [wires, xy, back]);
  const far = useMemo(() => distancesFrom(wires, around), [wires, around]);
  const isByCable = wires.duplex;

  const look = (view: View): Look => {
    const links = wires.tail.length;
    const width = new Float32Array(links).fill(Math.min(1.25, graph.widest(view, isByCable)));
    const linkColour = new Uint8Array(links);
    const nodeColour = new Uint8Array(wires.nodes);
    let nodeColours = [colours.accent];
    if (colouring === "orbit" && wires.orbit) {
      nodeColours = colours.marks;
      for (let v = 0; v < wires.nodes; v++) nodeColour[v] = wires.orbit[v]! % nodeColours.length;
    } else if (colouring === "distance") {
      const most = Math.max(...far, 1);
      nodeColours = [colours.warn, ...Array.from({ length: most }, (_, k) => scaleStep(colours, 1 - k / most)), colours.pale];
      for (let v = 0; v < wires.nodes; v++) nodeColour[v] = far[v]! < 0 ? most + 1 : far[v]!;
    }
    const near = host >= 0 ? host : pointed && "host" in pointed ? pointed.host : -1;
    for (let e = 0; e < links; e++) {
      const isNear = wires.tail[e] === near || wires.head[e] === near;
      const isPointed = pointed && "link" in pointed && (pointed.link === e || back[pointed.link] === e);
      if (isPointed || isNear) {
        linkColour[e] = isPointed ? 2 : 1;
        width[e] = isPointed ? 3 : 2;
        const other = back[e]!;
        if (isByCable && other >= 0) [linkColour[other], width[other]] = [linkColour[e]!, width[e]!];
      }
    }
    const marked = near >= 0 ? [{ node: near, colour: colours.warn }] : [];
    return {
      isByCable, linkWidth: width, linkColour, colours: [colours.line, colours.accent, colours.warn], nodeColour, nodeColours,
      nodeEdge: colours.paper, nodeRadius: graph.radius(view), hasArrows: !isByCable && links <= 600, ink: colours.ink, paper: colours.paper,
      name: (node) => hostName(wires, node), marked, loads: [],
    };
  };

  const found = (x: number, y: number, view: View): Pointed => {
    const node = graph.nodeAt(x, y, view);
    if (node >= 0) return { host: node };
    const link = graph.linkAt(x, y, view, isByCable);
    return link >= 0 ? { link } : null;
  };
  const shown: Pointed = host >= 0 ? { host } : pointed;
  const pick = (x: number, y: number, view: View) => {
    const picked = found(x, y, view);
    if (picked && "link" in picked) point(picked);
    choose(picked && "host" in picked ? hostName(wires, picked.host) : "");
  };

  return (
    <div class="view wiring">
      <section class="picture">
        <div class="controls">
          {choice}
          <label>
            Colours
            <select value={colouring} onChange={(event) => setColouring(event.currentTarget.value)}>
              <option value="plain">none</option>
              <option value="distance">hops from a host</option>
              {wires.orbit && <option value="orbit">hosts that are alike</option>}
            </select>
          </label>
          <label>
            Host
            <input value={chosen} placeholder="name or number" size={12} onChange={(event) => choose(event.currentTarget.value.trim())} />
          </label>
        </div>
        <Stage
          label={`${panel.title}: ${counted(facts.nodes, "host")}, ${cablesText(facts)}`}
          name={panel.title}
          data={panel.data}
          paper={colours.paper}
          home={(width, height) => graph.home(width, height)}
          homeKey={xy}
          paint={(painter: Painter, view: View) => graph.paint(painter, view, look(view))}
          onPoint={(x, y, view) => point(found(x, y, view))}
          onPick={pick}
          onLeave={() => point(null)}
        />
        <p class="pointed" aria-live="polite">
          {shown ? <PointedText shown={shown} data={panel.data} far={far} around={around} /> : <span class="hint">Point at a host or a cable; click a host to keep it.</span>}
        </p>
        {shown && <Cut shown={shown} data={panel.data} isLive={isLive} route={route} />}
      </section>
      <section class="words">
        {facts.without_faults && <Changed facts={facts} isLive={isLive} />}
        <Facts rows={[["wiring", panel.data.argument || panel.title], ...factRows(facts, panel.data.method)]} />
        <Hops facts={facts} far={host >= 0 ? far : null} name={host >= 0 ? hostTitle(wires, host) : ""} />
        <Hosts wires={wires} far={far} around={around} choose={choose} chosen={host} />
      </section>
    </div>
  );
}

const cablesText = (facts: Facts): string =>
  facts.duplex ? counted(facts.num_links / 2, "duplex cable") : counted(facts.num_links, "one-way link");

function PointedText({ shown, data, far, around }: { shown: { host: number } | { link: number }; data: WiringData; far: Int32Array; around: number }) {
  const { wires } = data;
  if ("link" in shown) {
    const [tail, head] = [wires.tail[shown.link]!, wires.head[shown.link]!];
    const what = wires.duplex ? "Duplex cable between" : "Link from";
    return (
      <>
        {what} {hostTitle(wires, tail)} {wires.duplex ? "and" : "to"} {hostTitle(wires, head)}.
      </>
    );
  }
  const out = linksOut(wires);
  const names = Array.from(out.link.slice(out.ptr[shown.host]!, out.ptr[shown.host + 1]!), (e) => hostName(wires, wires.head[e]!));
  const hops = far[shown.host]!;
  const away = shown.host === around ? "" : hops < 0 ? ` Not reached from ${hostTitle(wires, around)}.` : ` ${counted(hops, "hop")} from ${hostTitle(wires, around)}.`;
  return (
    <>
      <strong>{hostTitle(wires, shown.host)}</strong> sends to {names.join(", ")}.{away}
    </>
  );
}

// The buttons that cut a cable or take a host down: a live page asks what is left.
function Cut({ shown, data, isLive, route }: { shown: { host: number } | { link: number }; data: WiringData; isLive: boolean; route: Record<string, string> }) {
  const { wires } = data;
  const [kind, text] =
    "host" in shown
      ? ["down", quoted(hostName(wires, shown.host))]
      : ["cut", `${quoted(hostName(wires, wires.tail[shown.link]!))},${quoted(hostName(wires, wires.head[shown.link]!))}`];
  const words = "host" in shown ? `Take ${hostTitle(wires, shown.host)} down` : "Cut this cable";
  if (!isLive) {
    return (
      <p class="hint">
        What is left without it: <code>linkstep show '{data.argument}' --{kind} {text}</code>, or click it in <code>linkstep explore</code>.
      </p>
    );
  }
  const more = [route[kind], text].filter(Boolean).join(";");
  return (
    <button type="button" class="danger" onClick={() => go({ [kind]: more, host: null }, true)}>
      {words}
    </button>
  );
}

const quoted = (name: string): string => (/[",;]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name);

function Changed({ facts, isLive }: { facts: Facts; isLive: boolean }) {
  const before = facts.without_faults!;
  const change = facts.best && before.best ? facts.best.allreduce_seconds / before.best.allreduce_seconds : null;
  return (
    <div class="changed" role="status">
      <h2>What the faults change</h2>
      <p>{facts.faults.join("; ")}.</p>
      {facts.best && before.best && (
        <Facts
          rows={[
            ["allreduce", `${timeText(before.best.allreduce_seconds)} before, ${timeText(facts.best.allreduce_seconds)} now${change === null ? "" : ` (${change.toFixed(2)} times)`}`],
            ["steps", `${before.best.steps} before, ${facts.best.steps} now`],
            ["T_B", `${before.best.t_b} M/B before, ${facts.best.t_b} now`],
          ]}
        />
      )}
      {isLive && (
        <button type="button" onClick={() => go({ cut: null, down: null }, true)}>
          Mend everything
        </button>
      )}
    </div>
  );
}

function factRows(facts: Facts, method: string | null): [string, string][] {
  const bound = (facts.duplex ? facts.moore_steps_duplex : null) ?? facts.moore_steps;
  const wiring = facts.duplex ? "duplex wiring" : "wiring";
  const rows: [string, string][] = [
    ["hosts", `${facts.nodes}, ${counted(facts.degree, "port")} each`],
    ["cables", cablesText(facts)],
    ["farthest hosts", `${counted(facts.diameter, "hop")}${facts.diameter === bound ? `, as few as any ${wiring}` : `; no ${wiring} has less than ${bound}`}`],
    ["mean distance", `${fraction(facts.mean_distance).toFixed(3)} hops`],
    ["hosts alike", facts.vertex_transitive === null ? "not known" : facts.vertex_transitive ? "yes, all" : "no"],
  ];
  if (facts.best) {
    const { best } = facts;
    rows.push(["allreduce", `${timeText(best.allreduce_seconds)} (${best.fabric})`]);
    rows.push(["steps (T_L)", String(best.steps)]);
    rows.push(["bandwidth (T_B)", `${best.t_b} M/B${best.bandwidth_optimal ? ", as little as any wiring" : ""}`]);
    rows.push(["schedule by", method ?? best.method]);
  }
  return rows;
}

function Hops({ facts, far, name }: { facts: Facts; far: Int32Array | null; name: string }) {
  const counts: number[] = [];
  if (far) for (const hop of far) if (hop >= 0) counts[hop] = (counts[hop] ?? 0) + 1;
  const rows = far ? counts : facts.mean_nodes_by_distance.map(fraction);
  return (
    <Table
      caption={far ? `Hosts by their distance from ${name}` : facts.nodes_by_distance ? "Hosts by their distance from any host" : "Hosts by distance, on average"}
      columns={[
        { head: "hops", cell: ([hop]) => hop, isNumber: true },
        { head: "hosts", cell: ([, count]) => Math.round(count * 1000) / 1000, isNumber: true },
      ]}
      rows={rows.map((count, hop) => [hop, count] as [number, number])}
      rowKey={([hop]) => hop}
    />
  );
}

function Hosts({ wires, far, around, choose, chosen }: { wires: Wires; far: Int32Array; around: number; choose: (name: string) => void; chosen: number }) {
  const [out, into] = useMemo(() => [linksOut(wires), linksIn(wires)], [wires]);
  const names = (links: Int32Array, ends: ArrayLike<number>) => Array.from(links, (e) => hostName(wires, ends[e]!)).join(", ");
  const of = (by: { ptr: Int32Array; link: Int32Array }, v: number) => by.link.slice(by.ptr[v]!, by.ptr[v + 1]!);
  return (
    <Table
      caption="Hosts and what they are wired to"
      columns={[
        { head: "host", cell: (v) => hostName(wires, v), sort: (v) => (wires.labels ? hostName(wires, v) : v) },
        ...(wires.racks ? [{ head: "rack", cell: (v: number) => wires.racks![v]!, sort: (v: number) => wires.racks![v]! }] : []),
        { head: wires.duplex ? "cables to" : "sends to", cell: (v) => names(of(out, v), wires.head) },
        ...(wires.duplex ? [] : [{ head: "hears from", cell: (v: number) => names(of(into, v), wires.tail) }]),
        { head: `hops from ${hostName(wires, around)}`, cell: (v) => (far[v]! < 0 ? "none" : far[v]!), sort: (v) => far[v]!, isNumber: true },
        ...(wires.orbit ? [{ head: "kind", title: "hosts of a kind are alike: a symmetry takes one to the other", cell: (v: number) => wires.orbit![v]! + 1, sort: (v: number) => wires.orbit![v]!, isNumber: true }] : []),
      ]}
      rows={Array.from({ length: wires.nodes }, (_, v) => v)}
      rowKey={(v) => v}
      isMarked={(v) => v === chosen}
      onPick={(v) => choose(hostName(wires, v))}
      most={64}
    />
  );
}

export function Open() {
  const [text, setText] = useState("");
  return (
    <form
      class="open"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim()) go({ what: text.trim() }, true);
      }}
    >
      <label>
        A wiring
        <input value={text} placeholder="Torus(4,4) or K_{4,4}" onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <button type="submit">Open</button>
    </form>
  );
}

export const WIRING: ViewRow = {
  kind: "wiring",
  title: "Wiring",
  View: WiringView,
  question: (route) => (route["what"] ? { ask: "wiring", what: route["what"], faults: faults(route), ...pricing(route) } : null),
  Empty: Open,
};
