// Where the page begins: it holds a document, or a server's settings.
import { render } from "preact";
import { LivePage, ReportPage } from "./app";
import { fromBase64, unpack } from "./model/document";
import { live } from "./model/live";
import "./style.css";

async function begin(): Promise<void> {
  const place = document.getElementById("linkstep")!;
  const held = document.getElementById("linkstep-document");
  try {
    if (held) render(<ReportPage shown={await unpack(fromBase64(held.textContent ?? ""))} />, place);
    else render(<LivePage live={live} />, place);
    place.dataset["ready"] = "true";
  } catch (problem) {
    place.textContent = `This page cannot be shown: ${problem instanceof Error ? problem.message : String(problem)}`;
  }
}

void begin();
