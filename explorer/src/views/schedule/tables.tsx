// The schedule in words: its steps, a step in a sentence, what hosts send and hold, and why it takes no less.
import { useMemo } from "preact/hooks";
import { shardsText, stepName } from "../../model/schedule";
import { hostName, hostTitle, type Wires } from "../../model/wires";
import { counted, fraction, general, sizeText, timeText } from "../../model/words";
import { Table } from "../../parts/Table";
import { kinds } from "./Picture";
import type { Limit, Played } from "./played";

// An amount in the schedule's units as shards, exactly: "3/4".
export function inShards(amount: number, unit: number): string {
  let [a, b] = [amount, unit];
  while (b) [a, b] = [b, a % b];
  return unit === a ? String(amount / a) : `${amount / a}/${unit / a}`;
}

// The same for people: at most three decimals.
const brief = (amount: number, unit: number): string => String(Math.round((1000 * amount) / unit) / 1000);

export function stepSentence(played: Played, step: number, size: number): string {
  const { data, steps } = played;
  if (step === 0) return `Before step 1 of ${steps}: nothing is sent yet`;
  const one = data.steps[step - 1]!;
  const all = one.links + one.idle;
  const idle = one.idle ? `${one.idle.toLocaleString("en")} of ${counted(all, "link")} ${one.idle === 1 ? "is" : "are"} idle` : `none of ${counted(all, "link")} is idle`;
  const loads = !one.links
    ? "nothing is sent"
    : one.busiest === one.least
      ? `every link that works carries ${shardsText(one.busiest)}`
      : `the busiest of ${counted(one.links, "working link")} carries ${shardsText(one.busiest)}, the least ${shardsText(one.least)}`;
  return `Step ${step} of ${steps} (${stepName(data, step)}): ${loads}, ${idle}; takes ${timeText(one.seconds)} for ${sizeText(size)}`;
}

export function Steps({ played, step, size, title, goTo }: { played: Played; step: number; size: number; title: string; goTo: (step: number) => void }) {
  const { data } = played;
  const rows = data.steps.map((one, k) => ({ ...one, step: k + 1 }));
  type Row = (typeof rows)[number];
  return (
    <div class="steps">
    <Table
      caption={title}
      columns={[
        { head: "step", cell: (row: Row) => row.step, isNumber: true, sort: (row) => row.step },
        { head: "what", cell: (row) => stepName(data, row.step) },
        { head: "busiest link", title: "shards that the busiest link carries: the step waits for it", cell: (row) => row.busiest, sort: (row) => fraction(row.busiest), isNumber: true },
        { head: "M/B", title: "what the step adds to T_B: the time of its busiest link, where M are the data in all and B is a server's bandwidth", cell: (row) => row.t_b, sort: (row) => fraction(row.t_b), isNumber: true },
        { head: "idle links", cell: (row) => row.idle, sort: (row) => row.idle, isNumber: true },
        { head: `time (${sizeText(size)})`, cell: (row) => timeText(row.seconds), sort: (row) => row.seconds, isNumber: true },
      ]}
      rows={rows}
      rowKey={(row) => row.step}
      isMarked={(row) => row.step === step}
      onPick={(row) => goTo(row.step)}
    />
    </div>
  );
}

const MOST_NAMED = 12;

// What one host sends and receives at a step, link by link.
export function Messages({ played, wires, host, step }: { played: Played; wires: Wires; host: number; step: number }) {
  const { rows, data } = played;
  const messages = useMemo(() => {
    const found = new Map<number, { link: number; amount: number; shards: Set<number> }>();
    for (let k = rows.ptr[step] ?? 0; k < (rows.ptr[step + 1] ?? 0); k++) {
      const link = rows.link[k]!;
      if (wires.tail[link] !== host && wires.head[link] !== host) continue;
      const one = found.get(link) ?? { link, amount: 0, shards: new Set<number>() };
      one.amount += rows.hi[k]! - rows.lo[k]!;
      one.shards.add(rows.source[k]!);
      found.set(link, one);
    }
    const sends = (link: number) => (wires.tail[link] === host ? 0 : 1);
    return [...found.values()].sort((a, b) => sends(a.link) - sends(b.link) || a.link - b.link);
  }, [played, host, step]);
  type Row = (typeof messages)[number];
  const named = (shards: Set<number>) => {
    const names = [...shards].sort((a, b) => a - b).map((s) => hostName(wires, data.node[s]!));
    return names.length > MOST_NAMED ? `${names.slice(0, MOST_NAMED).join(", ")} and ${names.length - MOST_NAMED} more` : names.join(", ");
  };
  return (
    <Table
      caption={`What ${hostTitle(wires, host)} sends and receives at step ${step}`}
      columns={[
        { head: "way", cell: (row: Row) => (wires.tail[row.link] === host ? "sends to" : "receives from") },
        { head: "host", cell: (row) => hostName(wires, wires.tail[row.link] === host ? wires.head[row.link]! : wires.tail[row.link]!) },
        { head: "shards", cell: (row) => inShards(row.amount, data.unit), isNumber: true, sort: (row) => row.amount },
        { head: "whose", cell: (row) => named(row.shards) },
      ]}
      rows={messages}
      rowKey={(row) => row.link}
    />
  );
}

// What each link carries at a step, the busiest first.
export function Links({ played, wires, step }: { played: Played; wires: Wires; step: number }) {
  const { rows, data } = played;
  const links = useMemo(() => {
    const load = rows.loads(step);
    const busy = Array.from(load.keys()).filter((e) => load[e]);
    return busy.sort((a, b) => load[b]! - load[a]! || a - b).map((link) => ({ link, load: load[link]! }));
  }, [played, step]);
  type Row = (typeof links)[number];
  const name = (end: ArrayLike<number>) => (row: Row) => hostName(wires, end[row.link]!);
  const order = (end: ArrayLike<number>) => (row: Row) => (wires.labels ? hostName(wires, end[row.link]!) : end[row.link]!);
  return (
    <Table
      caption={`What links carry at step ${step}, in shards`}
      columns={[
        { head: "from", cell: name(wires.tail), sort: order(wires.tail) },
        { head: "to", cell: name(wires.head), sort: order(wires.head) },
        { head: "carries", cell: (row: Row) => inShards(row.load, data.unit), sort: (row) => row.load, isNumber: true },
      ]}
      rows={links}
      rowKey={(row) => row.link}
    />
  );
}

// What every host holds after a step, and sends and receives in it.
export function Hosts({ played, wires, step, host, choose }: { played: Played; wires: Wires; step: number; host: number; choose: (node: number) => void }) {
  const { rows, data } = played;
  const { reduces } = kinds(data.collective);
  const held = played.holdings(step);
  const whole = held.size.reduce((sum, one) => sum + one, 0);
  const isExchange = data.collective === "all-to-all";
  const unit = isExchange ? held.size[0]! : data.unit;
  const hosts = useMemo(() => {
    const [sent, received] = [new Float64Array(wires.nodes), new Float64Array(wires.nodes)];
    for (let k = rows.ptr[step] ?? 0; k < (rows.ptr[step + 1] ?? 0); k++) {
      const amount = rows.hi[k]! - rows.lo[k]!;
      sent[wires.tail[rows.link[k]!]!]! += amount;
      received[wires.head[rows.link[k]!]!]! += amount;
    }
    return Array.from({ length: wires.nodes }, (_, node) => ({ node, sent: sent[node]!, received: received[node]!, done: held.doneOf[node]!, toPass: held.toPassOf[node]! }));
  }, [played, step]);
  type Row = (typeof hosts)[number];
  const of = brief(whole, unit);
  return (
    <Table
      caption={`What hosts hold after step ${step}, and send and receive in it, in shards`}
      columns={[
        { head: "host", cell: (row: Row) => hostName(wires, row.node), sort: (row) => (wires.labels ? hostName(wires, row.node) : row.node) },
        { head: isExchange ? "pieces there" : reduces ? "finished" : "there", cell: (row) => `${brief(row.done, unit)} of ${of}`, sort: (row) => row.done, isNumber: true },
        ...(reduces ? [{ head: "to pass on", title: "of its part of the sums, with what was added to it", cell: (row: Row) => brief(row.toPass, unit), sort: (row: Row) => row.toPass, isNumber: true }] : []),
        { head: "sends", cell: (row) => brief(row.sent, data.unit), sort: (row) => row.sent, isNumber: true },
        { head: "receives", cell: (row) => brief(row.received, data.unit), sort: (row) => row.received, isNumber: true },
      ]}
      rows={hosts}
      rowKey={(row) => row.node}
      isMarked={(row) => row.node === host}
      onPick={(row) => choose(row.node)}
    />
  );
}

export interface Certificate {
  method: string;
  t_b: string;
  why: string | null;
  steps: Limit[];
}

export function limitText(wires: Wires, limit: Limit): string {
  const host = hostTitle(wires, limit.node);
  const what = `${shardsText(limit.shards)} over ${limit.links.length === 1 ? "one of its links" : `${limit.links.length} of its links`}`;
  if (limit.hosts.length) return `Step ${limit.step} is limited by the ports of ${hostTitle(wires, limit.hosts[0]!)}${limit.hosts.length > 1 ? ` and ${limit.hosts.length - 1} more` : ""}, ${shardsText(limit.load)}`;
  return `Step ${limit.step} is limited by ${host}: ${limit.sends ? "sends" : "gets"} ${what}, ${limit.load} each`;
}

// Why no such schedule takes less: a button for each step marks its host and links.
export function Limits({ certificate, wires, chosen, choose }: { certificate: Certificate; wires: Wires; chosen: Limit | null; choose: (limit: Limit | null) => void }) {
  const which = certificate.method === "bfb" ? "schedule that takes shortest ways" : "schedule in which everything arrives when it does here";
  return (
    <div class="limits">
      <h2>Why it takes no less</h2>
      <p>
        No {which} takes less bandwidth: at each step one host has this to send or to get, and only these links for it. Click a line to see which.
        {certificate.why && ` What keeps it above the least there is: ${certificate.why}.`}
      </p>
      <ul>
        {certificate.steps.map((limit) => {
          const isChosen = limit === chosen;
          return (
            <li key={limit.step}>
              <button type="button" class="link" aria-pressed={isChosen} onClick={() => choose(isChosen ? null : limit)}>
                {limitText(wires, limit)}
              </button>
            </li>
          );
        })}
      </ul>
    </div>
  );
}

// The totals of a schedule so far.
export function Totals({ played, step, time, besideTime }: { played: Played; step: number; time: number; besideTime: number | null }) {
  const { data, ends, steps } = played;
  const isOver = time >= ends[steps]! * (1 - 1e-12);
  const over = isOver ? steps : Math.max(step - 1, 0);
  const moved = data.steps.slice(0, over).reduce((sum, one) => sum + fraction(one.t_b), 0);
  const slower = besideTime !== null && besideTime > 0 ? `, ${general(data.seconds / besideTime, 3)} times as long as ours` : "";
  const now = step ? `step ${step} of ${steps} (${stepName(data, step)})` : "not begun";
  return (
    <p class="totals">
      <strong>{data.name}</strong>: {isOver ? `done after ${counted(steps, "step")} and ${timeText(data.seconds)}${slower}` : now};{" "}
      <span title="T_B: how long the busiest links take in all, where M are the data and B is a server's bandwidth">
        {general(moved, 3)} of {general(fraction(data.t_b), 3)} M/B
      </span>{" "}
      {isOver ? "moved" : "moved before it"}.
    </p>
  );
}
