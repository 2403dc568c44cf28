// What a live page can ask for instead: another collective, method or root.
import { useState } from "preact/hooks";
import { go } from "../../model/route";
import { hostName, type Wires } from "../../model/wires";

export interface Asked {
  collective: string;
  collectives: string[];
  method: string;
  root: number;
  methods: { name: string; title: string }[];
}

export function Choices({ asked, wires, rootNode, made }: { asked: Asked; wires: Wires; rootNode: number; made: string }) {
  const [root, setRoot] = useState<string | null>(null);
  const hasRoot = asked.collective === "broadcast" || asked.collective === "reduce";
  // Where a schedule stands means nothing in another one.
  const ask = (change: Record<string, string | null>) => go({ step: null, source: null, limit: null, beside: null, ...change }, true);
  return (
    <div class="controls">
      <label>
        Collective
        <select value={asked.collective} onChange={(event) => ask({ collective: event.currentTarget.value, method: null })}>
          {asked.collectives.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      </label>
      <label>
        Method
        <select value={asked.method} onChange={(event) => ask({ method: event.currentTarget.value })}>
          <option value="best">best{asked.method === "best" ? ` (${made})` : ""}</option>
          {asked.methods.map((one) => (
            <option key={one.name} value={one.name}>
              {one.name}: {one.title}
            </option>
          ))}
        </select>
      </label>
      {hasRoot && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (root !== null) ask({ root: root.trim() || null });
          }}
        >
          <label>
            Root
            <input value={root ?? hostName(wires, rootNode)} size={8} onInput={(event) => setRoot(event.currentTarget.value)} />
          </label>{" "}
          <button type="submit">Set</button>
        </form>
      )}
    </div>
  );
}
