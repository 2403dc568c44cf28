// Cabling: which port goes where, as a picture, a list to tick, labels to print, and what another plan changes.
import { useMemo, useState } from "preact/hooks";
import type { View } from "../draw/graph";
import type { Painter } from "../draw/painter";
import { go, usePart, useRoute } from "../model/route";
import { counted } from "../model/words";
import { fileName, saveText } from "../parts/save";
import { Stage } from "../parts/Stage";
import { Facts, Table, type ColumnOf } from "../parts/Table";
import { useTheme } from "../parts/theme";
import type { Column } from "../model/document";
import "./cabling.css";
import { csvText } from "./cabling/csv";
import { Changes, type Difference } from "./cabling/difference";
import { fromPort, PortPlan, toPort, type CableRow, type Change, type Drawn, type Host } from "./cabling/plan";
import { Labels, Sheets } from "./cabling/prints";
import { faults, pricing, type ViewProps, type ViewRow } from "./view";

interface Facts {
  nodes: number;
  degree: number;
  labels: string[];
  faults: string[];
  cables: CableRow[];
}

interface CablingData {
  argument: string;
  facts: Facts;
  racks: string[] | null;
  cross_connects: Column;
  difference: Difference | null;
}

function CablingView({ panel }: ViewProps<CablingData>) {
  const { data } = panel;
  const { facts, difference } = data;
  const { colours } = useTheme();
  const [text, setText] = usePart("find", "");
  const [chosen, choose] = usePart("host", "");
  const [rack, setRack] = usePart("rack", "");
  const [cable, setCable] = usePart("cable", "");
  const [print] = usePart("print", "");
  const [pointed, point] = useState<{ cable: number } | { host: number } | null>(null);
  const [plugged, setPlugged] = useState<ReadonlySet<CableRow>>(new Set());

  const hosts = useMemo(() => hostsOf(data), [data]);
  const drawn = useMemo(() => drawnCables(data), [data]);
  const plan = useMemo(() => new PortPlan(hosts, Math.max(facts.degree, difference?.degree ?? 0, 1), drawn), [hosts, drawn]);
  const rackOf = useMemo(() => {
    const known = new Map(hosts.map((host) => [host.name, host.rack]));
    return (name: string) => known.get(name) ?? null;
  }, [hosts]);
  const called = useMemo(() => callers(facts.cables), [facts]);
  const details = useMemo(() => [...new Set(facts.cables.flatMap((row) => Object.keys(row.details ?? {})))], [facts]);
  const host = chosen === "" ? -1 : hosts.findIndex((one) => one.name === chosen);
  const passes = useMemo(() => {
    const wanted = text.toLowerCase();
    return (row: CableRow) =>
      (host < 0 || row.from === chosen || row.to === chosen) &&
      (rack === "" || rackOf(row.from) === rack || rackOf(row.to) === rack) &&
      (wanted === "" || `${words(row)} ${Object.values(row.details ?? {}).join(" ")}`.toLowerCase().includes(wanted));
  }, [text, chosen, host, rack, rackOf]);
  const rows = useMemo(() => facts.cables.filter(passes), [facts, passes]);
  const isShown = useMemo(() => {
    const found = drawn.map(({ row }) => passes(row));
    return (at: number) => found[at]!;
  }, [drawn, passes]);

  if (print === "labels") return <Labels rows={rows} hosts={facts.labels} called={called} />;
  if (print === "racks") return <Sheets rows={rows} hosts={facts.labels} rackOf={rackOf} called={called} />;

  const picked = cable === "" ? -1 : drawn.findIndex(({ row, change }) => change !== "plug" && String(row.cable) === cable);
  const at = picked >= 0 ? picked : pointed && "cable" in pointed ? pointed.cable : -1;
  const racks = [...new Set(hosts.map((one) => one.rack).filter((one) => one !== null))];
  const find = (x: number, y: number, view: View) => {
    const found = plan.cableAt(x, y, view);
    if (found >= 0) return { cable: found };
    const box = plan.hostAt(x, y, view);
    return box >= 0 ? { host: box } : null;
  };
  const pick = (x: number, y: number, view: View) => {
    const found = find(x, y, view);
    point(found);
    if (!found) go({ cable: null, host: null });
    else if ("host" in found) go({ host: hosts[found.host]!.name, cable: null });
    else go({ cable: drawn[found.cable]!.change === "plug" ? null : String(drawn[found.cable]!.row.cable) });
  };
  const tick = (row: CableRow) => {
    const next = new Set(plugged);
    if (!next.delete(row)) next.add(row);
    setPlugged(next);
  };
  const save = () => saveText(csvText(rows, details, (row) => plugged.has(row)), fileName(panel.title, "csv"), "text/csv");

  return (
    <div class="view cabling">
      <section class="picture">
        <div class="controls">
          <label>
            Host
            <input value={chosen} size={10} placeholder="name" onChange={(event) => choose(event.currentTarget.value.trim())} />
          </label>
          {racks.length > 0 && (
            <label>
              Rack
              <select value={rack} onChange={(event) => setRack(event.currentTarget.value)}>
                <option value="">all</option>
                {racks.map((one) => (
                  <option key={one}>{one}</option>
                ))}
              </select>
            </label>
          )}
          <label>
            Text
            <input type="search" value={text} size={12} placeholder="in any column" onInput={(event) => setText(event.currentTarget.value)} />
          </label>
          <button type="button" onClick={() => go({ find: null, host: null, rack: null, cable: null })}>
            All cables
          </button>
          <button type="button" onClick={() => go({ print: "labels" }, true)}>
            Print labels
          </button>
          <button type="button" onClick={() => go({ print: "racks" }, true)}>
            {racks.length ? "Sheets of racks" : "Sheet to tick"}
          </button>
        </div>
        <Stage
          label={`${panel.title}: ${counted(hosts.length, "host")} with ${counted(facts.degree, "port")} each, ${counted(facts.cables.length, "cable")}`}
          name={panel.title}
          data={data}
          paper={colours.paper}
          home={(width, height) => plan.home(width, height)}
          homeKey={plan}
          paint={(painter: Painter, view: View) =>
            plan.paint(painter, view, { colours, isShown, cable: at, host: host >= 0 ? host : pointed && "host" in pointed ? pointed.host : -1 })
          }
          onPoint={(x, y, view) => point(find(x, y, view))}
          onPick={pick}
          onLeave={() => point(null)}
        />
        <p class="pointed" aria-live="polite">
          {at >= 0 ? <CableText row={drawn[at]!.row} change={drawn[at]!.change} called={called} rackOf={rackOf} /> : host >= 0 ? `${chosen}: ${counted(rows.length, "cable")} in the list.` : <span class="hint">Point at a port or a cable; click it or a host to keep it.</span>}
        </p>
        {chosen !== "" && host < 0 && <p class="error" role="alert">There is no host {chosen} in this plan.</p>}
      </section>
      <section class="words">
        {difference && <Changes difference={difference} argument={data.argument} pick={(row) => setCable(String(row.cable))} />}
        <Facts rows={factRows(facts, racks.length, rackOf)} />
        <p role="status">
          {rows.length === facts.cables.length ? counted(rows.length, "cable") : `${rows.length.toLocaleString("en")} of ${counted(facts.cables.length, "cable")}`},{" "}
          {facts.cables.filter((row) => plugged.has(row)).length} ticked as plugged.{" "}
          <button type="button" onClick={save}>
            Save this list
          </button>
        </p>
        <p class="hint">Ticks are kept until this window is closed: save the list (CSV) to keep them.</p>
      </section>
      <section class="list">
        <Table
          caption={`Cables${rows.length < facts.cables.length ? " that the filters leave" : ""}; ports are counted from 0`}
          columns={[
            number,
            { head: "plugged", cell: (row) => <input type="checkbox" checked={plugged.has(row)} aria-label={`cable ${called(row)} is plugged`} onChange={() => tick(row)} /> },
            ...columns(rackOf, racks.length > 0, choose),
            ...details.map((what): ColumnOf<CableRow> => ({ head: detailHead(what), cell: (row) => row.details?.[what] ?? "", sort: (row) => sortable(row.details?.[what] ?? "") })),
            { head: "panel from", title: "the port of a patch panel that the first end is plugged into: hosts in order, port by port", cell: (row) => row.panel_from, sort: (row) => row.panel_from, isNumber: true },
            { head: "panel to", title: "the same of the second end", cell: (row) => row.panel_to, sort: (row) => row.panel_to, isNumber: true },
          ]}
          rows={rows}
          rowKey={(row) => row.cable}
          isMarked={(row) => String(row.cable) === cable}
          onPick={(row) => setCable(String(row.cable) === cable ? "" : String(row.cable))}
        />
        <details>
          <summary>What a patch panel or optical switch connects</summary>
          <Connects connects={data.cross_connects} labels={facts.labels} ports={facts.degree} />
        </details>
      </section>
    </div>
  );
}

const HEADS = ["cable", "plugged", "from", "rack", "from port", "to", "rack there", "to port", "kind", "panel from", "panel to"];
const number: ColumnOf<CableRow> = { head: "cable", cell: (row) => row.cable, sort: (row) => row.cable, isNumber: true };

const detailHead = (what: string): string => (HEADS.includes(what.toLowerCase()) ? `given ${what}` : what);

// Numbers by their size wherever a column has some: "2 m" before "10 m".
const sortable = (text: string): string => text.replace(/\d+/g, (digits) => digits.padStart(12, "0"));

function columns(rackOf: (host: string) => string | null, hasRacks: boolean, choose: (name: string) => void): ColumnOf<CableRow>[] {
  const host = (name: string) => (
    <button type="button" class="link" onClick={() => choose(name)}>
      {name}
    </button>
  );
  const place = (head: string, of: (row: CableRow) => string): ColumnOf<CableRow>[] =>
    hasRacks ? [{ head, cell: (row) => rackOf(of(row)) ?? "", sort: (row) => sortable(rackOf(of(row)) ?? "") }] : [];
  return [
    { head: "from", cell: (row) => host(row.from), sort: (row) => sortable(row.from) },
    ...place("rack", (row) => row.from),
    { head: "from port", cell: fromPort, sort: (row) => sortable(fromPort(row)) },
    { head: "to", cell: (row) => host(row.to), sort: (row) => sortable(row.to) },
    ...place("rack there", (row) => row.to),
    { head: "to port", cell: toPort, sort: (row) => sortable(toPort(row)) },
    { head: "kind", title: "duplex: both ways; simplex: a fibre from the first to the second", cell: (row) => row.kind, sort: (row) => row.kind },
  ];
}

const words = (row: CableRow): string => `${row.from}:${fromPort(row)} ${row.to}:${toPort(row)} ${row.kind}`;

// What a cable is called: the list's own label where it has one, else its number.
function callers(rows: CableRow[]): (row: CableRow) => string {
  const what = rows.flatMap((row) => Object.keys(row.details ?? {})).find((name) => /^(label|cable)$/i.test(name));
  return (row) => (what && row.details?.[what]) || String(row.cable);
}

// The hosts of the plan, and those that only the other one has.
function hostsOf({ facts, racks, difference }: CablingData): Host[] {
  const found = facts.labels.map((name, k) => ({ name, rack: racks?.[k] || null }));
  const known = new Set(facts.labels);
  difference?.labels.forEach((name, k) => {
    if (!known.has(name)) found.push({ name, rack: difference.racks?.[k] || null });
  });
  return found;
}

function drawnCables({ facts, difference }: CablingData): Drawn[] {
  const change = new Map<number, Change>();
  for (const { cable } of difference?.unplug ?? []) change.set(cable.cable, "unplug");
  for (const { before } of difference?.move ?? []) change.set(before.cable, "move");
  const added = (difference?.plug ?? []).map(({ cable }): Drawn => ({ row: cable, change: "plug" }));
  return [...facts.cables.map((row): Drawn => ({ row, change: change.get(row.cable) ?? "kept" })), ...added];
}

const SAID: Record<Change, string> = { kept: "", unplug: " To unplug.", move: " To move to other ports.", plug: " To plug." };

function CableText({ row, change, called, rackOf }: { row: CableRow; change: Change; called: (row: CableRow) => string; rackOf: (host: string) => string | null }) {
  const end = (host: string, port: string) => `${host} port ${port}${rackOf(host) === null ? "" : ` (rack ${rackOf(host)})`}`;
  return (
    <>
      <strong>Cable {called(row)}</strong>, {row.kind}: {end(row.from, fromPort(row))} to {end(row.to, toPort(row))}.
      {SAID[change]}
    </>
  );
}

function factRows(facts: Facts, racks: number, rackOf: (host: string) => string | null): [string, string][] {
  const duplex = facts.cables.filter((row) => row.kind === "duplex").length;
  const simplex = facts.cables.length - duplex;
  const rows: [string, string][] = [
    ["hosts", `${facts.nodes.toLocaleString("en")}, ${counted(facts.degree, "port")} each`],
    ["cables", `${counted(duplex, "duplex cable")}${simplex ? `, ${counted(simplex, "simplex fibre")}` : ""}`],
  ];
  if (racks) {
    const inside = facts.cables.filter((row) => rackOf(row.from) !== null && rackOf(row.from) === rackOf(row.to)).length;
    rows.push(["racks", `${racks}; ${counted(inside, "cable stays", "cables stay")} inside one`]);
  }
  if (facts.faults.length) rows.push(["not wired", facts.faults.join("; ")]);
  return rows;
}

function Connects({ connects, labels, ports }: { connects: Column; labels: string[]; ports: number }) {
  const end = (at: number) => `${labels[Math.floor(at / ports)]} port number ${at % ports}`;
  return (
    <Table
      caption="Input and output of the panel, for every fibre"
      columns={[
        { head: "input", cell: ([input]) => input, sort: ([input]) => input, isNumber: true },
        { head: "output", cell: ([, output]) => output, sort: ([, output]) => output, isNumber: true },
        { head: "fibre", cell: ([input, output]) => `${end(input)} to ${end(output)}` },
      ]}
      rows={Array.from({ length: connects.length / 2 }, (_, k): [number, number] => [connects[2 * k]!, connects[2 * k + 1]!])}
      rowKey={(_, k) => k}
      most={64}
    />
  );
}

function Empty() {
  const route = useRoute();
  return <p class="hint">{route["what"] ? "" : "Open a wiring or a file with cables first: its ports and cables are listed here."}</p>;
}

export const CABLING: ViewRow = {
  kind: "cabling",
  title: "Cabling",
  View: CablingView,
  question: (route) => (route["what"] ? { ask: "cabling", what: route["what"], faults: faults(route), ...pricing(route) } : null),
  Empty,
};
