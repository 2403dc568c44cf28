// File: a runtime's file, right or wrong, where it is wrong, and what it makes its ranks do.
import { useMemo, useState } from "preact/hooks";
import { held } from "../model/held";
import { go, usePart, useRoute } from "../model/route";
import { counted, readSize, sizeText, timeText } from "../model/words";
import { SaveMenu } from "../parts/SaveMenu";
import { Facts, Table } from "../parts/Table";
import { findingsOf, placeName, verdictText, type FileData, type Finding } from "./file/data";
import { Drop } from "./file/drop";
import { markedBy, usualMark } from "./file/marks";
import { Picture } from "./file/picture";
import { rowOfLine, rowsOf, TextView } from "./file/text";
import { pricing, type ViewProps, type ViewRow } from "./view";
import "./file.css";

function FileView({ panel, isLive }: ViewProps<FileData>) {
  const data = panel.data;
  const { facts } = data;
  const [chosen, choose] = usePart("mark", usualMark(data));
  const rows = useMemo(() => rowsOf(data), [data]);
  const marked = useMemo(() => markedBy(chosen, data), [chosen, data]);
  const [head, says] = verdictText(facts);
  const hasText = data.length > 0;
  const line = marked.kind === "line" ? rowOfLine(rows, marked.number) : null;
  const spots = line ? [[line.at, line.at + Math.max(1, line.text.length)] as [number, number]] : marked.spots;
  return (
    <div class="view file">
      <div class="file-top">
        {isLive && <Drop isSmall />}
        <p class={`verdict ${facts.status}`} role="status">
          <strong>{head}:</strong> {says}
        </p>
      </div>
      {data.wires && (
        <section class="picture">
          {isLive && <Asking />}
          <Picture data={data} marked={marked} mark={choose} />
        </section>
      )}
      <section class="words">
        {!data.wires && <SaveMenu name={data.file} data={data} />}
        <Findings data={data} chosen={marked.kind === "finding" ? marked.number : -1} choose={(k) => choose(`finding.${k}`)} />
        {hasText && <Jump data={data} choose={choose} />}
        {hasText && <TextView data={data} rows={rows} spots={spots} />}
        {!data.wires && data.why_not_played && <p class="hint">There is no picture. {data.why_not_played}</p>}
        <Facts rows={factRows(data)} />
      </section>
    </div>
  );
}

function Findings({ data, chosen, choose }: { data: FileData; chosen: number; choose: (k: number) => void }) {
  const findings = findingsOf(data.facts);
  if (!findings.length) return <p>Nothing is wrong with it, and nothing to warn of.</p>;
  const where = (one: Finding, k: number) => {
    const line = data.findings[k]!.line;
    return [placeName(one.rank, one.threadblock, one.step), line && `line ${line}`].filter(Boolean).join(", ");
  };
  return (
    <Table
      caption="What was found; a click shows where"
      columns={[
        { head: "finding", cell: (k) => `${findings[k]!.severity}: ${findings[k]!.rule}` },
        { head: "where", cell: (k) => where(findings[k]!, k) },
        { head: "what", cell: (k) => findings[k]!.message },
      ]}
      rows={Array.from(findings.keys())}
      rowKey={(k) => k}
      isMarked={(k) => k === chosen}
      onPick={choose}
    />
  );
}

// Going to a rank or a line of the text.
function Jump({ data, choose }: { data: FileData; choose: (mark: string) => void }) {
  const number = (text: string) => (/^\s*\d{1,9}\s*$/.test(text) ? String(Number(text)) : null);
  const jump = (kind: string) => (event: { currentTarget: HTMLInputElement }) => {
    const found = number(event.currentTarget.value);
    if (found !== null) choose(`${kind}.${found}`);
  };
  return (
    <div class="controls" role="group" aria-label="Go to">
      {data.places.rank.length > 0 && (
        <label>
          Go to rank
          <input size={5} inputMode="numeric" onChange={jump("rank")} />
        </label>
      )}
      <label>
        Go to line
        <input size={7} inputMode="numeric" onChange={jump("line")} />
      </label>
    </div>
  );
}

// For which data and wires a live page plays it.
function Asking() {
  const route = useRoute();
  const [problem, setProblem] = useState("");
  return (
    <div class="controls">
      <label title="of the whole collective, such as 16MB">
        Data
        <input
          size={8}
          value={route["size"] ?? ""}
          placeholder="1MB"
          onChange={(event) => {
            const text = event.currentTarget.value.trim();
            const isSize = text === "" || readSize(text) !== null;
            setProblem(isSize ? "" : `${text} is no size: write such as 16MB.`);
            if (isSize) go({ size: text || null });
          }}
        />
      </label>
      <label title="the topology that it runs on; without one it has a link for each pair that it uses">
        Runs on
        <input size={14} value={route["on"] ?? ""} placeholder="the links it uses" onChange={(event) => go({ on: event.currentTarget.value.trim() || null })} />
      </label>
      {problem && (
        <span class="error" role="alert">
          {problem}
        </span>
      )}
    </div>
  );
}

function factRows(data: FileData): [string, string][] {
  const { facts, simulation, messages } = data;
  const rows: [string, string][] = [["file", data.file]];
  if (facts.status !== "unreadable") {
    rows.push(["read as", facts.dialect!]);
    if (facts.dialects!.length) rows.push(["runtimes that take it", facts.dialects!.join(", ")]);
    rows.push(["collective", facts.collective!]);
    rows.push(["ranks", String(facts.ranks!) + (facts.forwarders ? ` and ${facts.forwarders} that forward` : "")]);
    rows.push(["chunks", String(facts.chunks!)]);
    rows.push(["instructions", facts.instructions!.toLocaleString("en")]);
    if (facts.name) rows.push(["name", facts.name]);
  }
  if (data.length) rows.push(["lines", data.lines.toLocaleString("en")]);
  if (simulation) {
    rows.push(["takes", `${timeText(simulation.simulated_seconds)} for ${sizeText(simulation.size)}`]);
    if (simulation.bound_seconds !== null) rows.push(["at least", `${timeText(simulation.bound_seconds)}, by bandwidth`]);
    const [from, to] = simulation.busiest_link;
    rows.push(["busiest link", `${from} to ${to}, ${Math.round(100 * simulation.utilisation)}% of the time`]);
  }
  if (messages) rows.push(["messages", counted(messages.link.length, "message")]);
  return rows;
}

export const FILE: ViewRow = {
  kind: "file",
  title: "File",
  View: FileView,
  question: (route) => {
    const given = held(route["file"]);
    return given ? { ask: "file", name: given.name, text: given.text, on: route["on"], ...pricing(route) } : null;
  },
  Empty: () => <Drop />,
};
