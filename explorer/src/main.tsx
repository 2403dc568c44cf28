// Where the page begins: it holds a document, or a server's settings. In a notebook this same module is a widget's
// (anywidget): what it exports is called for each place where one is shown.
import { render } from "preact";
import { LivePage, ReportPage } from "./app";
import { fromBase64, unpack } from "./model/document";
import { live } from "./model/live";
import { keepRouteHere } from "./model/route";
import "./style.css";

async function shownIn(place: HTMLElement, make: () => Promise<preact.ComponentChild>): Promise<void> {
  try {
    render(await make(), place);
    place.dataset["ready"] = "true";
  } catch (problem) {
    place.textContent = `This page cannot be shown: ${problem instanceof Error ? problem.message : String(problem)}`;
  }
}

const held = document.getElementById("linkstep-document");
const page = held || document.getElementById("linkstep-live") ? document.getElementById("linkstep") : null;
if (page) {
  void shownIn(page, async () =>
    held ? <ReportPage shown={await unpack(fromBase64(held.textContent ?? ""))} /> : <LivePage live={live} />,
  );
}

// What anywidget hands over of a widget's model: ``document`` is a packed document.
interface Model {
  get: (name: "document") => DataView<ArrayBuffer>;
}

export default {
  render({ model, el }: { model: Model; el: HTMLElement }): () => void {
    keepRouteHere();
    const place = el.ownerDocument.createElement("div");
    place.className = "linkstep";
    el.append(place);
    const packed = model.get("document");
    void shownIn(place, async () => (
      <ReportPage shown={await unpack(new Uint8Array(packed.buffer, packed.byteOffset, packed.byteLength))} />
    ));
    return () => render(null, place);
  },
};
