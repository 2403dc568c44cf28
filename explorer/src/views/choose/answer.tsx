// The answer in words: which wiring, how much faster than the best of today, why, and what it costs in cables.
import type { ComponentChildren } from "preact";
import { Exact } from "../../model/exact";
import { counted, general, rateText, sizeText, timeText } from "../../model/words";
import { cablesText, LARGEST, SMALLEST, timesText, titleOf, windowsOf, type ChooseData, type Clock, type Row, type Rows } from "./model";
import type { Pricing } from "./controls";

export interface Asked {
  data: ChooseData;
  rows: Rows;
  clock: Clock;
  pricing: Pricing;
  load: "allreduce" | "all-to-all" | "job";
}

// Seconds of a row for what is asked; a job's iterations are known of some rows only.
export function secondsOf({ clock, pricing, load }: Asked, row: Row): number | null {
  if (load === "all-to-all") return clock.exchange(row, pricing.size.value);
  if (load === "allreduce") return clock.allreduce(row, pricing.size.value).seconds;
  return row.iteration?.seconds ?? null;
}

export function bound(load: string, row: Row): string {
  if (row.role === "bound") return "";
  if (load === "all-to-all") return row.isFlowReached ? (row.isFlowAtMost ? "at most " : "") : "at least ";
  if (load === "job") return row.iteration?.reached === false ? "at least " : "";
  return row.isAtMost ? "at most " : "";
}

// The row that takes the least, the earlier of equals.
export function least(asked: Asked, rows: Row[]): { row: Row; seconds: number } | null {
  let found: { row: Row; seconds: number } | null = null;
  for (const row of rows) {
    const seconds = secondsOf(asked, row);
    if (seconds !== null && (!found || seconds < found.seconds)) found = { row, seconds };
  }
  return found;
}

const called = (row: Row): string => (row.role === "today" ? `${row.schedule} on ${row.name}` : row.name);

function Task({ asked, size }: { asked: Asked; size: string }) {
  if (asked.load === "job") return <>An iteration of training {asked.data.facts.job!.model}</>;
  if (asked.load === "all-to-all") return <span title="every server sends an equal part of its data to every other">An all-to-all in which every server sends {size}</span>;
  return <span title="afterwards every server has the sum of what all of them put in">An allreduce of {size}</span>;
}

export function AnswerText({ asked, open }: { asked: Asked; open: (row: Row) => ComponentChildren }) {
  const { data, rows, pricing, load } = asked;
  const { nodes, degree, kind } = data.facts;
  const best = least(asked, rows.ours);
  if (!best) {
    return (
      <section class="answer" aria-label="Answer">
        <p class="headline">
          Nothing is known for {counted(nodes, "server")} with {counted(degree, "port")} each.
        </p>
        <p>{kind === "duplex" ? "Allow one-way fibres, or ask" : "Ask"} for another number of servers or ports.</p>
      </section>
    );
  }
  const today = least(asked, rows.today.length && load !== "job" ? rows.today : jobRows(asked));
  const limit = secondsOf(asked, rows.bound);
  const at = bound(load, best.row);
  return (
    <section class="answer" aria-label="Answer">
      <p class="headline">
        Wire {counted(nodes, "server")} with {counted(degree, "port")} each as {open(best.row)}.
      </p>
      <p>
        <Task asked={asked} size={pricing.size.text} /> then takes {at}
        <strong>{timeText(best.seconds)}</strong>
        {today && <Against best={best} today={today} />}. {limit !== null && <Limit best={best.seconds} limit={limit} asked={asked} />}
      </p>
      <ul>
        {load === "job" ? data.facts.job!.reason && <li>Where the time goes: {data.facts.job!.reason}.</li> : null}
        {load === "allreduce" && <Why asked={asked} best={best.row} today={today?.row ?? null} />}
        {load === "all-to-all" && <Exchange asked={asked} best={best.row} today={today?.row ?? null} />}
        <Cables best={best.row} today={load === "job" ? null : (today?.row ?? null)} />
        {load === "allreduce" && <Windows asked={asked} best={best.row} />}
        {load === "allreduce" && <Stay asked={asked} />}
        {load === "allreduce" && <Other asked={asked} best={best.seconds} />}
        <Next best={best.row} />
      </ul>
      <p class="hint">
        {data.times ? fixedText(data) : `For ${pricing.alpha.text} a step and ${pricing.bandwidth.text} a server, over all its ports.`}
        {load === "allreduce" && " What no wiring beats is counted for a reduce-scatter and then an allgather, as libraries sum much data."}
      </p>
    </section>
  );
}

// Why alpha and B are no controls, where a fabric has more than these.
function fixedText({ fabric, size, today }: ChooseData): string {
  const pipes = today.some((one) => one.pipeline) ? ` Steps and T_B of trees are for ${size.text}.` : "";
  return `For ${fabric.words}: that is more than alpha and B, so times were worked out for the sizes in the list.${pipes}`;
}

// What a job takes on what is wired today, which was worked out for a few wirings.
function jobRows({ data, rows, load }: Asked): Row[] {
  if (load !== "job" || !data.job) return [];
  return data.job.today.map((one) => rows.today.find((row) => row.name === one.name) ?? { ...rows.bound, key: one.name, name: one.name, role: "today" as const, schedule: "", iteration: one });
}

function Against({ best, today }: { best: { row: Row; seconds: number }; today: { row: Row; seconds: number } }) {
  const isSame = best.row.name === today.row.name;
  const name = isSame ? `${today.row.schedule}, today's schedule on the same wiring` : `the best of today, ${today.row.schedule ? called(today.row) : today.row.name}`;
  if (best.seconds < today.seconds) {
    return (
      <>
        , <strong>{timesText(today.seconds, best.seconds)} times as fast</strong> as {name} ({timeText(today.seconds)})
      </>
    );
  }
  if (best.seconds === today.seconds) return <>, as long as {name}</>;
  return (
    <>
      ; {name} takes {timeText(today.seconds)}
    </>
  );
}

function Limit({ best, limit, asked }: { best: number; limit: number; asked: Asked }) {
  if (asked.load === "job") return best <= limit ? <>No network can beat it.</> : <>No network of such servers can take less than {timeText(limit)}.</>;
  const kind = asked.data.facts.kind === "duplex" ? "wiring of duplex cables" : "wiring";
  // An allreduce can be made in other ways, which that bound says nothing of.
  const how = asked.load === "allreduce" ? " with the usual two phases, a reduce-scatter and an allgather" : "";
  if (best <= limit) return <>No {kind} is faster{how}.</>;
  return (
    <>
      No {kind} takes less than {timeText(limit)}{how}: this takes {general(100 * (best / limit - 1), 2)}% more.
    </>
  );
}

// Steps and data, beside what is run today.
function Why({ asked, best, today }: { asked: Asked; best: Row; today: Row | null }) {
  const { clock, pricing, rows } = asked;
  const ours = clock.allreduce(best, pricing.size.value);
  const theirs = today && clock.allreduce(today, pricing.size.value);
  const t_b = Exact.read(ours.cost.t_b).number;
  const theirT_b = theirs && Exact.read(theirs.cost.t_b).number;
  const isLeast = ours.cost.steps === rows.bound.cost.steps;
  const steps = theirs && theirs.cost.steps !== ours.cost.steps ? `${ours.cost.steps} steps instead of ${theirs.cost.steps}` : counted(ours.cost.steps, "step");
  const spent = ours.starting === null ? "" : `: ${timeText(ours.starting)}${theirs?.starting != null && theirs.starting !== ours.starting ? ` instead of ${timeText(theirs.starting)}` : ""}`;
  const moved = ours.moving === null ? "" : `: ${timeText(ours.moving)}${theirs?.moving != null && theirT_b !== t_b ? ` instead of ${timeText(theirs.moving)}` : ""}`;
  return (
    <>
      <li>
        <strong>Waiting:</strong> {steps}
        {isLeast && `, as few as any ${asked.data.facts.kind === "duplex" ? "duplex wiring" : "wiring"}`}. In a step servers send to their neighbours, which is counted as {pricing.alpha.text} (alpha) however little is sent
        {spent}.
      </li>
      <li>
        <strong>Sending:</strong> as long as it takes a server to send {t_b === 1 ? "the data once" : `${general(t_b, 4)} times the data`} through all its ports at once ({ours.cost.t_b} M/B)
        {moved}
        {theirs && theirT_b === t_b && ", the same as today"}
        {best.found?.bandwidth_optimal && "; no wiring needs less"}.
      </li>
    </>
  );
}

function Exchange({ asked, best, today }: { asked: Asked; best: Row; today: Row | null }) {
  const [ours, theirs] = [asked.clock.exchangeRate(best), today && asked.clock.exchangeRate(today)];
  if (ours === null) return null;
  return (
    <li>
      <strong>Rate:</strong> every server then sends {best.isFlowReached ? "" : "at most "}
      {rateText(ours)} of its {asked.pricing.bandwidth.text} to the others
      {theirs !== null && `, instead of ${rateText(theirs)}`}: shorter ways load fewer links.
    </li>
  );
}

function Cables({ best, today }: { best: Row; today: Row | null }) {
  if (!best.cables) return null;
  const same = today?.cables && today.cables.count === best.cables.count && today.cables.is_duplex === best.cables.is_duplex;
  return (
    <li>
      <strong>Cables:</strong> {cablesText(best.cables)}
      {!best.cables.is_duplex && `, the two fibres of each of ${(best.cables.count / 2).toLocaleString("en")} cables, split`}
      {today?.cables && (same ? `, as many as ${today.name} has` : `; ${today.name} has ${cablesText(today.cables)}`)}.
    </li>
  );
}

const SIZES = [10, 15, 18, 20, 25, 30].map((power) => 2 ** power);

// How the best candidate of each size stands beside the best of today.
function gains(asked: Asked): string {
  const { data, rows, pricing } = asked;
  if (data.times || !rows.today.length) return "";
  const found = SIZES.map((bytes) => {
    const at: Asked = { ...asked, pricing: { ...pricing, size: { ...pricing.size, value: Exact.of(bytes) } } };
    return `${general(least(at, rows.today)!.seconds / least(at, rows.ours)!.seconds, 3)} at ${sizeText(bytes, true)}`;
  });
  return `; times as fast as the best of today: ${found.join(", ")}`;
}

// What to do with the answer.
function Next({ best }: { best: Row }) {
  const { name } = best;
  return (
    <li>
      <strong>Next:</strong> open {name}{name.startsWith("Cat(") && ", a wiring of linkstep's catalog"}: the tabs show its cables, port by port, and what each link carries at each step. In a terminal{" "}
      <code>linkstep wire '{name}' -o cables.csv</code> and <code>linkstep schedule '{name}' -o allreduce.npz</code> write both.
    </li>
  );
}

function Windows({ asked, best }: { asked: Asked; best: Row }) {
  const found = windowsOf(asked.data, asked.rows.ours, asked.clock);
  const size = (bytes: number) => sizeText(bytes, true);
  const named = (row: Row) => titleOf(row, asked.rows.ours);
  if (found.length < 2) {
    return (
      <li>
        <strong>Other sizes:</strong> {found[0]?.row === best ? "it" : (found[0]?.row.name ?? "it")} is the fastest candidate at every size from {size(SMALLEST)} to {size(LARGEST)}
        {gains(asked)}.
      </li>
    );
  }
  return (
    <li>
      <strong>Other sizes:</strong>{" "}
      {found.map(({ row, from, to }, k) => `${k === 0 ? `up to ${size(to)}` : k === found.length - 1 ? `above ${size(from - 1)}` : `up to ${size(to)}`} ${named(row)}`).join(", ")}
      {gains(asked)}.
    </li>
  );
}

// What the best of today gains without a cable being moved.
function Stay({ asked }: { asked: Asked }) {
  const { rows, clock, pricing } = asked;
  let found: { row: Row; was: number; now: number } | null = null;
  for (const row of rows.today) {
    const now = ourSeconds(asked, row);
    const was = clock.allreduce(row, pricing.size.value).seconds;
    if (now !== null && now < was && (!found || was < found.was)) found = { row, was, now };
  }
  if (!found) return null;
  return (
    <li>
      <strong>Wired already?</strong> {found.row.name} takes {timeText(found.was)} today; with our schedule {found.row.today!.our_allreduce_at_most ? "at most " : ""}
      {timeText(found.now)}, no cable moved.
    </li>
  );
}

// Seconds of our allreduce on a wiring of today, where that is known.
export function ourSeconds({ data, clock, pricing }: Asked, row: Row): number | null {
  const { our_steps: steps, our_t_b: t_b, our_allreduce_seconds: seconds } = row.today!;
  if (steps === null || t_b === null) return null;
  if (!data.times) return clock.cost({ steps, t_b }, pricing.size.value).seconds;
  return pricing.size.text === data.size.text ? seconds : null;
}

function Other({ asked, best }: { asked: Asked; best: number }) {
  const { data, clock, pricing } = asked;
  if (data.facts.kind !== "duplex" || data.times) return null;
  let found: { name: string; seconds: number } | null = null;
  for (const one of data.facts.other.frontier) {
    const { seconds } = clock.cost(one, pricing.size.value);
    if (!found || seconds < found.seconds) found = { name: one.name, seconds };
  }
  if (!found || found.seconds >= best) return null;
  return (
    <li>
      <strong>One-way fibres</strong> would take {timeText(found.seconds)}, {general(100 * (1 - found.seconds / best), 2)}% less, as {found.name}: the two fibres of each port, split, go to different
      servers.
    </li>
  );
}
