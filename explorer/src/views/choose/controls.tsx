// What is asked: servers, ports, cables and workload, which a live page asks its server for; size, alpha and B, which
// every page follows at once.
import { useEffect, useRef, useState } from "preact/hooks";
import { Exact } from "../../model/exact";
import { exactRate, exactSize, exactTime, type Reading } from "../../model/quantities";
import { go, useRoute } from "../../model/route";
import { rateText, sizeText, timeText } from "../../model/words";
import { nearest, type ChooseData } from "./model";

export const USUAL = { n: "64", d: "4", kind: "duplex", load: "allreduce" };
export const JOB = "job:";

// A whole number of at least so many, or what is wrong with it.
export function wholeNumber(text: string, what: string, least: number): { value: number; error: null } | { value: null; error: string } {
  const value = /^\s*\d{1,9}\s*$/.test(text) ? Number(text) : NaN;
  if (value >= least) return { value, error: null };
  return { value: null, error: `${what} must be a whole number from ${least} on` };
}

export const servers = (text: string) => wholeNumber(text, "servers", 2);
export const ports = (text: string) => wholeNumber(text, "ports", 1);

// A part of the URL that a slider moves: the page follows at once, the URL when the slider rests.
export function useQuickPart(name: string): [string | null, (text: string | null) => void] {
  const written = useRoute()[name] ?? null;
  const [now, setNow] = useState<string | null>(written);
  const timer = useRef<number | null>(null);
  const waiting = useRef<string | null>(null);
  useEffect(() => {
    if (timer.current === null) setNow(written);
  }, [written]);
  const set = (text: string | null) => {
    setNow(text);
    if (timer.current !== null) clearTimeout(timer.current);
    waiting.current = text;
    timer.current = window.setTimeout(write, 150);
  };
  const write = () => {
    if (timer.current === null) return;
    clearTimeout(timer.current);
    timer.current = null;
    go({ [name]: waiting.current });
  };
  useEffect(() => write, []);
  return [now, set];
}

export interface Quantity {
  text: string; // as it is shown
  value: Exact; // what times are for: of the URL where that can be read, else of the panel
  set: (text: string | null) => void;
  written: string | null;
}

function useQuantity(name: string, read: (text: string) => Reading, usual: string, exact: string): Quantity {
  const [written, set] = useQuickPart(name);
  const found = written === null ? null : read(written).value;
  return { text: found ? written! : usual, value: found ?? Exact.read(exact), set, written };
}

export interface Pricing {
  size: Quantity;
  alpha: Quantity;
  bandwidth: Quantity;
}

export function usePricing({ fabric, size, times }: ChooseData): Pricing {
  const found = {
    size: useQuantity("size", exactSize, size.text, size.exact),
    alpha: useQuantity("alpha", exactTime, fabric.alpha, fabric.exact_alpha),
    bandwidth: useQuantity("bandwidth", exactRate, fabric.bandwidth, fabric.exact_bandwidth),
  };
  if (!times) return found;
  // Times were worked out for some sizes and one fabric: nothing else can be shown.
  const at = times.sizes[nearest(times.sizes.map((one) => Exact.read(one).number), found.size.value.number)]!;
  const value = Exact.read(at);
  const text = at === size.exact ? size.text : sizeText(value.number, true);
  return {
    size: { ...found.size, value, text },
    alpha: { ...found.alpha, text: fabric.alpha, value: Exact.read(fabric.exact_alpha) },
    bandwidth: { ...found.bandwidth, text: fabric.bandwidth, value: Exact.read(fabric.exact_bandwidth) },
  };
}

const tens = (from: number, to: number): number[] => {
  const found: number[] = [];
  for (let power = from; power < to; power++) for (const step of [1, 2, 5]) found.push(Number(`${step}e${power}`));
  return [...found, Number(`1e${to}`)];
};
const SIZES = tens(3, 9);
const ALPHAS = tens(-7, -3);
const RATES = [1, 10, 25, 40, 50, 100, 200, 400, 800, 1600, 3200].map((one) => one * 1e9);

interface FieldProps {
  label: string;
  title: string;
  quantity: Quantity;
  read: (text: string) => Reading;
  stops: number[];
  words: (value: number) => string;
}

// A text field with its unit, its error beside it, and a slider of usual values.
function QuantityField({ label, title, quantity, read, stops, words }: FieldProps) {
  const [draft, setDraft] = useState<string | null>(null);
  const text = draft ?? quantity.written ?? quantity.text;
  const { error } = text === quantity.text ? { error: null } : read(text);
  const id = `choose-${label.toLowerCase().replace(/\W/g, "")}`;
  return (
    <div class="field" title={title}>
      <label>
        {label}
        <input
          value={text}
          size={9}
          aria-invalid={error ? "true" : undefined}
          aria-describedby={error ? `${id}-error` : undefined}
          onInput={(event) => {
            const typed = event.currentTarget.value;
            setDraft(typed);
            if (read(typed).value) quantity.set(typed.trim());
          }}
          onBlur={() => {
            if (draft !== null && read(draft).value) setDraft(null);
          }}
        />
      </label>
      <input
        type="range"
        aria-label={`${label}, usual values`}
        min={0}
        max={stops.length - 1}
        step={1}
        value={nearest(stops, Math.max(quantity.value.number, stops[0]! / 10))}
        aria-valuetext={quantity.text}
        onInput={(event) => {
          setDraft(null);
          quantity.set(words(stops[Number(event.currentTarget.value)]!));
        }}
      />
      {error && (
        <span class="field-error" id={`${id}-error`} role="alert">
          {error}
        </span>
      )}
    </div>
  );
}

// A number that is asked for once it is whole: on Enter, by its arrows, or when the field is left.
function NumberField({ label, part, usual, check, title }: { label: string; part: "n" | "d"; usual: string; check: typeof servers; title: string }) {
  const written = useRoute()[part] ?? usual;
  const [draft, setDraft] = useState<string | null>(null);
  useEffect(() => setDraft(null), [written]);
  const text = draft ?? written;
  const { error } = check(text);
  return (
    <div class="field" title={title}>
      <label>
        {label}
        <input
          type="text"
          inputMode="numeric"
          size={6}
          value={text}
          aria-invalid={error ? "true" : undefined}
          aria-describedby={error ? `choose-${part}-error` : undefined}
          onInput={(event) => setDraft(event.currentTarget.value)}
          onChange={(event) => {
            const { value } = check(event.currentTarget.value);
            if (value !== null) go({ [part]: String(value) === usual ? null : String(value), pair: null }, true);
          }}
        />
      </label>
      {error && (
        <span class="field-error" id={`choose-${part}-error`} role="alert">
          {error}
        </span>
      )}
    </div>
  );
}

// What only a server can answer.
export function Asked({ jobs }: { jobs: string[] }) {
  const route = useRoute();
  const load = route["load"] ?? USUAL.load;
  return (
    <>
      <NumberField label="Servers" part="n" usual={USUAL.n} check={servers} title="how many servers are wired to one another, N" />
      <NumberField label="Ports of each" part="d" usual={USUAL.d} check={ports} title="network ports on each server, d" />
      <label class="field">
        Cables
        <select
          value={route["kind"] ?? USUAL.kind}
          onChange={(event) => go({ kind: event.currentTarget.value === USUAL.kind ? null : event.currentTarget.value, pair: null }, true)}
        >
          <option value="duplex">duplex (ordinary)</option>
          <option value="directed">one-way fibres too</option>
        </select>
      </label>
      <label class="field">
        Workload
        <select value={load} onChange={(event) => go({ load: event.currentTarget.value === USUAL.load ? null : event.currentTarget.value }, true)}>
          <option value="allreduce">allreduce</option>
          <option value="all-to-all">all-to-all</option>
          {[...new Set([...jobs, ...(load.startsWith(JOB) ? [load.slice(JOB.length)] : [])])].map((name) => (
            <option key={name} value={JOB + name}>
              training {name}
            </option>
          ))}
        </select>
      </label>
    </>
  );
}

interface ControlsProps {
  data: ChooseData;
  pricing: Pricing;
  load: string;
  setLoad: (load: string) => void;
  isLive: boolean;
}

export function Controls({ data, pricing, load, setLoad, isLive }: ControlsProps) {
  const { facts, times } = data;
  return (
    <div class="controls choose-controls" role="group" aria-label="What is asked">
      {isLive ? (
        <Asked jobs={data.jobs} />
      ) : (
        <label class="field">
          Workload
          <select value={load} onChange={(event) => setLoad(event.currentTarget.value)}>
            <option value="allreduce">allreduce</option>
            <option value="all-to-all">all-to-all</option>
            {facts.job && <option value={JOB + facts.job.model}>training {facts.job.model}</option>}
          </select>
        </label>
      )}
      {times ? (
        <label class="field">
          Size
          <select value={pricing.size.text} onChange={(event) => pricing.size.set(event.currentTarget.value)}>
            {times.sizes.map((one) => {
              const text = one === data.size.exact ? data.size.text : sizeText(Exact.read(one).number, true);
              return (
                <option key={one} value={text}>
                  {text}
                </option>
              );
            })}
          </select>
        </label>
      ) : (
        <>
          <QuantityField label="Size" title="M, the data that every server puts in" quantity={pricing.size} read={exactSize} stops={SIZES} words={sizeText} />
          <QuantityField label="Delay of a step (alpha)" title="what a step takes, however little is sent" quantity={pricing.alpha} read={exactTime} stops={ALPHAS} words={timeText} />
          <QuantityField label="Rate of a server (B)" title="what a server sends over all its ports together" quantity={pricing.bandwidth} read={exactRate} stops={RATES} words={rateText} />
        </>
      )}
    </div>
  );
}
