// Whether the page is being printed. Browsers take the page as it is when ``beforeprint`` returns, so what prints
// otherwise than it is shown (light colours, pictures as SVG) is rendered at once, not in the next frame.
import { options } from "preact";
import { useEffect, useState } from "preact/hooks";

const media = window.matchMedia("print");
const listeners = new Set<() => void>();
let isPrinting = media.matches;

function change(next: boolean): void {
  if (next === isPrinting) return;
  isPrinting = next;
  const usual = options.debounceRendering;
  let render = () => {};
  options.debounceRendering = (found) => (render = found);
  for (const listener of listeners) listener();
  render();
  if (usual) options.debounceRendering = usual;
  else delete options.debounceRendering;
}

window.addEventListener("beforeprint", () => change(true));
window.addEventListener("afterprint", () => change(media.matches));
media.addEventListener("change", () => change(media.matches));

export const printing = (): boolean => isPrinting;

export function usePrinting(): boolean {
  const [, redraw] = useState(0);
  useEffect(() => {
    const listen = () => redraw((count) => count + 1);
    listeners.add(listen);
    return () => void listeners.delete(listen);
  }, []);
  return isPrinting;
}
