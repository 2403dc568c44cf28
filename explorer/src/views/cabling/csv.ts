// The cable list as a file, with what was ticked: columns by the names that `linkstep wire -o plan.csv` gives them.
import type { CableRow } from "./plan";

const NAMES = ["cable", "from", "from_port", "to", "to_port", "kind", "panel_from", "panel_to", "from_port_name", "to_port_name"] as const;

export function csvText(rows: CableRow[], details: string[], isPlugged: (row: CableRow) => boolean): string {
  const names = NAMES.filter((name) => rows.some((row) => row[name] !== undefined));
  const taken: string[] = [...NAMES, "plugged"];
  const heads = details.map((what) => (taken.includes(what.toLowerCase()) ? `given ${what}` : what));
  const lines = rows.map((row) => [
    ...names.map((name) => String(row[name] ?? "")),
    ...details.map((what) => row.details?.[what] ?? ""),
    isPlugged(row) ? "yes" : "no",
  ]);
  return [[...names, ...heads, "plugged"], ...lines].map((line) => `${line.map(quoted).join(",")}\n`).join("");
}

const quoted = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);
