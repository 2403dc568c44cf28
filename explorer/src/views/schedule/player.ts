// The clock of a schedule: simulated seconds, one moment (usually a step) after the other. Where it stands is in the
// URL as ``step``, written when it rests: browsers refuse addresses that change many times a second.
import { useEffect, useRef, useState } from "preact/hooks";
import { go, usePart, useRoute } from "../../model/route";

export interface Player {
  at: number; // the moment that is shown, 0 before anything
  last: number;
  isPlaying: boolean;
  toggle: () => void;
  goTo: (at: number) => void;
  momentOf: (time: number) => number; // the moment that a time is in, or is the end of
  now: () => number; // simulated seconds
  speed: string;
  setSpeed: (speed: string) => void;
}

export const SPEEDS = ["0.25", "0.5", "1", "2", "4", "8"];
const RESTED = 150; // milliseconds
const USUAL = 1;

// The first moment that ends after a time.
export function momentAt(ends: Float64Array, time: number): number {
  let [low, high] = [1, ends.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends[middle]! > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

// ``ends`` are the times at which moments end, 0 first; ``beats`` those at which anything changes; ``pace`` is how many of
// their seconds pass in one of ours.
export function usePlayer(ends: Float64Array, beats: Float64Array, pace: number): Player {
  const last = ends.length - 1;
  const asked = useRoute()["step"];
  const usual = Math.min(USUAL, last);
  const wanted = asked !== undefined && /^\d{1,9}$/.test(asked) ? Math.min(Number(asked), last) : usual;
  const [at, setAt] = useState(wanted);
  const [isPlaying, setPlaying] = useState(false);
  const [, setBeat] = useState(0);
  const [speed, setSpeed] = usePart("speed", "1");
  const time = useRef(0);
  const known = useRef<string | undefined>(asked);
  const shown = Math.min(at, last);

  useEffect(() => {
    if (asked === known.current) return;
    known.current = asked; // somebody changed the address
    setPlaying(false);
    setAt(wanted);
  }, [asked]);

  useEffect(() => {
    if (isPlaying || shown === wanted) return;
    const wait = setTimeout(() => {
      known.current = shown === usual ? undefined : String(shown);
      go({ step: known.current ?? null });
    }, RESTED);
    return () => clearTimeout(wait);
  }, [shown, isPlaying]);

  useEffect(() => {
    if (!isPlaying) return;
    let [frame, before, moment] = [0, performance.now(), shown];
    const rate = pace * (SPEEDS.includes(speed) ? Number(speed) : 1);
    const tick = (now: number) => {
      time.current += (Math.max(0, Math.min(now - before, 250)) / 1000) * rate; // a page in the background waits
      before = now;
      const isOver = time.current >= ends[last]!;
      setBeat(momentAt(beats, time.current));
      const next = isOver ? last : momentAt(ends, time.current);
      if (next !== moment) setAt((moment = next));
      if (isOver) setPlaying(false);
      else frame = requestAnimationFrame(tick);
    };
    frame = requestAnimationFrame(tick);
    return () => cancelAnimationFrame(frame);
  }, [isPlaying, ends, beats, pace, speed]);

  const toggle = () => {
    if (!isPlaying) {
      const from = shown === last ? usual : Math.max(shown, usual); // from the beginning, once it is over
      time.current = ends[Math.max(from - 1, 0)]!;
      setAt(from);
    }
    setPlaying(!isPlaying);
  };
  const goTo = (to: number) => {
    setPlaying(false);
    setAt(Math.max(0, Math.min(last, to)));
  };
  const momentOf = (when: number) => momentAt(ends, when * (1 - 1e-12));
  return { at: shown, momentOf, last, isPlaying, toggle, goTo, now: () => (isPlaying ? time.current : ends[shown]!), speed, setSpeed };
}

// Space plays and pauses, arrows and "," "." step, wherever they mean nothing else.
export function useKeys(player: Player): void {
  const latest = useRef(player);
  latest.current = player;
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const { toggle, goTo, at } = latest.current;
      const place = event.target instanceof HTMLElement ? event.target : document.body;
      const keys: Record<string, () => void> = { ",": () => goTo(at - 1), ".": () => goTo(at + 1) };
      if (!place.closest("button, a, summary")) keys[" "] = toggle;
      if (!place.closest("canvas, input")) {
        keys["ArrowLeft"] = keys[","]!;
        keys["ArrowRight"] = keys["."]!;
      }
      const isTyping = place.closest("select, textarea, input:not([type=range])");
      if (isTyping || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || !keys[event.key]) return;
      event.preventDefault();
      keys[event.key]!();
    };
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, []);
}
