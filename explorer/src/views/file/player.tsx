// A clock over simulated time: played, moved by hand, or taken from message to message.
import { useEffect, useRef, useState } from "preact/hooks";
import { usePart } from "../../model/route";
import { timeText } from "../../model/words";

const WHOLE = 12; // seconds that all of it takes at speed 1
const SPEEDS = ["0.25", "0.5", "1", "2", "4"];
const WORDS_EVERY = 150; // milliseconds after which the words follow the picture

export interface Clock {
  time: number; // as words show it
  isPlaying: boolean;
  at: (now: number) => number; // as a frame shows it
  seek: (time: number) => void;
  toggle: () => void;
  speed: string;
  setSpeed: (speed: string) => void;
}

export function useClock(total: number): Clock {
  const [kept, keep] = usePart("at", "0");
  const [speed, setSpeed] = usePart("speed", "1");
  const [playing, play] = useState<{ from: number; since: number } | null>(null);
  const [, redraw] = useState(0);
  const still = Math.max(0, Math.min(total, Number(kept) || 0));
  const rate = ((SPEEDS.includes(speed) ? Number(speed) : 1) * total) / WHOLE / 1000;
  const at = (now: number) => (playing ? Math.max(0, Math.min(total, playing.from + (now - playing.since) * rate)) : still);
  const latest = useRef(at);
  latest.current = at;
  const stop = (time: number) => {
    play(null);
    keep(String(time));
  };

  useEffect(() => {
    if (!playing) return;
    const timer = setInterval(() => {
      const time = latest.current(performance.now());
      if (time >= total) stop(total);
      else redraw((count) => count + 1);
    }, WORDS_EVERY);
    return () => clearInterval(timer);
  }, [playing, total]);

  return {
    time: at(performance.now()),
    isPlaying: playing !== null,
    at,
    seek: (time) => stop(Math.max(0, Math.min(total, time))),
    toggle: () => (playing ? stop(at(performance.now())) : play({ from: still >= total ? 0 : still, since: performance.now() })),
    speed,
    setSpeed: (next) => {
      if (playing) play({ from: at(performance.now()), since: performance.now() });
      setSpeed(next);
    },
  };
}

interface Props {
  clock: Clock;
  total: number;
  next: (time: number) => number | null;
  before: (time: number) => number | null;
}

export function Player({ clock, total, next, before }: Props) {
  const { time } = clock;
  const [later, earlier] = [next(time), before(time)];
  return (
    <div class="controls player" role="group" aria-label="Player">
      <button type="button" class="play" onClick={clock.toggle}>
        {clock.isPlaying ? "Pause" : "Play"}
      </button>
      <button type="button" disabled={earlier === null} onClick={() => earlier !== null && clock.seek(earlier)}>
        Message before
      </button>
      <button type="button" disabled={later === null} onClick={() => later !== null && clock.seek(later)}>
        Next message
      </button>
      <label class="time">
        Time
        <input
          type="range"
          min={0}
          max={1000}
          step={1}
          value={total ? Math.round((1000 * time) / total) : 0}
          aria-valuetext={`${timeText(time)} of ${timeText(total)}`}
          onInput={(event) => clock.seek((Number(event.currentTarget.value) / 1000) * total)}
        />
      </label>
      <output>
        {timeText(time)} of {timeText(total)}
      </output>
      <label>
        Speed
        <select value={clock.speed} onChange={(event) => clock.setSpeed(event.currentTarget.value)}>
          {SPEEDS.map((one) => (
            <option key={one} value={one}>
              {one}
              {"\u00d7"}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}
