// Choose: which wiring for so many servers and ports, why, and how it compares; the view that people see first.
import { useMemo, useState } from "preact/hooks";
import { exactTime, exactRate } from "../model/quantities";
import { go, usePart } from "../model/route";
import { AnswerText, type Asked } from "./choose/answer";
import { FrontierChart, TimeChart } from "./choose/charts";
import { Asked as AskedControls, Controls, JOB, ports, servers, USUAL, usePricing } from "./choose/controls";
import { Clock, rowsOf, type ChooseData, type Row } from "./choose/model";
import { Candidates, Compared, TodayTable } from "./choose/tables";
import type { ViewProps, ViewRow } from "./view";
import "./choose.css";

// Parts of the URL that name hosts and cables of another wiring.
const ELSEWHERE = { cut: null, down: null, host: null, source: null, cable: null, rack: null, layout: null };

function ChooseView({ panel, isLive }: ViewProps<ChooseData>) {
  const { data } = panel;
  const { facts } = data;
  const pricing = usePricing(data);
  const usual = isLive ? USUAL.load : data.rank_by === "job" ? JOB + facts.job?.model : data.rank_by;
  const [chosenLoad, setLoad] = usePart("load", usual);
  const load = chosenLoad.startsWith(JOB) ? (facts.job ? "job" : "allreduce") : chosenLoad === "all-to-all" ? "all-to-all" : "allreduce";
  const [pairText, setPair] = usePart("pair", "");
  const [command, setCommand] = useState<string | null>(null);
  const rows = useMemo(() => rowsOf(data), [data]);
  const clock = useMemo(() => new Clock(data, pricing.alpha.value, pricing.bandwidth.value), [data, pricing.alpha.text, pricing.bandwidth.text]);
  const asked: Asked = { data, rows, clock, pricing, load };

  const openRow = (row: Row) => {
    const panelAt = data.shown[row.name];
    if (isLive) go({ view: "wiring", what: row.name, ...ELSEWHERE }, true);
    else if (panelAt !== undefined) go({ panel: String(panelAt) }, true);
    else setCommand(`linkstep show '${row.name}'`);
  };
  const open = (row: Row) => (
    <button type="button" class="link" onClick={() => openRow(row)} title="open this wiring">
      {row.name}
    </button>
  );
  const keys = pairText ? pairText.split("~") : [];
  const pair = keys.map((key) => [...rows.ours, ...rows.today].find((row) => row.key === key)).filter((row) => row !== undefined);
  const choose = (row: Row, isChosen: boolean) => {
    const kept = keys.filter((key) => key !== row.key);
    setPair((isChosen ? [...kept, row.key].slice(-2) : kept).join("~"));
  };
  const tables = { asked, open, pair: keys, choose };
  return (
    <div class="view wide choose">
      <Controls data={data} pricing={pricing} load={chosenLoad} setLoad={setLoad} isLive={isLive} />
      <AnswerText asked={asked} open={open} />
      {command && (
        <p class="hint" role="status">
          This page does not hold that wiring: <code>{command}</code> shows it, and <code>linkstep explore</code> draws it.
        </p>
      )}
      <div class="charts">
        <TimeChart asked={asked} />
        <FrontierChart asked={asked} open={openRow} />
      </div>
      {pair.length === 2 ? (
        <Compared asked={asked} pair={[pair[0]!, pair[1]!]} open={open} clear={() => setPair("")} />
      ) : (
        <p class="hint">{pair.length === 1 ? `Tick another row to see it beside ${pair[0]!.name}.` : "Tick two rows to see them side by side."}</p>
      )}
      <div>
        <p class="hint">
          {rows.ours.length === 1 ? "No other wiring that is known equals or beats this one" : "No other wiring that is known equals or beats one of these"} in steps, data (T_B) and
          all-to-all together.
        </p>
        <Candidates {...tables} />
      </div>
      {rows.today.length > 0 && <TodayTable {...tables} />}
      <How data={data} isLive={isLive} />
    </div>
  );
}

function How({ data, isLive }: { data: ChooseData; isLive: boolean }) {
  const { nodes, degree, kind, bounds } = data.facts;
  const directed = kind === "directed" ? " --directed" : "";
  return (
    <details>
      <summary>How are these numbers made?</summary>
      <dl>
        <dt>Steps (T_L)</dt>
        <dd>How many messages follow one another before everybody has everything: each takes alpha, however little is sent.</dd>
        <dt>Data (T_B)</dt>
        <dd>How long moving the data takes, where 1 is what a server needs to send all of it once through all its ports at their full rate.</dd>
        <dt>Time</dt>
        <dd>
          Steps times alpha, and T_B times M/B besides, where M is the data and B the rate of a server over all its ports. T_L and T_B are exact, counted on the schedule or
          proven of it; where that says only what it takes at most, so does the page. Alpha and B are what you say of your network.
        </dd>
        <dt>What no wiring beats</dt>
        <dd>
          In fewer than {bounds.steps} steps the {nodes - 1} other servers cannot be reached through {degree} {degree === 1 ? "port" : "ports"} and back; and with less than {bounds.t_b} M/B a server has not
          had its part of everybody's data. No wiring does better than both by a reduce-scatter and an allgather, and often none reaches both.
        </dd>
        {Object.entries(data.methods).map(([name, title]) => (
          <>
            <dt key={name}>Schedule by {name}</dt>
            <dd>{title}</dd>
          </>
        ))}
        <dt>All-to-all</dt>
        <dd>The rate at which a server sends when every server has something for every other.</dd>
      </dl>
      <p>
        The same in a terminal: <code>linkstep find {nodes} {degree}{directed}</code>.
        {!isLive && (
          <>
            {" "}
            Other numbers of servers and ports: <code>linkstep explore</code>.
          </>
        )}
      </p>
    </details>
  );
}

// What is shown before there is an answer: where the URL asks for what cannot be.
function Empty() {
  return (
    <div class="view wide choose">
      <div class="controls choose-controls" role="group" aria-label="What is asked">
        <AskedControls jobs={[]} />
      </div>
    </div>
  );
}

export const CHOOSE: ViewRow = {
  kind: "choose",
  title: "Choose",
  View: ChooseView,
  question: (route) => {
    const nodes = servers(route["n"] ?? USUAL.n).value;
    const degree = ports(route["d"] ?? USUAL.d).value;
    if (nodes === null || degree === null) return null;
    const load = route["load"] ?? USUAL.load;
    const asked = { ask: "choose", nodes, degree, kind: route["kind"] ?? USUAL.kind };
    if (!load.startsWith(JOB)) return { ...asked, rank_by: load };
    // An iteration depends on the fabric in more ways than a page can follow.
    const alpha = exactTime(route["alpha"] ?? "").value ? route["alpha"] : undefined;
    const bandwidth = exactRate(route["bandwidth"] ?? "").value ? route["bandwidth"] : undefined;
    return { ...asked, rank_by: "job", job: load.slice(JOB.length), alpha, bandwidth };
  },
  Empty,
};
