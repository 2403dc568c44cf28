// What a live page simulates instead: another collective, size or runtime, or an iteration of training.
import { go } from "../../model/route";
import type { Asked } from "./model";

const FIELDS = ["job", "collective", "to", "size", "alpha", "bandwidth"] as const;

export function Ask({ asked }: { asked: Asked }) {
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const given = new FormData(event.currentTarget as HTMLFormElement);
    const change: Record<string, string | null> = { span: null, range: null };
    for (const field of FIELDS) if (given.has(field)) change[field] = String(given.get(field)).trim() || null;
    go(change, true);
  };
  const choice = (name: "job" | "collective" | "to", label: string, values: string[], none = "") => (
    <label>
      {label}
      <select name={name} value={asked[name]}>
        {none && <option value="">{none}</option>}
        {values.map((value) => (
          <option key={value}>{value}</option>
        ))}
      </select>
    </label>
  );
  const text = (name: "size" | "alpha" | "bandwidth", label: string, title: string) => (
    <label title={title}>
      {label}
      <input name={name} value={asked[name]} size={8} />
    </label>
  );
  return (
    <form class="ask" aria-label="What is simulated" onSubmit={submit}>
      {choice("job", "Of", asked.jobs, "a collective")}
      {!asked.job && choice("collective", "Collective", asked.collectives)}
      {!asked.job && choice("to", "Runtime", asked.targets)}
      {!asked.job && text("size", "Size", "of the data in all, M")}
      {text("alpha", "Alpha", "what a step takes besides its bytes")}
      {text("bandwidth", "Bandwidth", "B: what a server sends over all its ports together")}
      <button type="submit">Simulate</button>
    </form>
  );
}
