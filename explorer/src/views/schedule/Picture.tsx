// What each host holds: a cell for every host and shard, a pixel each, which fills up.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Palette } from "../../draw/palette";
import type { Holdings } from "../../model/holdings";
import { hostTitle, type Wires } from "../../model/wires";
import { counted } from "../../model/words";
import { SaveMenu, type Drawing } from "../../parts/SaveMenu";
import type { Played } from "./played";

interface Props {
  played: Played;
  step: number;
  title: string;
  colours: Palette;
  onHost: (node: number) => void;
}

export function Picture({ played, step, title, colours, onHost }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [pointed, point] = useState<[host: number, column: number] | null>(null);
  const { wires, data } = played;
  const held = played.holdings(step);
  useLayoutEffect(() => paint(canvas.current!, held, wires, colours), [played, step, colours]);

  const at = (event: MouseEvent): [number, number] => {
    const box = canvas.current!.getBoundingClientRect();
    const place = (from: number, size: number, count: number) => Math.max(0, Math.min(count - 1, Math.floor((from / size) * count)));
    return [place(event.clientY - box.top, box.height, wires.nodes), place(event.clientX - box.left, box.width, held.columns)];
  };
  const drawing = (): Drawing => {
    const side = 640;
    const image = `<image href="${canvas.current!.toDataURL()}" width="${side}" height="${side}" preserveAspectRatio="none" style="image-rendering:pixelated"/>`;
    return { svg: `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${side} ${side}" width="${side}" height="${side}">${image}</svg>`, width: side, height: side };
  };
  const { reduces, gathers } = kinds(data.collective);
  const isExchange = data.collective === "all-to-all";
  const share = sharesText(held, wires, reduces);
  return (
    <figure class="held">
      <canvas
        ref={canvas}
        width={held.columns}
        height={wires.nodes}
        role="img"
        aria-label={`${title} after step ${step} of ${played.steps}: ${share}. The table of hosts says the same.`}
        onPointerMove={(event) => point(at(event))}
        onPointerLeave={() => point(null)}
        onClick={(event) => onHost(at(event)[0])}
      />
      <figcaption>
        <ul class="key" aria-label="Colours">
          <li>
            <i style={{ background: colours.held.none }} /> {reduces ? "passed on, or not there yet" : "not there yet"}
          </li>
          {reduces && (
            <li>
              <i style={{ background: colours.held.toPass }} /> still to be passed on
            </li>
          )}
          <li>
            <i style={{ background: colours.held.done }} /> {reduces ? "the finished sum" : "there"}
          </li>
        </ul>
        <p>{explained(data.collective, isExchange, reduces, gathers)}</p>
        <p class="pointed">{pointed ? pointedText(held, wires, pointed) : `${counted(wires.nodes, "row")}, ${counted(held.columns, "column")}; ${share}.`}</p>
        <SaveMenu name={`${title} step ${step}`} drawing={drawing} data={{ step, columns: held.columns, done: held.done, toPass: held.toPass, size: held.size }} />
      </figcaption>
    </figure>
  );
}

export const kinds = (collective: string) => ({
  reduces: ["allreduce", "reduce-scatter", "reduce"].includes(collective),
  gathers: ["allreduce", "allgather", "broadcast"].includes(collective),
});

function explained(collective: string, isExchange: boolean, reduces: boolean, gathers: boolean): string {
  const rooted = collective === "reduce" || collective === "broadcast";
  const cell = `A row is a host, a column ${rooted ? "a part of the root's data" : "a shard"}`;
  if (isExchange) return `${cell}: its cell is filled once the host has its own piece of it.`;
  if (!reduces) return `${cell}: its cell is filled once the host has it.`;
  const home = rooted ? "the root" : "the shard's own host";
  const start = `${cell}: every host starts with its part of the sum and is done with it once it has sent it on, with all that was added; the sum is finished at ${home}`;
  return gathers ? `${start}, from where it goes to everyone.` : `${start}.`;
}

// How far all cells are together.
function sharesText(held: Holdings, wires: Wires, reduces: boolean): string {
  const sum = (values: Float64Array) => values.reduce((total, one) => total + one, 0);
  const all = sum(held.size) * wires.nodes || 1;
  const percent = (part: number) => `${Math.round((1000 * part) / all) / 10}%`;
  return `${percent(sum(held.doneOf))} finished${reduces ? `, ${percent(sum(held.toPassOf))} still to be passed on` : ""}`;
}

function pointedText(held: Holdings, wires: Wires, [host, column]: [number, number]): string {
  const cell = host * held.columns + column;
  const size = held.size[column]!;
  const parts = ([["finished", held.done[cell]! / size], ["to be passed on", held.toPass[cell]! / size]] as [string, number][]).filter(([, part]) => part > 0);
  const words = parts.map(([what, part]) => (part === 1 ? what : `${Math.round(part * 1000) / 10}% ${what}`)).join(", ");
  return `${hostTitle(wires, host)}, ${held.columnName(column)}: ${words || "nothing"}.`;
}

function paint(board: HTMLCanvasElement, held: Holdings, wires: Wires, colours: Palette): void {
  const context = board.getContext("2d")!;
  const image = context.createImageData(held.columns, wires.nodes);
  const pixels = new Uint32Array(image.data.buffer);
  const [none, toPass, done] = [colours.held.none, colours.held.toPass, colours.held.done].map(rgb) as [number[], number[], number[]];
  const plain = [none, toPass, done].map((one) => packed(one)) as [number, number, number];
  for (let cell = 0, column = 0; cell < pixels.length; cell++) {
    const size = held.size[column]!;
    const [p, d] = [held.toPass[cell]!, held.done[cell]!];
    if (!p && !d) pixels[cell] = plain[0];
    else if (d === size) pixels[cell] = plain[2];
    else if (p === size) pixels[cell] = plain[1];
    else pixels[cell] = packed(none.map((from, k) => from + ((toPass[k]! - from) * p) / size + ((done[k]! - from) * d) / size));
    if (++column === held.columns) column = 0;
  }
  context.putImageData(image, 0, 0);
}

const rgb = (hex: string): number[] => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

// Pixels are red, green, blue, opaque, in the order of bytes of every machine that browsers run on.
const packed = ([red, green, blue]: number[]): number => ((255 << 24) | (blue! << 16) | (green! << 8) | red!) >>> 0;
