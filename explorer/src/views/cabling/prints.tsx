// What technicians take along: labels for both ends of each cable, and a sheet of every rack.
import type { ComponentChildren } from "preact";
import { go, usePart } from "../../model/route";
import { counted } from "../../model/words";
import { fromPort, shortened, toPort, type CableRow } from "./plan";

const SHEETS: Record<string, [across: number, down: number, letters: string]> = { "14": [2, 7, "15px"], "24": [3, 8, "12px"], "48": [4, 12, "9px"] };

interface End {
  row: CableRow;
  host: string;
  port: string;
  otherHost: string;
  otherPort: string;
}

function ends(rows: CableRow[]): End[] {
  return rows.flatMap((row) => [
    { row, host: row.from, port: fromPort(row), otherHost: row.to, otherPort: toPort(row) },
    { row, host: row.to, port: toPort(row), otherHost: row.from, otherPort: fromPort(row) },
  ]);
}

function byHost(all: End[], hosts: string[]): End[] {
  const place = new Map(hosts.map((name, k) => [name, k]));
  return all.sort((a, b) => place.get(a.host)! - place.get(b.host)! || a.row.cable - b.row.cable);
}

function Bar({ children }: { children: ComponentChildren }) {
  return (
    <div class="controls">
      <button type="button" onClick={() => go({ print: null }, true)}>
        Back to the plan
      </button>
      <button type="button" onClick={() => window.print()}>
        Print
      </button>
      {children}
    </div>
  );
}

const LETTERS = 96; // of host names in all columns of a label sheet: a long one is shortened, so that its port is read

// ``called`` is what a cable is called: its label, or its number.
export function Labels({ rows, hosts, called }: { rows: CableRow[]; hosts: string[]; called: (row: CableRow) => string }) {
  const [each, setEach] = usePart("each", "24");
  const [order, setOrder] = usePart("order", "cable");
  const [across, down, letters] = SHEETS[each] ?? SHEETS["24"]!;
  const all = order === "host" ? byHost(ends(rows), hosts) : ends(rows);
  const sheets = Array.from({ length: Math.ceil(all.length / (across * down)) }, (_, k) => all.slice(k * across * down, (k + 1) * across * down));
  return (
    <div class="view wide printing">
      <Bar>
        <label>
          Labels on a page
          <select value={each} onChange={(event) => setEach(event.currentTarget.value)}>
            {Object.entries(SHEETS).map(([count, [x, y]]) => (
              <option key={count} value={count}>
                {count} ({x} by {y})
              </option>
            ))}
          </select>
        </label>
        <label>
          Order
          <select value={order} onChange={(event) => setOrder(event.currentTarget.value)}>
            <option value="cable">by cable</option>
            <option value="host">by host</option>
          </select>
        </label>
        <span class="hint">
          {counted(rows.length, "cable")}, {counted(all.length, "label")} on {counted(sheets.length, "page")} of A4 or Letter.
        </span>
      </Bar>
      {sheets.map((sheet, k) => (
        <div key={k} class="sheet" style={{ fontSize: letters, gridTemplateColumns: `repeat(${across}, 1fr)`, gridTemplateRows: `repeat(${down}, 1fr)` }}>
          {sheet.map((end, at) => (
            <div key={at} class="label">
              <b>cable {called(end.row)}</b>
              <span class="here">
                <bdi>{shortened(end.host, LETTERS / across)}</bdi>:{end.port}
              </span>
              <span>
                to <bdi>{shortened(end.otherHost, LETTERS / across)}</bdi>:{end.otherPort}
              </span>
            </div>
          ))}
        </div>
      ))}
    </div>
  );
}

// A page for each rack, or one for all hosts where no racks are known.
export function Sheets({ rows, hosts, rackOf, called }: { rows: CableRow[]; hosts: string[]; rackOf: (host: string) => string | null; called: (row: CableRow) => string }) {
  const byRack = new Map<string, End[]>();
  for (const end of byHost(ends(rows), hosts)) {
    const rack = rackOf(end.host) ?? "";
    const same = byRack.get(rack);
    if (same) same.push(end);
    else byRack.set(rack, [end]);
  }
  const details = [...new Set(rows.flatMap((row) => Object.keys(row.details ?? {})))].filter((what) => !/^(label|cable)$/i.test(what));
  const where = (host: string) => (rackOf(host) === null ? host : `${host} (${rackOf(host)})`);
  return (
    <div class="view wide printing">
      <Bar>
        <span class="hint">{counted(byRack.size, "sheet")}: every cable end to plug in a rack, with a box to tick.</span>
      </Bar>
      {[...byRack].map(([rack, inside]) => (
        <section key={rack} class="rack-sheet">
          <h2>{rack ? `Rack ${rack}` : byRack.size > 1 ? "Hosts without a rack" : "All hosts"}</h2>
          <table>
            <thead>
              <tr>
                {["done", "host", "port", "to", "port there", "cable", ...details].map((head) => (
                  <th key={head} scope="col">
                    {head}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {inside.map((end, k) => (
                <tr key={k}>
                  <td>{"\u2610"}</td>
                  <td>{end.host}</td>
                  <td>{end.port}</td>
                  <td>{where(end.otherHost)}</td>
                  <td>{end.otherPort}</td>
                  <td>{called(end.row)}</td>
                  {details.map((what) => (
                    <td key={what}>{end.row.details?.[what] ?? ""}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      ))}
    </div>
  );
}
