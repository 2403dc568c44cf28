// What it takes to get from a plan to another, as a list to work through: unplug, move, plug.
import { Table } from "../../parts/Table";
import type { CableRow } from "./plan";

// CablingDifference of src/linkstep/reports/plan_difference.py, and what the page needs of the other plan to draw it.
export interface Difference {
  argument: string;
  labels: string[];
  racks: string[] | null;
  degree: number;
  hosts_gone: string[];
  hosts_added: string[];
  by_name: boolean;
  num_kept: number;
  unplug: { cable: CableRow; words: string }[];
  move: { before: CableRow; after: CableRow; words: string }[];
  plug: { cable: CableRow; words: string }[];
  words: string;
}

interface Row {
  sign: string;
  line: string;
  work: string;
  words: string;
  cable: CableRow | null; // of the plan that is shown
}

export function Changes({ difference, argument, pick }: { difference: Difference; argument: string; pick: (row: CableRow) => void }) {
  const rows: Row[] = [
    ...difference.unplug.map(({ cable, words }) => ({ sign: "\u2715", line: "dashed", work: "unplug", words, cable })),
    ...difference.move.map(({ before, words }) => ({ sign: "\u21c4", line: "dotted", work: "move", words, cable: before })),
    ...difference.plug.map(({ words }) => ({ sign: "+", line: "solid", work: "plug", words, cable: null as CableRow | null })),
  ];
  return (
    <div class="changed" role="status">
      <h2>
        From {argument || "this plan"} to {difference.argument || "the other plan"}
      </h2>
      <p>{difference.words}</p>
      {difference.hosts_gone.length > 0 && <p>No longer wired: {difference.hosts_gone.join(", ")}.</p>}
      {difference.hosts_added.length > 0 && <p>New: {difference.hosts_added.join(", ")}.</p>}
      {rows.length > 0 && (
        <>
          <p class="hint">
            Cables are matched by the names of their hosts, ports by their {difference.by_name ? "names" : "numbers"}. Unplug first, and of cables to move every end
            before the first is plugged again: some take the ports of others.
          </p>
          <Table
            caption="What to do, in this order"
            columns={[
              { head: "work", cell: (row) => <span class="change">{row.sign} {row.work}</span> },
              { head: "in the picture", cell: (row) => `${row.line} line with ${row.sign}` },
              { head: "what to do", cell: (row) => (row.cable ? <button type="button" class="link" onClick={() => pick(row.cable!)}>{row.words}</button> : row.words) },
            ]}
            rows={rows}
            rowKey={(_, k) => k}
          />
        </>
      )}
    </div>
  );
}
