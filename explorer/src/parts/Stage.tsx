// A canvas that a view paints: sized to its place, moved and zoomed by pointer and keyboard, saved as SVG.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { SvgPainter, type Painter } from "../draw/painter";
import type { View } from "../draw/graph";
import { Frames, painterOn, useBoard } from "./board";
import { usePrinting } from "./printing";
import { SaveMenu, type Drawing } from "./SaveMenu";

interface Props {
  label: string; // what the picture shows, for those who do not see it
  name: string; // what saved files are called
  data: unknown; // what the JSON button saves
  paper: string;
  home: (width: number, height: number) => View; // where everything is seen
  homeKey: unknown; // a change of it goes home
  paint: (painter: Painter, view: View, now: number) => void;
  isPlaying?: boolean; // paint every frame
  onPoint?: (x: number, y: number, view: View) => void;
  onPick?: (x: number, y: number, view: View) => void;
  onLeave?: () => void;
  children?: ComponentChildren; // laid over the canvas
}

export function Stage(props: Props) {
  const place = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const paper = useRef<HTMLDivElement>(null);
  const isPrinting = usePrinting();
  const view = useRef<View | null>(null);
  const frames = useRef(new Frames());
  const drag = useRef<{ x: number; y: number; moved: boolean } | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const size = useBoard(place, canvas, [50, 50]);

  const paint = (now: number) => {
    const board = canvas.current;
    if (!board || !view.current) return;
    const seen = view.current;
    frames.current.timed(board, () => {
      latest.current.paint(painterOn(board, [seen.width, seen.height], latest.current.paper), seen, now);
    });
  };

  useLayoutEffect(() => {
    const [width, height] = size;
    if (width) view.current = props.home(width, height);
  }, [size, props.homeKey]);

  useLayoutEffect(() => paint(performance.now()));

  useEffect(() => {
    if (!props.isPlaying) return;
    let next = 0;
    const frame = (now: number) => {
      paint(now);
      next = requestAnimationFrame(frame);
    };
    next = requestAnimationFrame(frame);
    return () => cancelAnimationFrame(next);
  }, [props.isPlaying]);

  const redraw = () => requestAnimationFrame(paint);

  const zoom = (factor: number, x: number, y: number) => {
    const now = view.current!;
    const scale = Math.max(5, Math.min(200_000, now.scale * factor));
    const by = scale / now.scale;
    view.current = { ...now, scale, left: x - (x - now.left) * by, top: y - (y - now.top) * by };
    redraw();
  };
  const move = (dx: number, dy: number) => {
    view.current = { ...view.current!, left: view.current!.left + dx, top: view.current!.top + dy };
    redraw();
  };
  const home = () => {
    view.current = props.home(...size);
    redraw();
  };
  const zoomMiddle = (factor: number) => zoom(factor, size[0] / 2, size[1] / 2);

  const at = (event: PointerEvent | WheelEvent | MouseEvent): [number, number] => {
    const box = canvas.current!.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  useEffect(() => {
    const board = canvas.current!;
    const wheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey && document.activeElement !== board) return; // the page scrolls
      event.preventDefault();
      zoom(Math.exp(-event.deltaY / 400), ...at(event));
    };
    board.addEventListener("wheel", wheel, { passive: false });
    return () => board.removeEventListener("wheel", wheel);
  }, [size]);

  const keys: Record<string, () => void> = {
    "+": () => zoomMiddle(1.25),
    "=": () => zoomMiddle(1.25),
    "-": () => zoomMiddle(0.8),
    "0": home,
    ArrowLeft: () => move(40, 0),
    ArrowRight: () => move(-40, 0),
    ArrowUp: () => move(0, 40),
    ArrowDown: () => move(0, -40),
  };

  const drawing = (): Drawing | null => {
    if (!view.current) return null;
    const painter = new SvgPainter(...size, props.paper);
    props.paint(painter, view.current, performance.now());
    return { svg: painter.toString(), width: size[0], height: size[1] };
  };

  // Paper has more dots than a screen: there the picture is lines and letters.
  useLayoutEffect(() => {
    const made = isPrinting && drawing();
    if (!made) return;
    paper.current!.replaceChildren(new DOMParser().parseFromString(made.svg, "image/svg+xml").documentElement);
    return () => paper.current?.replaceChildren();
  }, [isPrinting]);

  return (
    <div class="stage">
      <div class="stage-place" ref={place}>
        <canvas
          ref={canvas}
          tabIndex={0}
          role="img"
          aria-label={`${props.label}. Plus and minus zoom, arrows move, 0 shows all.`}
          onPointerDown={(event) => {
            drag.current = { x: event.clientX, y: event.clientY, moved: false };
            event.currentTarget.setPointerCapture(event.pointerId);
          }}
          onPointerMove={(event) => {
            const from = drag.current;
            if (from) {
              const [dx, dy] = [event.clientX - from.x, event.clientY - from.y];
              if (from.moved || Math.hypot(dx, dy) > 4) {
                move(dx, dy);
                drag.current = { x: event.clientX, y: event.clientY, moved: true };
              }
            } else if (view.current) props.onPoint?.(...at(event), view.current);
          }}
          onPointerUp={(event) => {
            const from = drag.current;
            drag.current = null;
            if (from && !from.moved && view.current) props.onPick?.(...at(event), view.current);
          }}
          onPointerLeave={() => props.onLeave?.()}
          onKeyDown={(event) => {
            const act = keys[event.key];
            if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
            event.preventDefault();
            act();
          }}
        />
        <div class="stage-paper" ref={paper} aria-hidden="true" />
        {props.children}
      </div>
      <div class="stage-tools">
        <button type="button" aria-label="Zoom in" onClick={() => zoomMiddle(1.25)}>
          +
        </button>
        <button type="button" aria-label="Zoom out" onClick={() => zoomMiddle(0.8)}>
          {"\u2212"}
        </button>
        <button type="button" onClick={home}>
          All
        </button>
        <SaveMenu name={props.name} drawing={drawing} data={props.data} />
      </div>
    </div>
  );
}
