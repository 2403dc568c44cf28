// A canvas as large as its place, and how long frames on it take.
import { useLayoutEffect, useState } from "preact/hooks";
import type { RefObject } from "preact";
import { CanvasPainter } from "../draw/painter";
import { printing } from "./printing";

// How long frames take: a canvas says the median of its last ones in ``data-frame-ms``, and of how many.
const MOST = 60;

export class Frames {
  private readonly took: number[] = [];

  timed(board: HTMLElement, paint: () => void): void {
    const start = performance.now();
    paint();
    this.took.push(performance.now() - start);
    if (this.took.length > MOST) this.took.shift();
    board.dataset["frames"] = String(this.took.length);
    board.dataset["frameMs"] = [...this.took].sort((a, b) => a - b)[this.took.length >> 1]!.toFixed(2);
  }
}

// The size of a place in pixels, which the canvas in it has too. On paper it stays what it was on the screen.
export function useBoard(place: RefObject<HTMLElement | null>, canvas: RefObject<HTMLCanvasElement | null>, least: [number, number]): [number, number] {
  const [size, setSize] = useState<[number, number]>([0, 0]);
  useLayoutEffect(() => {
    const measure = () => {
      if (printing()) return;
      const box = place.current!.getBoundingClientRect();
      setSize([Math.max(least[0], Math.round(box.width)), Math.max(least[1], Math.round(box.height))]);
    };
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(place.current!);
    return () => watch.disconnect();
  }, []);
  useLayoutEffect(() => {
    const ratio = window.devicePixelRatio || 1;
    canvas.current!.width = size[0] * ratio;
    canvas.current!.height = size[1] * ratio;
  }, [size]);
  return size;
}

// What paints an empty canvas.
export function painterOn(board: HTMLCanvasElement, size: [number, number], paper: string): CanvasPainter {
  const ratio = window.devicePixelRatio || 1;
  const context = board.getContext("2d", { alpha: false })!;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = paper;
  context.fillRect(0, 0, ...size);
  return new CanvasPainter(context);
}
