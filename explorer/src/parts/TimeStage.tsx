// A canvas of lanes over time: zoomed along time only, scrolled along lanes, by pointer, wheel and keyboard. Above the
// lanes are an overview of all and a ruler; left of them their names. What is painted there is the view's affair.
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { SvgPainter, type Painter } from "../draw/painter";
import { Frames, painterOn, useBoard } from "./board";
import { SaveMenu, type Drawing } from "./SaveMenu";

export const OVERVIEW = 30; // pixels, as all heights
export const HEAD = OVERVIEW + 24; // with the ruler
const BAR = 10; // of scrolling, at the right
const LEAST = 1e-10; // seconds that are shown at least

export class TimeView {
  readonly left: number; // where lanes begin, right of their names
  readonly right: number;
  readonly perPixel: number; // seconds

  constructor(
    readonly from: number,
    readonly to: number,
    readonly top: number, // how far lanes are scrolled
    readonly width: number,
    readonly height: number,
  ) {
    this.left = width < 560 ? 76 : 168;
    this.right = width - BAR - 2;
    this.perPixel = (to - from) / (this.right - this.left);
  }

  x(time: number): number {
    return this.left + (time - this.from) / this.perPixel;
  }
  time(x: number): number {
    return this.from + (x - this.left) * this.perPixel;
  }
  // Where a moment of ``whole`` seconds stands in the overview.
  over(time: number, whole: number): number {
    return this.left + (time / whole) * (this.right - this.left);
  }
}

export type Range = [from: number, to: number];

// What is to be seen: a range of time, and a row from the top of all lanes.
export interface Target {
  key: unknown; // a change of it goes there
  from: number;
  to: number;
  y: number;
}

interface Props {
  label: string; // what the picture shows, for those who do not see it
  name: string; // what saved files are called
  data: unknown; // what the JSON button saves
  paper: string;
  whole: number; // seconds from the beginning to the end
  rows: number; // height of all lanes
  range: Range;
  onRange: (range: Range) => void; // when a movement has come to rest
  target: Target | null;
  paint: (painter: Painter, view: TimeView) => void;
  onPoint: (x: number, y: number, view: TimeView) => void;
  onPick: (x: number, y: number, view: TimeView) => void;
  onLeave: () => void;
  keys: Record<string, () => void>;
  keysText: string;
}

const REST = 200; // milliseconds without a movement
type Drag = { x: number; y: number; moved: boolean; by: "lanes" | "overview" | "bar" };

export function TimeStage(props: Props) {
  const place = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const live = useRef<{ range: Range; top: number }>({ range: props.range, top: 0 });
  const frames = useRef(new Frames());
  const drag = useRef<Drag | null>(null);
  const rest = useRef(0);
  const waiting = useRef(0);
  const latest = useRef(props);
  latest.current = props;
  const size = useBoard(place, canvas, [200, 120]);
  const shownRange = useRef("");

  const view = (): TimeView => {
    const { range, top } = live.current;
    return new TimeView(range[0], range[1], top, size[0], size[1]);
  };
  const most = () => Math.max(0, latest.current.rows - (size[1] - HEAD));

  const paint = () => {
    const board = canvas.current;
    if (!board || !size[0]) return;
    live.current.top = Math.max(0, Math.min(most(), live.current.top));
    frames.current.timed(board, () => {
      latest.current.paint(painterOn(board, size, latest.current.paper), view());
    });
  };
  const redraw = () => {
    cancelAnimationFrame(waiting.current);
    waiting.current = requestAnimationFrame(paint);
  };

  // A range that comes from outside, such as the URL, counts; one that is still moved does not.
  const given = props.range.join(" ");
  if (shownRange.current !== given) {
    shownRange.current = given;
    live.current.range = props.range;
  }

  const settle = () => {
    window.clearTimeout(rest.current);
    rest.current = window.setTimeout(() => {
      shownRange.current = live.current.range.join(" ");
      latest.current.onRange(live.current.range);
    }, REST);
  };
  useEffect(() => () => window.clearTimeout(rest.current), []);

  const show = (from: number, to: number) => {
    const { whole } = latest.current;
    const long = Math.max(LEAST, Math.min(whole, to - from));
    const first = Math.max(0, Math.min(whole - long, from));
    live.current.range = [first, first + long];
    redraw();
    settle();
  };
  const zoom = (factor: number, x: number) => {
    const [from, to] = live.current.range;
    const at = Math.max(from, Math.min(to, view().time(x)));
    const long = Math.max(LEAST, (to - from) / factor);
    const part = (at - from) / (to - from);
    show(at - part * long, at - part * long + long);
  };
  const pan = (pixels: number) => {
    const by = -pixels * view().perPixel;
    show(live.current.range[0] + by, live.current.range[1] + by);
  };
  const scroll = (pixels: number) => {
    live.current.top = Math.max(0, Math.min(most(), live.current.top + pixels));
    redraw();
  };
  const zoomMiddle = (factor: number) => zoom(factor, (view().left + view().right) / 2);
  const home = () => {
    live.current.top = 0;
    show(0, latest.current.whole);
  };

  // Go to what is to be seen: as little as it takes.
  useLayoutEffect(() => {
    const to = latest.current.target;
    if (!to || !size[0]) return;
    const [from, until] = live.current.range;
    const long = until - from;
    if (to.to < from || to.from > until) show((to.from + to.to - long) / 2, (to.from + to.to + long) / 2);
    const inside = size[1] - HEAD;
    if (to.y < live.current.top || to.y > live.current.top + inside - 30) scroll(to.y - inside / 2 - live.current.top);
  }, [props.target?.key, !size[0]]);

  useLayoutEffect(paint);

  const at = (event: PointerEvent | WheelEvent | MouseEvent): [number, number] => {
    const box = canvas.current!.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  useEffect(() => {
    const board = canvas.current!;
    const wheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey && document.activeElement !== board) return; // the page scrolls
      event.preventDefault();
      if (event.altKey) scroll(event.deltaY);
      else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan(-(event.deltaX || event.deltaY));
      else zoom(Math.exp(-event.deltaY / 300), at(event)[0]);
    };
    board.addEventListener("wheel", wheel, { passive: false });
    return () => board.removeEventListener("wheel", wheel);
  }, [size]);

  const overview = (x: number) => {
    const [now, [from, to]] = [view(), live.current.range];
    const middle = ((x - now.left) / (now.right - now.left)) * latest.current.whole;
    show(middle - (to - from) / 2, middle + (to - from) / 2);
  };
  const bar = (y: number) => scroll(((y - HEAD) / (size[1] - HEAD)) * latest.current.rows - (size[1] - HEAD) / 2 - live.current.top);

  const page = () => (size[1] - HEAD) * 0.8;
  const keys: Record<string, () => void> = {
    "+": () => zoomMiddle(1.5),
    "=": () => zoomMiddle(1.5),
    "-": () => zoomMiddle(1 / 1.5),
    "0": home,
    ArrowLeft: () => pan(60),
    ArrowRight: () => pan(-60),
    ArrowUp: () => scroll(-36),
    ArrowDown: () => scroll(36),
    PageUp: () => scroll(-page()),
    PageDown: () => scroll(page()),
    ...props.keys,
  };

  const drawing = (): Drawing | null => {
    if (!size[0]) return null;
    const painter = new SvgPainter(...size, props.paper);
    props.paint(painter, view());
    return { svg: painter.toString(), width: size[0], height: size[1] };
  };

  return (
    <div class="stage">
      <div class="stage-place" ref={place} style={{ height: `min(${Math.max(200, props.rows + HEAD + 34)}px, 72vh, 720px)` }}>
        <canvas
          ref={canvas}
          tabIndex={0}
          role="img"
          aria-label={`${props.label}. Plus and minus zoom, arrows move, 0 shows all; ${props.keysText}.`}
          onPointerDown={(event) => {
            const [x, y] = at(event);
            const by = y < OVERVIEW ? "overview" : y > HEAD && x > size[0] - BAR - 2 && most() ? "bar" : "lanes";
            drag.current = { x: event.clientX, y: event.clientY, moved: false, by };
            event.currentTarget.setPointerCapture(event.pointerId);
            if (by === "overview") overview(x);
            if (by === "bar") bar(y);
          }}
          onPointerMove={(event) => {
            const from = drag.current;
            const [x, y] = at(event);
            if (!from) return props.onPoint(x, y, view());
            const [dx, dy] = [event.clientX - from.x, event.clientY - from.y];
            if (from.by === "overview") overview(x);
            else if (from.by === "bar") bar(y);
            else if (from.moved || Math.hypot(dx, dy) > 4) {
              pan(dx);
              scroll(-dy);
              drag.current = { ...from, x: event.clientX, y: event.clientY, moved: true };
            }
          }}
          onPointerUp={(event) => {
            const from = drag.current;
            drag.current = null;
            if (from && from.by === "lanes" && !from.moved) props.onPick(...at(event), view());
          }}
          onPointerCancel={() => (drag.current = null)}
          onPointerLeave={() => props.onLeave()}
          onKeyDown={(event) => {
            const act = keys[event.key];
            if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
            event.preventDefault();
            act();
          }}
        />
      </div>
      <div class="stage-tools">
        <button type="button" aria-label="Zoom in" onClick={() => zoomMiddle(1.5)}>
          +
        </button>
        <button type="button" aria-label="Zoom out" onClick={() => zoomMiddle(1 / 1.5)}>
          {"\u2212"}
        </button>
        <button type="button" aria-label="Earlier" onClick={() => pan((view().right - view().left) / 3)}>
          {"\u2190"}
        </button>
        <button type="button" aria-label="Later" onClick={() => pan((view().left - view().right) / 3)}>
          {"\u2192"}
        </button>
        <button type="button" onClick={home}>
          All
        </button>
        <SaveMenu name={props.name} drawing={drawing} data={props.data} />
      </div>
    </div>
  );
}
