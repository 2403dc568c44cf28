// Time over size, and steps against data: every candidate, the best of today, and what no wiring beats.
import { useMemo } from "preact/hooks";
import { Exact } from "../../model/exact";
import { usePart } from "../../model/route";
import { general, sizeText, timeText } from "../../model/words";
import { Chart, SHAPES, type Point, type Series } from "../../parts/Chart";
import { useTheme } from "../../parts/theme";
import { least, secondsOf, type Asked } from "./answer";
import { decimalText, LARGEST, SMALLEST, titleOf, type Row } from "./model";

const SAMPLES = 60;
const BINARY = [2 ** 10, 2 ** 15, 2 ** 20, 2 ** 25, 2 ** 30];
const short = (bytes: number) => sizeText(bytes, true);

function useSizes({ data }: Asked): Exact[] {
  return useMemo(() => {
    if (data.times) return data.times.sizes.map(Exact.read).filter((one) => one.number >= SMALLEST && one.number <= LARGEST);
    return Array.from({ length: SAMPLES + 1 }, (_, k) => Exact.of(Math.round(SMALLEST * 2 ** ((20 * k) / SAMPLES))));
  }, [data.times]);
}

export function TimeChart({ asked: given }: { asked: Asked }) {
  const { colours } = useTheme();
  const asked: Asked = given.load === "job" ? { ...given, load: "allreduce" } : given; // iterations have no size
  const { data, rows, pricing } = asked;
  const [scale, setScale] = usePart("scale", "time");
  const sizes = useSizes(asked);
  const isRatio = scale === "ratio";
  const series = useMemo(() => {
    const at = (size: Exact): Asked => ({ ...asked, pricing: { ...pricing, size: { ...pricing.size, value: size } } });
    const asks = sizes.map(at);
    const limits = asks.map((one) => secondsOf(one, rows.bound));
    const line = (seconds: (one: Asked) => [number, string] | null): Point[] => {
      const found: Point[] = [];
      asks.forEach((one, k) => {
        const taken = seconds(one);
        const limit = limits[k];
        if (taken === null || (isRatio && !limit)) return;
        const y = isRatio ? taken[0] / limit! : taken[0];
        found.push({ x: sizes[k]!.number, y, text: `${timeText(taken[0])}${taken[1]}${isRatio ? ` (${general(y, 3)}x)` : ""}` });
      });
      return found;
    };
    const own = (row: Row) =>
      line((one) => {
        const seconds = secondsOf(one, row);
        return seconds === null ? null : [seconds, ""];
      });
    const found: Series[] = rows.ours.map((row, k) => ({
      name: titleOf(row, rows.ours), colour: colours.marks[k % 6]!, shape: SHAPES[k % 5]!, width: 2.4, points: own(row),
    }));
    const today = line((one) => {
      let best: [number, string] | null = null;
      for (const row of rows.today) {
        const seconds = secondsOf(one, row);
        if (seconds !== null && (!best || seconds < best[0])) best = [seconds, ` (${row.name})`];
      }
      return best;
    });
    if (today.length) found.push({ name: "best of today", colour: colours.soft, shape: "cross", dash: "8 4", points: today });
    found.push({ name: "no wiring beats", colour: colours.ink, shape: "none", dash: "2 4", width: 1.6, points: own(rows.bound) });
    return found.filter((one) => one.points.length === sizes.length);
  }, [data, asked.load, pricing.alpha.text, pricing.bandwidth.text, isRatio, sizes, colours]);
  const task = asked.load === "all-to-all" ? "all-to-all" : "allreduce";
  const at = Math.max(SMALLEST, Math.min(LARGEST, pricing.size.value.number));
  return (
    <Chart
      label={`What an ${task} takes over its size, of each candidate, of the best of today, and what no wiring beats`}
      name={`${task} ${data.facts.nodes} servers ${data.facts.degree} ports`}
      data={series.map(({ name, points }) => ({ name, points: points.map(({ x, y }) => (isRatio ? { bytes: x, over_bound: y } : { bytes: x, seconds: y })) }))}
      kind="lines"
      x={{ label: `size of the data (M)`, isLog: true, text: short, ticks: BINARY }}
      y={isRatio ? { label: "times what no wiring beats", text: (one) => `${general(one, 3)}x` } : { label: `time of an ${task}`, isLog: true, text: timeText }}
      series={series}
      markX={{ at, text: pricing.size.text }}
    >
      <h2>Time over size</h2>
      <label>
        Scale
        <select value={scale} onChange={(event) => setScale(event.currentTarget.value)}>
          <option value="time">time</option>
          <option value="ratio">times the bound</option>
        </select>
      </label>
    </Chart>
  );
}

export function FrontierChart({ asked, open }: { asked: Asked; open: (row: Row) => void }) {
  const { colours } = useTheme();
  const { data, rows, clock, pricing } = asked;
  const groups: Row[][] = [rows.ours, rows.today];
  const first = [rows.ours, rows.today].map((group) => least({ ...asked, load: "allreduce" }, group)?.row);
  const point = (row: Row): Point => {
    const { cost } = clock.allreduce(row, pricing.size.value);
    const y = Exact.read(cost.t_b).number;
    const by = row.role === "today" ? `${row.schedule} on ${row.name}` : titleOf(row, rows.ours);
    return { x: cost.steps, y, text: `${by}: ${cost.steps} steps, T_B ${decimalText(cost.t_b)} (${cost.t_b}).`, ...(first.includes(row) ? { label: row.name } : {}) };
  };
  const series: Series[] = [
    { name: "found by linkstep", colour: colours.accent, shape: "disc", points: rows.ours.map(point) },
    { name: "run today", colour: colours.soft, shape: "square", points: rows.today.map(point) },
  ];
  const { steps, t_b } = data.facts.bounds;
  return (
    <Chart
      label="Steps against data of each candidate and of what is run today; nothing is left of or below the dotted lines"
      name={`frontier ${data.facts.nodes} servers ${data.facts.degree} ports`}
      data={series.map(({ name, points }) => ({ name, points: points.map(({ x, y, text }) => ({ steps: x, t_b: y, text })) }))}
      kind="points"
      x={{ label: "steps of an allreduce (T_L)", isLog: true, text: (one) => general(one, 4) }}
      y={{ label: "data, in M/B (T_B)", isLog: true, text: (one) => general(one, 3) }}
      series={series.filter((one) => one.points.length)}
      boundX={{ at: steps, text: `${steps} steps` }}
      boundY={{ at: Exact.read(t_b).number, text: `no wiring has less than ${decimalText(t_b)}` }}
      onPick={(group, k) => open(groups.filter((one) => one.length)[group]![k]!)}
    >
      <h2>Steps against data: less of both is better</h2>
    </Chart>
  );
}
