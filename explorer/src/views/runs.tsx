// Runs: what was measured for each size, beside the engine's own collective and what was predicted.
import { usePart } from "../model/route";
import { counted, general, sizeText, timeText } from "../model/words";
import { Chart, SHAPES, type Series } from "../parts/Chart";
import { Facts, Table, type ColumnOf } from "../parts/Table";
import { useTheme } from "../parts/theme";
import type { ViewProps, ViewRow } from "./view";
import "./runs.css";

interface Row {
  size: number;
  median_seconds: number;
  min_seconds: number | null;
  p99_seconds: number | null;
  algbw: number;
  busbw: number | null;
  own_median_seconds: number | null;
  predicted_seconds: number | null;
  wrong: number;
  repetitions: number | null;
  method: string | null;
}

interface Run {
  what: string;
  collective: string;
  engine: string;
  degree: number;
  cost: string | null;
  method: string | null;
  testbed: string | null;
  ranks: number | null;
  type: string | null;
  operation: string | null;
  rows: Row[];
}

const size = (bytes: number): string => sizeText(bytes, bytes % 1024 === 0);

// Bytes a second with three digits, as linkstep run prints them.
function rate(value: number): string {
  for (const [unit, scale] of [["TB/s", 1e12], ["GB/s", 1e9], ["MB/s", 1e6], ["kB/s", 1e3]] as const) if (value >= 0.9995 * scale) return general(value / scale, 3) + unit;
  return `${general(value, 3)}B/s`;
}

function RunsView({ panel }: ViewProps<{ runs: Run[] }>) {
  const { runs } = panel.data;
  const [chosen, choose] = usePart("run", "0");
  const [against, setAgainst] = usePart("chart", "time");
  const run = runs[Number(chosen)] ?? runs[0]!;
  return (
    <div class="view runs">
      <section class="picture">
        <div class="controls">
          {runs.length > 1 && (
            <label>
              Run
              <select value={String(runs.indexOf(run))} onChange={(event) => choose(event.currentTarget.value)}>
                {runs.map((one, k) => (
                  <option key={k} value={String(k)}>
                    {`${k + 1}: ${titleOf(one)}`}
                  </option>
                ))}
              </select>
            </label>
          )}
          <label>
            Chart
            <select value={against} onChange={(event) => setAgainst(event.currentTarget.value)}>
              <option value="time">time over size</option>
              <option value="rate">rate over size</option>
            </select>
          </label>
        </div>
        <RunChart run={run} title={titleOf(run)} isRate={against === "rate"} data={panel.data} />
      </section>
      <section class="words">
        <Facts rows={factRows(run)} />
      </section>
      <section class="sizes">
        <Sizes run={run} />
        {runs.length > 1 && <AllRuns runs={runs} run={run} choose={(at) => choose(String(at))} />}
      </section>
    </div>
  );
}

const titleOf = (run: Run): string => `${run.collective} on ${run.what} by ${run.engine}`;
const sorted = (rows: Row[]): Row[] => [...rows].sort((a, b) => a.size - b.size);

function RunChart({ run, title, isRate, data }: { run: Run; title: string; isRate: boolean; data: unknown }) {
  const { colours } = useTheme();
  const rows = sorted(run.rows);
  const line = (name: string, k: number, dash: string, seconds: (row: Row) => number | null): Series => ({
    name, colour: colours.marks[k]!, shape: SHAPES[k]!, dash, width: 2.2,
    points: rows.flatMap((row) => {
      const taken = seconds(row);
      return taken === null ? [] : [{ x: row.size, y: isRate ? row.size / taken : taken }];
    }),
  });
  const all = [
    line(run.method ? `measured (${run.method})` : "measured", 0, "", (row) => row.median_seconds),
    line(`${run.engine}'s own`, 1, "7 4", (row) => row.own_median_seconds),
    line("predicted", 2, "2 4", (row) => row.predicted_seconds),
  ];
  const series = all.filter((one) => one.points.length === rows.length); // of a part of the sizes: in the table
  return (
    <Chart
      label={`${title}: ${isRate ? "rate" : "time"} over size, ${counted(rows.length, "size")}`}
      name={title}
      data={data}
      kind="lines"
      x={{ label: "size of the data in all", isLog: true, text: size, ticks: rows.map((row) => row.size) }}
      y={isRate ? { label: "size / median time", isLog: true, text: rate } : { label: "median time", isLog: true, text: timeText }}
      series={series}
    />
  );
}

function factRows(run: Run): [string, string][] {
  const rows: [string, string | null][] = [
    ["collective", run.collective],
    ["wiring", run.what],
    ["ranks", run.ranks === null ? null : String(run.ranks)],
    ["engine", run.engine],
    ["elements", run.type && run.operation ? `${run.type}, ${run.operation}` : run.type],
    ["schedule by", run.method],
    ["schedule costs", run.cost],
    ["testbed", run.testbed],
  ];
  const faster = run.rows.filter((row) => row.own_median_seconds !== null && row.own_median_seconds > row.median_seconds);
  const compared = run.rows.filter((row) => row.own_median_seconds !== null).length;
  if (compared) rows.push([`faster than ${run.engine}'s own`, `for ${faster.length} of ${counted(compared, "size")}`]);
  const wrong = run.rows.reduce((sum, row) => sum + row.wrong, 0);
  rows.push(["results", wrong ? `WRONG: ${counted(wrong, "element")}` : "all right"]);
  return rows.filter((row): row is [string, string] => row[1] !== null);
}

function Sizes({ run }: { run: Run }) {
  const rows = sorted(run.rows);
  const has = (value: (row: Row) => unknown) => rows.some((row) => value(row) !== null);
  const time = (head: string, title: string, of: (row: Row) => number | null): ColumnOf<Row>[] =>
    has(of) ? [{ head, title, cell: (row) => textOf(of(row), timeText), sort: (row) => of(row) ?? 0, isNumber: true }] : [];
  const columns: ColumnOf<Row>[] = [
    { head: "size", title: "of the data in all, M", cell: (row) => size(row.size), sort: (row) => row.size, isNumber: true },
    ...time("min", "the fastest repetition", (row) => row.min_seconds),
    ...time("median", "of the repetitions", (row) => row.median_seconds),
    ...time("p99", "the 99th percentile", (row) => row.p99_seconds),
    { head: "algbw", title: "size / median", cell: (row) => rate(row.algbw), sort: (row) => row.algbw, isNumber: true },
    ...(has((row) => row.busbw) ? [{ head: "busbw", title: "what of that each rank has to send at least", cell: (row: Row) => textOf(row.busbw, rate), sort: (row: Row) => row.busbw ?? 0, isNumber: true }] : []),
    ...time(`${run.engine}'s own`, "median of the engine's own collective", (row) => row.own_median_seconds),
    ...(has((row) => row.own_median_seconds) ? [{ head: "speed-up", title: "its own over ours", cell: (row: Row) => textOf(over(row.own_median_seconds, row), (one) => `${one.toFixed(2)}x`), sort: (row: Row) => over(row.own_median_seconds, row) ?? 0, isNumber: true }] : []),
    ...time("predicted", "by the cost model", (row) => row.predicted_seconds),
    ...(has((row) => row.predicted_seconds) ? [{ head: "of it", title: "predicted over measured", cell: (row: Row) => textOf(over(row.predicted_seconds, row), (one) => `${Math.round(100 * one)}%`), sort: (row: Row) => over(row.predicted_seconds, row) ?? 0, isNumber: true }] : []),
    { head: "wrong", title: "elements that were not what they must be", cell: (row) => row.wrong, sort: (row) => row.wrong, isNumber: true },
    ...(run.method === null && has((row) => row.method) ? [{ head: "schedule by", cell: (row: Row) => row.method ?? "-" }] : []),
  ];
  return <Table caption="What each size took" columns={columns} rows={rows} rowKey={(row, at) => `${row.size} ${at}`} />;
}

const over = (seconds: number | null, row: Row): number | null => (seconds === null ? null : seconds / row.median_seconds);
const textOf = (value: number | null, text: (value: number) => string): string => (value === null ? "-" : text(value));

function AllRuns({ runs, run, choose }: { runs: Run[]; run: Run; choose: (at: number) => void }) {
  return (
    <Table
      caption="All runs of this file: choose one to see it"
      columns={[
        { head: "run", cell: (at) => titleOf(runs[at]!) },
        { head: "schedule by", cell: (at) => runs[at]!.method ?? "-" },
        { head: "sizes", cell: (at) => runs[at]!.rows.length, isNumber: true },
        { head: "testbed", cell: (at) => runs[at]!.testbed ?? "-" },
      ]}
      rows={runs.map((_, at) => at)}
      rowKey={(at) => at}
      isMarked={(at) => runs[at] === run}
      onPick={choose}
    />
  );
}

export const RUNS: ViewRow = {
  kind: "runs",
  title: "Runs",
  View: RunsView,
  question: () => null,
  Empty: () => (
    <p class="hint">
      Measure with <code>linkstep run RECIPE -o runs.json</code>, then show it with <code>linkstep report runs.json</code>.
    </p>
  ),
};
