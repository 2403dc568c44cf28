// The choice of a layout, which every picture of a wiring offers.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { usePart } from "../model/route";
import { layersAround, type Wires } from "../model/wires";

const LAYERS = "layers";

// Places of the hosts, by the URL's ``layout``, and the control to choose it; layers are around a host.
export function useLayout(wires: Wires, around: number): { xy: Float32Array; choice: JSX.Element } {
  const [layout, setLayout] = usePart("layout", wires.layouts[0]?.name ?? "ring");
  const isLayers = layout === LAYERS;
  const xy = useMemo(
    () => (isLayers ? layersAround(wires, around) : (wires.layouts.find((one) => one.name === layout) ?? wires.layouts[0]!).xy),
    [wires, layout, isLayers ? around : 0],
  );
  const choice = (
    <label>
      Layout
      <select value={layout} onChange={(event) => setLayout(event.currentTarget.value)}>
        {wires.layouts.map((one) => (
          <option key={one.name}>{one.name}</option>
        ))}
        <option value={LAYERS}>layers around a host</option>
      </select>
    </label>
  );
  return { xy, choice };
}
