// Schedule: what every link carries at each step, the tree of one shard, what hosts hold, what limits it, and another
// schedule of the same wires in lockstep.
import { useMemo, useState } from "preact/hooks";
import { Graph, type View } from "../draw/graph";
import type { Palette } from "../draw/palette";
import { stepName, type PlayedData } from "../model/schedule";
import { remembered } from "../model/remembered";
import { usePart } from "../model/route";
import { hostName, hostTitle, linkName, linksBack, nodeNamed, type Wires } from "../model/wires";
import { counted, sizeText, timeText } from "../model/words";
import { useLayout } from "../parts/layouts";
import { Stage } from "../parts/Stage";
import { Facts } from "../parts/Table";
import { useTheme } from "../parts/theme";
import { Choices, type Asked } from "./schedule/choices";
import { lookAt, Played, stepLook, type Marks } from "./schedule/played";
import { Picture } from "./schedule/Picture";
import { SPEEDS, useKeys, usePlayer, type Player } from "./schedule/player";
import { Hosts, inShards, Limits, Links, Messages, Steps, stepSentence, Totals, type Certificate } from "./schedule/tables";
import { faults, pricing, type ViewProps, type ViewRow } from "./view";
import { Open } from "./wiring";
import "./schedule.css";

interface Report {
  collective: string;
  method: string;
  steps: number;
  t_b: string;
  seconds: number;
  size: number;
  fabric: string;
  ranks: number;
  forwarders: number;
  chunks_per_shard: number;
  num_rows: number;
  bandwidth_optimal: boolean | null;
  moore_optimal: boolean;
  t_b_bound: string | null;
}

interface ScheduleData {
  argument: string;
  wires: Wires;
  facts: Report;
  method: string; // what made it, in words
  asked: Asked | null;
  unplayable: string | null;
  played: PlayedData;
  certificate: Certificate | null;
  beside: PlayedData[];
  left_out: string[];
}

function ScheduleView(props: ViewProps<ScheduleData>) {
  const { data } = props.panel;
  const isIdle = data.played && !data.played.steps.length;
  if (data.unplayable === null && !isIdle) return <Playing {...props} />;
  return (
    <div class="view wide schedule">
      <section class="words">
        {data.asked && <Choices asked={data.asked} wires={data.wires} rootNode={0} made={data.facts.method} />}
        <p>{data.unplayable ? `Not played here: ${data.unplayable}.` : "There is nothing to send: one host takes part."}</p>
        {data.facts && <ReportFacts argument={data.argument} facts={data.facts} method={data.method} isDuplex={data.wires?.duplex ?? false} />}
      </section>
    </div>
  );
}

function Playing({ panel, isLive }: ViewProps<ScheduleData>) {
  const { wires, facts, certificate, asked } = panel.data;
  const { colours } = useTheme();
  const [besideKey, setBeside] = usePart("beside", "");
  const [chosenHost, setHost] = usePart("host", "");
  const [sourceText, setSource] = usePart("source", "");
  const [limitText, setLimit] = usePart("limit", "");
  const ours = useMemo(() => new Played(wires, panel.data.played), [panel]);
  const besideData = panel.data.beside.find((one) => one.key === besideKey);
  const other = useMemo(() => (besideData ? new Played(wires, besideData) : null), [panel, besideData]);
  const clock = useMemo(() => clockOf(ours, other), [ours, other]);
  const player = usePlayer(clock.ends, clock.beats, clock.pace);
  useKeys(player);

  const time = player.now();
  const step = Math.min(player.at, ours.steps);
  const host = chosenHost === "" ? -1 : nodeNamed(wires, chosenHost);
  const sourceNode = sourceText === "" ? -1 : nodeNamed(wires, sourceText);
  const source = sourceNode < 0 ? -1 : shardOf(ours, sourceNode);
  const limit = certificate?.steps.find((one) => String(one.step) === limitText) ?? null;
  const back = useMemo(() => linksBack(wires), [wires]);
  const { xy, choice } = useLayout(wires, sourceNode >= 0 ? sourceNode : Math.max(host, 0));
  const graph = useMemo(() => new Graph(wires, xy, back), [wires, xy, back]);
  const rootNode = ours.data.root === null ? 0 : ours.data.node[ours.data.root]!;
  const pick = (node: number) => (sourceNode >= 0 ? setSource(node < 0 ? "" : hostName(wires, node)) : setHost(node < 0 ? "" : hostName(wires, node)));
  const shared = { graph, colours, player, pick, host, source, size: facts.size };
  const isPair = other !== null;
  const otherStep = other ? stepAt(other, time) : 0;

  return (
    <div class={isPair ? "view wide schedule" : "view schedule"}>
      <section class="picture">
        {isLive && asked && <Choices asked={asked} wires={wires} rootNode={rootNode} made={facts.method} />}
        <Controls player={player} played={ours} time={time} />
        <div class="controls">
          {choice}
          <label>
            Show
            <select value={sourceNode >= 0 ? "one" : "all"} onChange={(event) => setSource(event.currentTarget.value === "all" ? "" : hostName(wires, ours.data.root === null ? Math.max(host, 0) : rootNode))}>
              <option value="all">loads of all links</option>
              <option value="one">the way of one shard</option>
            </select>
          </label>
          {sourceNode >= 0 && (
            <label>
              of host
              <input value={sourceText} size={10} onChange={(event) => setSource(event.currentTarget.value.trim())} />
            </label>
          )}
          <label>
            Host
            <input value={chosenHost} placeholder="name or number" size={12} onChange={(event) => setHost(event.currentTarget.value.trim())} />
          </label>
          {panel.data.beside.length > 0 && (
            <label>
              Compare with
              <select value={other ? besideKey : ""} onChange={(event) => setBeside(event.currentTarget.value)}>
                <option value="">nothing</option>
                {panel.data.beside.map((one) => (
                  <option key={one.key} value={one.key}>
                    {one.name}
                  </option>
                ))}
              </select>
            </label>
          )}
        </div>
        {panel.data.left_out.length > 0 && <p class="hint">Too large to be played beside: {panel.data.left_out.join(", ")}.</p>}
        <p class="sentence" aria-live={player.isPlaying ? "off" : "polite"}>
          {stepSentence(ours, step, facts.size)}.
          {sourceNode >= 0 && ` ${shardSentence(ours, source, sourceNode, step)}`}
        </p>
        {other ? (
          <>
            <p>{comparison(ours, other, facts.size)}</p>
            <div class="pair">
              <Running {...shared} title={`${panel.title}, ${ours.data.name}`} played={ours} step={step} limit={limit} besideTime={null} data={panel.data} time={time} />
              <Running {...shared} title={`${panel.title}, ${other.data.name}`} played={other} step={otherStep} limit={null} besideTime={ours.data.seconds} data={besideData} time={time} />
              <Picture played={ours} step={step} title={`What hosts hold, ${ours.data.name}`} colours={colours} onHost={pick} />
              <Picture played={other} step={otherStep} title={`What hosts hold, ${other.data.name}`} colours={colours} onHost={pick} />
            </div>
          </>
        ) : (
          <>
            <Running {...shared} title={panel.title} played={ours} step={step} limit={limit} besideTime={null} data={panel.data} time={time} />
            <Picture played={ours} step={step} title="What hosts hold" colours={colours} onHost={pick} />
          </>
        )}
      </section>
      <section class="words">
        <ReportFacts argument={panel.data.argument} facts={facts} method={panel.data.method} isDuplex={wires.duplex} root={ours.data.root === null ? null : hostTitle(wires, rootNode)} />
        <Steps played={ours} step={step} size={facts.size} title={other ? `Steps of ${ours.data.name}` : "Steps"} goTo={player.goTo} />
        {other && <Steps played={other} step={otherStep} size={facts.size} title={`Steps of ${other.data.name}`} goTo={(to) => player.goTo(player.momentOf(other.ends[to]!))} />}
        {certificate && (
          <Limits
            certificate={certificate}
            wires={wires}
            chosen={limit}
            choose={(one) => {
              setLimit(one ? String(one.step) : "");
              if (one) player.goTo(one.step);
            }}
          />
        )}
        {host >= 0 && step > 0 && <Messages played={ours} wires={wires} host={host} step={step} />}
        {step > 0 && <Links played={ours} wires={wires} step={step} />}
        <Hosts played={ours} wires={wires} step={step} host={host} choose={(node) => setHost(hostName(wires, node))} />
      </section>
    </div>
  );
}

interface Clock {
  ends: Float64Array; // of our steps and, after the last, of the other's
  beats: Float64Array; // all of both
  pace: number;
}

// What takes no time on a fabric takes as long as everything else on the page.
function clockOf(ours: Played, other: Played | null): Clock {
  const total = ours.ends[ours.steps]!;
  const later = other ? Array.from(other.ends).filter((end) => end > total * (1 + 1e-12)) : [];
  const beats = other ? [...new Set([...ours.ends, ...other.ends])].sort((a, b) => a - b) : ours.ends;
  return { ends: Float64Array.from([...ours.ends, ...later]), beats: Float64Array.from(beats), pace: total / ours.steps };
}

// The step that runs at a time, or is just over.
function stepAt({ ends, steps }: Played, time: number): number {
  let step = 0;
  while (step < steps && ends[step]! < time * (1 - 1e-12)) step++;
  return step;
}

function shardOf(played: Played, node: number): number {
  const rank = played.rankOf[node]!;
  return played.data.root === null || rank === played.data.root ? rank : -1;
}

function shardSentence(played: Played, source: number, node: number, step: number): string {
  const { wires, data } = played;
  const name = hostTitle(wires, node);
  if (source < 0) return data.root === null ? `${name} takes no part: it has no shard.` : `Only the root has data here: ${hostTitle(wires, data.node[data.root]!)}.`;
  let [done, toPass] = [0, 0];
  for (let v = 0; v < wires.nodes; v++) {
    const held = played.heldOf(source, v, step);
    if (held.done > 1 - 1e-12) done++;
    if (held.toPass > 1e-12) toPass++;
  }
  const left = toPass ? `, ${counted(toPass, "host")} ${toPass === 1 ? "has" : "have"} still to pass on a part of its sum` : "";
  const what = data.collective === "all-to-all" ? `have the piece for them of the shard of ${name}` : `have the shard of ${name}`;
  return `${done} of ${counted(wires.nodes, "host")} ${done === 1 ? what.replace("have", "has") : what}${left}.`;
}

function comparison(ours: Played, other: Played, size: number): string {
  const [mine, its] = [ours.data, other.data];
  const times = its.seconds / mine.seconds;
  const words = times >= 1 ? `${times.toFixed(2)} times as long` : `${(1 / times).toFixed(2)} times faster`;
  return `For ${sizeText(size)} ${mine.name} takes ${counted(ours.steps, "step")} and ${timeText(mine.seconds)}; ${its.name} on the same wires takes ${counted(other.steps, "step")} and ${timeText(its.seconds)}, ${words}. One clock runs for both.`;
}

function Controls({ player, played, time }: { player: Player; played: Played; time: number }) {
  const { at, last, isPlaying } = player;
  const where = at > played.steps ? `done; ${timeText(time)}` : at ? `step ${at} of ${played.steps}, ${stepName(played.data, at)}` : "before the first step";
  return (
    <div class="player" role="group" aria-label="Player" title="Space plays and pauses, arrows step; on a picture , and . step">
      <button type="button" class="play" onClick={player.toggle}>
        {isPlaying ? "Pause" : "Play"}
      </button>
      <button type="button" aria-label="Step back" disabled={at === 0} onClick={() => player.goTo(at - 1)}>
        {"\u25c0"}
      </button>
      <button type="button" aria-label="Step forward" disabled={at === last} onClick={() => player.goTo(at + 1)}>
        {"\u25b6"}
      </button>
      <input type="range" min={0} max={last} value={at} aria-label="Step" aria-valuetext={where} onInput={(event) => player.goTo(Number(event.currentTarget.value))} />
      <output>{where}</output>
      <label>
        Speed
        <select value={player.speed} onChange={(event) => player.setSpeed(event.currentTarget.value)}>
          {SPEEDS.map((one) => (
            <option key={one} value={one}>
              {one}x
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}

interface RunningProps extends Omit<Marks, "limit"> {
  graph: Graph;
  played: Played;
  step: number;
  limit: Marks["limit"];
  title: string;
  data: unknown;
  colours: Palette;
  player: Player;
  time: number;
  besideTime: number | null;
  size: number;
  pick: (node: number) => void;
}

const LOADS_HINT = "The more a link carries, beside the busiest of the step, the wider and stronger it is drawn. Point at a link; click a host.";
const SHARD_HINT = "Wide links carry the shard at this step, thin ones did before; blue hosts have it, yellow ones have a sum to pass on. Click a host for its shard.";

// One schedule on its wires.
function Running({ graph, played, step, source, host, limit, title, data, colours, player, time, besideTime, pick, size }: RunningProps) {
  const [pointed, point] = useState<{ host: number } | { link: number } | null>(null);
  const marks = { source, host, limit };
  const lookOf = useMemo(() => remembered((widest: number) => stepLook(played, step, marks, colours, widest)), [played, step, source, host, limit, colours]);
  const progress = () => {
    if (!player.isPlaying || !step) return null;
    const [start, end] = [played.ends[step - 1]!, played.ends[step]!];
    const now = (player.now() - start) / (end - start || 1);
    return now >= 0 && now < 1 ? now : null;
  };
  const found = (x: number, y: number, view: View) => {
    const node = graph.nodeAt(x, y, view);
    if (node >= 0) return { host: node };
    const link = graph.linkAt(x, y, view, false);
    return link >= 0 ? { link } : null;
  };
  return (
    <div>
      <Totals played={played} step={step} time={time} besideTime={besideTime} />
      <Stage
        label={`${title}: ${stepSentence(played, step, size)}`}
        name={`${title} step ${step}`}
        data={data}
        paper={colours.paper}
        home={(width, height) => graph.home(width, height)}
        homeKey={graph.xy}
        isPlaying={player.isPlaying}
        paint={(painter, view) => graph.paint(painter, view, lookAt(graph, view, lookOf(graph.widest(view, false)), marks, colours, progress()))}
        onPoint={(x, y, view) => point(found(x, y, view))}
        onPick={(x, y, view) => {
          const picked = found(x, y, view);
          pick(picked && "host" in picked ? picked.host : -1);
        }}
        onLeave={() => point(null)}
      />
      <p class="pointed">{pointed ? pointedText(played, step, pointed) : source < 0 ? LOADS_HINT : SHARD_HINT}</p>
    </div>
  );
}

function pointedText({ rows, wires, data }: Played, step: number, pointed: { host: number } | { link: number }): string {
  const load = rows.loads(step);
  if ("link" in pointed) return `${linkName(wires, pointed.link)} carries ${inShards(load[pointed.link]!, data.unit)} shards at step ${step}.`;
  let [sent, received] = [0, 0];
  for (let e = 0; e < load.length; e++) {
    if (wires.tail[e] === pointed.host) sent += load[e]!;
    if (wires.head[e] === pointed.host) received += load[e]!;
  }
  return `${hostTitle(wires, pointed.host)} sends ${inShards(sent, data.unit)} shards and receives ${inShards(received, data.unit)} at step ${step}.`;
}

function ReportFacts({ argument, facts, method, isDuplex, root }: { argument: string; facts: Report; method: string; isDuplex: boolean; root?: string | null }) {
  const least = facts.bandwidth_optimal ? ", as little as any wiring" : facts.t_b_bound ? `; nothing takes less than ${facts.t_b_bound}` : "";
  const wiring = isDuplex ? "duplex wiring" : "wiring";
  const hasRoot = ["broadcast", "reduce"].includes(facts.collective);
  const fewest = facts.collective === "allreduce" ? `, the fewest of a reduce-scatter and an allgather on any ${wiring}` : `, as few as on any ${wiring}`;
  const rows: [string, string][] = [
    ...(argument ? ([["wiring", argument]] as [string, string][]) : []),
    [facts.collective, `${timeText(facts.seconds)} for ${sizeText(facts.size)} (${facts.fabric})`],
    ["made by", method],
    ["steps (T_L)", `${facts.steps}${facts.moore_optimal ? fewest : ""}`],
    ["bandwidth (T_B)", `${facts.t_b} M/B${least}`],
    ["takes part", facts.forwarders ? `${counted(facts.ranks, "host")}; ${counted(facts.forwarders, "host")} only forward` : counted(facts.ranks, "host")],
    ...(root ? ([["root", root]] as [string, string][]) : []),
    ["a shard is", `${hasRoot ? "all of the data" : `1/${facts.ranks} of the data`}, ${facts.chunks_per_shard === 1 ? "sent whole" : `cut into ${facts.chunks_per_shard.toLocaleString("en")} parts`}`],
    ["messages", facts.num_rows.toLocaleString("en")],
  ];
  return <Facts rows={rows} />;
}

export const SCHEDULE: ViewRow = {
  kind: "schedule",
  title: "Schedule",
  View: ScheduleView,
  question: (route) =>
    route["what"]
      ? { ask: "schedule", what: route["what"], faults: faults(route), collective: route["collective"], method: route["method"], root: route["root"], ...pricing(route) }
      : null,
  Empty: Open,
};
