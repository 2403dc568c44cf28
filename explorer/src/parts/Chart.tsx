// Charts of lines or of points, as SVG in the page: drawn once for the screen, for paper and for saving. Values are
// read by pointer, by arrow keys, and in the table beside; shapes and dashes say what colours say.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { linearTicks, logTicks } from "./ticks";
import { SaveMenu, type Drawing } from "./SaveMenu";
import { useTheme } from "./theme";
import "./Chart.css";

export interface Axis {
  label: string;
  isLog?: boolean;
  text: (value: number) => string; // of a tick, and of a value that is read
  ticks?: number[];
}

export interface Point {
  x: number;
  y: number;
  text?: string; // what is read of it, where that is not its x and y
  label?: string; // written beside it
}

export type Shape = "disc" | "square" | "triangle" | "diamond" | "ring" | "cross" | "none";
export const SHAPES: Shape[] = ["disc", "square", "triangle", "diamond", "ring", "cross"];

export interface Series {
  name: string;
  colour: string;
  shape: Shape;
  points: Point[];
  dash?: string;
  width?: number;
}

export interface Guide {
  at: number;
  text: string;
}

interface Props {
  label: string; // what the chart shows, for those who do not see it
  name: string; // what saved files are called
  data: unknown; // what the JSON button saves
  kind: "lines" | "points"; // lines have the same x in every series, and are read all at once
  x: Axis;
  y: Axis;
  series: Series[];
  markX?: Guide; // where the reader is: a solid line
  boundX?: Guide; // what nothing passes: dotted lines
  boundY?: Guide;
  onPick?: (series: number, point: number) => void;
  children?: ComponentChildren; // controls of the chart
}

const FONT = "system-ui, sans-serif";
const [TOP, BOTTOM, RIGHT, ROW] = [8, 44, 24, 19];
const LONGEST = 44;

interface Stop {
  x: number;
  series: number;
  point: number;
}

export function Chart(props: Props) {
  const { x, y, series, kind } = props;
  const { colours } = useTheme();
  const place = useRef<HTMLDivElement>(null);
  const picture = useRef<SVGSVGElement>(null);
  const [width, setWidth] = useState(640);
  const [at, setAt] = useState<number | null>(null);

  useLayoutEffect(() => {
    const measure = () => setWidth(Math.max(260, Math.round(place.current!.getBoundingClientRect().width)));
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(place.current!);
    return () => watch.disconnect();
  }, []);

  const legend = laid(series, width);
  const top = TOP + legend.rows * ROW + 6;
  const height = top + BOTTOM + Math.round(Math.min(330, Math.max(210, 0.5 * width)));
  const all = series.flatMap((one) => one.points);
  const xs = span([...all.map((one) => one.x), ...at0(props.markX), ...at0(props.boundX)], x, kind === "points");
  const ys = span([...all.map((one) => one.y), ...at0(props.boundY)], y, true);
  const ticksY = y.ticks ?? (y.isLog ? logTicks(...ys) : linearTicks(...ys));
  const left = 28 + 6.6 * Math.max(...ticksY.map((one) => y.text(one).length), 3);
  const ticksX = thinned(x.ticks ?? (x.isLog ? logTicks(...xs) : linearTicks(...xs)), x, (width - left - RIGHT) / 62);
  const toX = scale(xs, x, left, width - RIGHT);
  const toY = scale(ys, y, height - BOTTOM, top);

  const stops: Stop[] =
    kind === "lines"
      ? (series[0]?.points ?? []).map((one, point) => ({ x: one.x, series: 0, point }))
      : series.flatMap((one, k) => one.points.map((point, j) => ({ x: point.x, series: k, point: j }))).sort((a, b) => a.x - b.x);
  const shown = at === null ? null : (stops[Math.min(at, stops.length - 1)] ?? null);

  const point = (event: PointerEvent) => {
    const box = picture.current!.getBoundingClientRect();
    const [px, py] = [((event.clientX - box.left) * width) / box.width, ((event.clientY - box.top) * height) / box.height];
    let [found, nearest] = [null as number | null, kind === "lines" ? Infinity : 40 ** 2];
    stops.forEach((stop, k) => {
      const here = series[stop.series]!.points[stop.point]!;
      const far = (toX(here.x) - px) ** 2 + (kind === "lines" ? 0 : (toY(here.y) - py) ** 2);
      if (far < nearest) [found, nearest] = [k, far];
    });
    setAt(found);
  };

  const keys: Record<string, () => void> = {
    ArrowLeft: () => setAt(Math.max(0, (at ?? stops.length) - 1)),
    ArrowRight: () => setAt(Math.min(stops.length - 1, (at ?? -1) + 1)),
    Home: () => setAt(0),
    End: () => setAt(stops.length - 1),
    Escape: () => setAt(null),
    Enter: () => shown && props.onPick?.(shown.series, shown.point),
  };

  const drawing = (): Drawing | null => {
    const copy = picture.current?.cloneNode(true) as SVGSVGElement | undefined;
    if (!copy) return null;
    copy.querySelector("[data-cursor]")?.remove();
    copy.setAttribute("width", String(width));
    copy.setAttribute("height", String(height));
    return { svg: new XMLSerializer().serializeToString(copy), width, height };
  };

  const words = (size: number, colour: string) => ({ "font-family": FONT, "font-size": size, fill: colour });
  return (
    <div class="chart">
      <div class="chart-tools">
        {props.children}
        <SaveMenu name={props.name} drawing={drawing} data={props.data} />
      </div>
      <div class="chart-place" ref={place}>
        <svg
          ref={picture}
          xmlns="http://www.w3.org/2000/svg"
          viewBox={`0 0 ${width} ${height}`}
          role="img"
          {...{ tabindex: 0 } /* of an SVG the name is taken as it is written */}
          aria-label={`${props.label}. Left and right arrows read values.`}
          onPointerMove={point}
          onPointerDown={point}
          onPointerLeave={() => setAt(null)}
          onClick={() => shown && props.onPick?.(shown.series, shown.point)}
          onKeyDown={(event) => {
            const act = keys[event.key];
            if (!act || event.ctrlKey || event.metaKey || event.altKey || !stops.length) return;
            event.preventDefault();
            act();
          }}
        >
          <rect width={width} height={height} fill={colours.paper} />
          {legend.places.map(({ left: from, row, name }, k) => (
            <g key={k} transform={`translate(${from} ${TOP + row * ROW + 9})`}>
              {kind === "lines" && <path d="M0 0H26" stroke={series[k]!.colour} stroke-width={series[k]!.width ?? 2} stroke-dasharray={series[k]!.dash} />}
              <Mark shape={series[k]!.shape} x={13} y={0} colour={series[k]!.colour} paper={colours.paper} />
              <text x={32} y={4} {...words(12, colours.ink)}>
                {name}
              </text>
            </g>
          ))}
          {ticksY.map((one) => (
            <g key={one}>
              <path d={`M${left} ${toY(one)}H${width - RIGHT}`} stroke={colours.pale} />
              <text x={left - 6} y={toY(one) + 4} text-anchor="end" {...words(12, colours.soft)}>
                {y.text(one)}
              </text>
            </g>
          ))}
          {ticksX.map((one) => (
            <g key={one}>
              <path d={`M${toX(one)} ${top}V${height - BOTTOM}`} stroke={colours.pale} />
              <text x={toX(one)} y={height - BOTTOM + 17} text-anchor="middle" {...words(12, colours.soft)}>
                {x.text(one)}
              </text>
            </g>
          ))}
          <path d={`M${left} ${top}V${height - BOTTOM}H${width - RIGHT}`} fill="none" stroke={colours.line} />
          <text x={(left + width - RIGHT) / 2} y={height - 8} text-anchor="middle" {...words(12, colours.ink)}>
            {x.label}
          </text>
          <text transform={`translate(12 ${(top + height - BOTTOM) / 2}) rotate(-90)`} text-anchor="middle" {...words(12, colours.ink)}>
            {y.label}
          </text>
          {props.boundX && <path d={`M${toX(props.boundX.at)} ${top}V${height - BOTTOM}`} stroke={colours.ink} stroke-width={1.5} stroke-dasharray="2 4" />}
          {props.boundY && <path d={`M${left} ${toY(props.boundY.at)}H${width - RIGHT}`} stroke={colours.ink} stroke-width={1.5} stroke-dasharray="2 4" />}
          {props.boundY && (
            <text x={width - RIGHT - 4} y={toY(props.boundY.at) + 15} text-anchor="end" {...words(12, colours.soft)}>
              {props.boundY.text}
            </text>
          )}
          {props.boundX && (
            <text transform={`translate(${toX(props.boundX.at) + 14} ${top + 6}) rotate(90)`} dy="8" {...words(12, colours.ink)}>
              {props.boundX.text}
            </text>
          )}
          {props.markX && (
            <g>
              <path d={`M${toX(props.markX.at)} ${top}V${height - BOTTOM}`} stroke={colours.ink} stroke-width={1} />
              <text
                x={toX(props.markX.at) + (toX(props.markX.at) > width - 90 ? -5 : 5)}
                y={height - BOTTOM - 7}
                text-anchor={toX(props.markX.at) > width - 90 ? "end" : "start"}
                {...words(12, colours.ink)}
              >
                {props.markX.text}
              </text>
            </g>
          )}
          {kind === "lines" &&
            series.map((one, k) => (
              <path key={k} d={one.points.map((p, j) => `${j ? "L" : "M"}${brief(toX(p.x))} ${brief(toY(p.y))}`).join("")} fill="none" stroke={one.colour} stroke-width={one.width ?? 2} stroke-dasharray={one.dash} />
            ))}
          {series.map((one, k) =>
            one.points
              .filter((_, j) => kind === "points" || isMarked(j, one.points.length, k))
              .map((p, j) => <Mark key={`${k} ${j}`} shape={one.shape} x={toX(p.x)} y={toY(p.y)} colour={one.colour} paper={colours.paper} />),
          )}
          {series.flatMap((one, k) =>
            one.points.map((p, j) => {
              const isLeft = toX(p.x) > 0.62 * width;
              return (
                p.label && (
                  <text key={`${k} ${j}`} x={toX(p.x) + (isLeft ? -9 : 9)} y={toY(p.y) - 9} text-anchor={isLeft ? "end" : "start"} {...words(12, colours.ink)}>
                    {shortened(p.label)}
                  </text>
                )
              );
            }),
          )}
          {shown && (
            <g data-cursor="">
              {kind === "lines" && <path d={`M${toX(shown.x)} ${top}V${height - BOTTOM}`} stroke={colours.warn} stroke-dasharray="4 3" />}
              {(kind === "lines" ? series.map((one) => one.points[shown.point]) : [series[shown.series]!.points[shown.point]]).map(
                (p, k) => p && <circle key={k} cx={toX(p.x)} cy={toY(p.y)} r={8} fill="none" stroke={colours.warn} stroke-width={2} />,
              )}
            </g>
          )}
        </svg>
      </div>
      <p class="pointed" aria-live="polite">
        {shown ? read(props, shown) : "Point at the chart, or focus it and use the arrow keys, to read values."}
      </p>
    </div>
  );
}

function read({ kind, series, x, y }: Props, shown: Stop): string {
  if (kind === "points") {
    const one = series[shown.series]!.points[shown.point]!;
    return one.text ?? `${series[shown.series]!.name}: ${x.text(one.x)}, ${y.text(one.y)}`;
  }
  const values = series.map((one) => one.points[shown.point]).map((p, k) => p && `${series[k]!.name} ${p.text ?? y.text(p.y)}`);
  return `At ${x.text(shown.x)}: ${values.filter(Boolean).join("; ")}.`;
}

const shortened = (name: string): string => (name.length > LONGEST ? `${name.slice(0, LONGEST - 1)}\u2026` : name);
const at0 = (guide?: Guide): number[] => (guide ? [guide.at] : []);
const brief = (value: number): number => Math.round(value * 100) / 100;

// From the least to the most, with some room at the ends.
function span(values: number[], axis: Axis, hasRoom: boolean): [number, number] {
  let [low, high] = [Math.min(...values), Math.max(...values)];
  if (!values.length || !Number.isFinite(low) || !Number.isFinite(high)) return axis.isLog ? [1, 10] : [0, 1];
  if (axis.isLog) {
    const room = hasRoom ? Math.max(1.12, (high / low) ** 0.06) : 1;
    if (low === high) [low, high] = [low / 2, high * 2];
    return [hasRoom ? low / room ** 1.6 : low, high * room];
  }
  const room = hasRoom ? 0.06 * (high - low || Math.abs(high) || 1) : 0;
  return [low - room, high + room];
}

function scale([low, high]: [number, number], axis: Axis, from: number, to: number): (value: number) => number {
  const place = axis.isLog ? (v: number) => Math.log(v / low) / Math.log(high / low) : (v: number) => (v - low) / (high - low);
  return (value) => from + (to - from) * place(value);
}

// As many ticks as have room for their text.
function thinned(ticks: number[], axis: Axis, most: number): number[] {
  const wide = Math.max(...ticks.map((one) => axis.text(one).length), 1) / 7;
  const every = Math.max(1, Math.ceil((ticks.length * wide) / Math.max(2, most)));
  return ticks.filter((_, k) => k % every === 0);
}

// Where the entries of a legend are, in as many rows as they need.
function laid(series: Series[], width: number): { places: { left: number; row: number; name: string }[]; rows: number } {
  let [left, row] = [8, 0];
  const places = series.map((one) => {
    const name = shortened(one.name);
    const wide = 48 + 6.7 * name.length;
    if (left > 8 && left + wide > width) [left, row] = [8, row + 1];
    const place = { left, row, name };
    left += wide;
    return place;
  });
  return { places, rows: row + 1 };
}

// Of many points on a line some have its shape, those of several lines not at the same places; of few all have.
function isMarked(point: number, points: number, series: number): boolean {
  const stride = Math.max(1, Math.round(points / 6));
  return point % stride === series % 4 % stride;
}

function Mark({ shape, x, y, colour, paper }: { shape: Shape; x: number; y: number; colour: string; paper: string }) {
  const r = 5;
  const [px, py] = [brief(x), brief(y)];
  const filled = { fill: colour, stroke: paper, "stroke-width": 1 };
  if (shape === "disc") return <circle cx={px} cy={py} r={r} {...filled} />;
  if (shape === "ring") return <circle cx={px} cy={py} r={r - 0.5} fill={paper} stroke={colour} stroke-width={2} />;
  if (shape === "square") return <rect x={px - 4.5} y={py - 4.5} width={9} height={9} {...filled} />;
  if (shape === "triangle") return <path d={`M${px} ${py - 6}l5.5 10h-11z`} {...filled} />;
  if (shape === "diamond") return <path d={`M${px} ${py - 6.5}l5.5 6.5l-5.5 6.5l-5.5 -6.5z`} {...filled} />;
  if (shape === "cross") return <path d={`M${px - 4} ${py - 4}l8 8m0 -8l-8 8`} stroke={colour} stroke-width={2.2} fill="none" />;
  return null;
}
