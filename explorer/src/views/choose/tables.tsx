// The numbers: candidates, what is run today, and two rows side by side with their differences in words.
import type { ComponentChildren } from "preact";
import { Exact } from "../../model/exact";
import { general, rateText, sizeText, timeText } from "../../model/words";
import { Table, type ColumnOf } from "../../parts/Table";
import { bound, ourSeconds, secondsOf, type Asked } from "./answer";
import { cablesText, decimalText, LARGEST, SMALLEST, timesText, titleOf, windowsOf, type Row } from "./model";

const T_L = "T_L, how many messages one after the other; each takes alpha, however small";
const T_B = "T_B: moving the data takes T_B times M/B, M the data and B what a server sends over all its ports";

interface Props {
  asked: Asked;
  open: (row: Row) => ComponentChildren;
  pair: string[];
  choose: (row: Row, isChosen: boolean) => void;
}

function common({ asked, open, pair, choose }: Props): { first: ColumnOf<Row>[]; time: ColumnOf<Row>[]; last: ColumnOf<Row>[] } {
  const { clock, pricing, rows, load } = asked;
  const seconds = (row: Row) => secondsOf(asked, row);
  const limit = seconds(rows.bound);
  const what = load === "job" ? "iteration" : `${load} ${pricing.size.text}`;
  const cost = (row: Row) => clock.allreduce(row, pricing.size.value).cost;
  const first: ColumnOf<Row>[] = [
    {
      head: "compare",
      cell: (row) =>
        row.role !== "bound" && (
          <input
            type="checkbox"
            aria-label={`Compare ${row.name}, ${row.schedule}, ${row.cost.steps} steps`}
            checked={pair.includes(row.key)}
            onChange={(event) => choose(row, event.currentTarget.checked)}
          />
        ),
    },
    { head: "wiring", cell: (row) => (row.role === "bound" ? <em>{row.name}</em> : open(row)), sort: (row) => row.name },
  ];
  const time: ColumnOf<Row>[] = [
    {
      head: what,
      cell: (row) => {
        const found = seconds(row);
        return found === null ? "not known" : bound(load, row).replace("at most ", "<=").replace("at least ", ">=") + timeText(found);
      },
      sort: (row) => seconds(row) ?? Infinity,
      isNumber: true,
    },
    {
      head: "over bound",
      title: "that over what no wiring beats",
      cell: (row) => {
        const found = seconds(row);
        return found === null || !limit ? "" : `${(found / limit).toFixed(2)}x`;
      },
      sort: (row) => seconds(row) ?? Infinity,
      isNumber: true,
    },
    { head: "steps", title: T_L, cell: (row) => cost(row).steps, sort: (row) => cost(row).steps, isNumber: true },
    {
      head: "T_B",
      title: T_B,
      cell: (row) => <span title={`exactly ${cost(row).t_b} M/B`}>{decimalText(cost(row).t_b)}</span>,
      sort: (row) => Exact.read(cost(row).t_b).number,
      isNumber: true,
    },
  ];
  const last: ColumnOf<Row>[] = [
    {
      head: "all-to-all",
      title: "what a server sends to the others in an all-to-all",
      cell: (row) => rateOf(asked, row),
      sort: (row) => clock.exchangeRate(row) ?? -1,
      isNumber: true,
    },
    { head: "cables", cell: (row) => (row.cables ? cablesText(row.cables) : ""), sort: (row) => row.cables?.count ?? -1 },
  ];
  return { first, time, last };
}

function rateOf({ clock }: Asked, row: Row): string {
  const rate = clock.exchangeRate(row);
  return rate === null ? "not known" : `${row.isFlowReached ? (row.isFlowAtMost ? ">=" : "") : "<="}${rateText(rate)}`;
}

export function Candidates(props: Props) {
  const { data, rows } = props.asked;
  const { first, time, last } = common(props);
  const schedule: ColumnOf<Row> = {
    head: "schedule by",
    cell: (row) => <span title={data.methods[row.schedule]}>{row.schedule}</span>,
    sort: (row) => row.schedule,
  };
  const hops: ColumnOf<Row> = { head: "hops", title: "between the two servers that are farthest apart", cell: (row) => row.diameter ?? "", sort: (row) => row.diameter ?? Infinity, isNumber: true };
  return (
    <Table
      caption="Candidates"
      columns={[...first, schedule, ...time, ...last, hops]}
      rows={[...rows.ours, rows.bound]}
      rowKey={(row) => row.key}
      isMarked={(row) => props.pair.includes(row.key)}
    />
  );
}

export function TodayTable(props: Props) {
  const { asked } = props;
  const { first, time, last } = common(props);
  const schedule: ColumnOf<Row> = { head: "schedule", cell: (row) => row.schedule, sort: (row) => row.schedule };
  const ours: ColumnOf<Row> = {
    head: "our schedule",
    title: "what an allreduce takes with our schedule on the same wires",
    cell: (row) => {
      const found = ourSeconds(asked, row);
      return found === null ? "" : `${row.today!.our_allreduce_at_most ? "<=" : ""}${timeText(found)}`;
    },
    sort: (row) => ourSeconds(asked, row) ?? Infinity,
    isNumber: true,
  };
  const inOrder = [...asked.rows.today].sort((a, b) => asked.clock.allreduce(a, asked.pricing.size.value).seconds - asked.clock.allreduce(b, asked.pricing.size.value).seconds);
  return (
    <Table
      caption="What is wired and run today"
      columns={[...first, schedule, ...time, ours, ...last]}
      rows={inOrder}
      rowKey={(row) => row.key}
      isMarked={(row) => props.pair.includes(row.key)}
    />
  );
}

interface Line {
  what: string;
  values: [string, string];
  words: string;
}

// Two rows side by side.
export function Compared({ asked, pair, open, clear }: { asked: Asked; pair: [Row, Row]; open: (row: Row) => ComponentChildren; clear: () => void }) {
  const { clock, pricing, load } = asked;
  const [a, b] = pair;
  const name = (row: Row) => titleOf(row, pair);
  const timed = pair.map((row) => clock.allreduce(row, pricing.size.value));
  const lines: Line[] = [];
  const add = (what: string, values: [string, string], numbers: [number | null, number | null], words: (less: Row, more: Row, by: number, ratio: string) => string) => {
    const [x, y] = numbers;
    if (x === null || y === null) lines.push({ what, values, words: "not known of both" });
    else if (x === y) lines.push({ what, values, words: "the same" });
    else lines.push({ what, values, words: x < y ? words(a, b, y - x, timesText(y, x)) : words(b, a, x - y, timesText(x, y)) });
  };
  const both = <T,>(of: (row: Row) => T): [T, T] => [of(a), of(b)];
  lines.push({ what: "schedule by", values: both((row) => row.schedule), words: "" });
  const taken = both((row) => secondsOf(asked, row));
  add(
    load === "job" ? "an iteration" : `${load} of ${pricing.size.text}`,
    both((row) => {
      const seconds = secondsOf(asked, row);
      return seconds === null ? "not known" : bound(load, row) + timeText(seconds);
    }),
    taken,
    (less, _, by, ratio) => `${name(less)} takes ${timeText(by)} less: ${ratio} times as fast`,
  );
  const [first, second] = timed as [(typeof timed)[0], (typeof timed)[0]];
  add("steps (T_L)", [String(first.cost.steps), String(second.cost.steps)], [first.cost.steps, second.cost.steps], (less, _, by) => `${by} fewer on ${name(less)}${asked.data.times ? "" : `: ${timeText(clock.cost({ steps: by, t_b: "0" }, pricing.size.value).seconds)}`}`);
  const t_b = both((row) => clock.allreduce(row, pricing.size.value).cost.t_b);
  add("data (T_B, in M/B)", [decimalText(t_b[0]), decimalText(t_b[1])], [Exact.read(t_b[0]).number, Exact.read(t_b[1]).number], (less, _, __, ratio) => `${name(less)} moves the data ${ratio} times as fast`);
  if (!asked.data.times && !a.pipeline && !b.pipeline) lines.push({ what: "allreduce of other sizes", values: ["", ""], words: sizesText(asked, a, b, name) });
  add("all-to-all", both((row) => rateOf(asked, row)), both((row) => clock.exchangeRate(row)), (_, more, __, ratio) => `${name(more)} sends ${ratio} times as much`);
  add("cables", both((row) => (row.cables ? cablesText(row.cables) : "")), both((row) => row.cables?.count ?? null), (less, _, by) => `${name(less)} needs ${general(by, 6)} fewer`);
  if (a.diameter !== null && b.diameter !== null) add("hops between the farthest", [String(a.diameter), String(b.diameter)], [a.diameter, b.diameter], (less, _, by) => `${by} fewer on ${name(less)}`);
  return (
    <section class="compared" aria-label="Side by side">
      <Table
        caption={`Side by side: ${name(a)} and ${name(b)}`}
        columns={[
          { head: "what", cell: (line) => line.what },
          { head: name(a), cell: (line) => line.values[0] },
          { head: `${name(b)} `, cell: (line) => line.values[1] },
          { head: "difference", cell: (line) => line.words },
        ]}
        rows={lines}
        rowKey={(line) => line.what}
      />
      <p>
        {open(a)} {open(b)}{" "}
        <button type="button" onClick={clear}>
          Compare no more
        </button>
      </p>
    </section>
  );
}

// Up to which size one of two is the faster.
function sizesText({ data, clock }: Asked, a: Row, b: Row, name: (row: Row) => string): string {
  const found = windowsOf(data, [a, b], clock);
  if (found.length < 2) return a.cost.steps === b.cost.steps && a.cost.t_b === b.cost.t_b ? "the same" : `${name(found[0]!.row)} is faster at every size from ${sizeText(SMALLEST, true)} to ${sizeText(LARGEST, true)}`;
  return `${name(found[0]!.row)} is faster up to ${sizeText(found[0]!.to, true)}, ${name(found[1]!.row)} above`;
}
