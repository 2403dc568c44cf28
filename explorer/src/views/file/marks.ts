// What is marked, in the text and in the picture at once: a part of the URL, "finding.0", "message.17", "rank.3" ...
import { findingsOf, spotOf, type FileData, type Spot } from "./data";

export interface Marked {
  kind: "" | "finding" | "message" | "rank" | "line" | "link";
  number: number;
  spots: Spot[];
  ranks: number[];
  links: number[];
  line: number | null;
}

const NOTHING: Marked = { kind: "", number: -1, spots: [], ranks: [], links: [], line: null };
const KINDS = ["finding", "message", "rank", "line", "link"] as const;

// What is marked where nobody chose: what keeps a file from being right.
export const usualMark = (data: FileData): string => (data.facts.status === "verified" || !findingsOf(data.facts).length ? "" : "finding.0");

export function markedBy(text: string, data: FileData): Marked {
  const [word, digits] = text.split(".");
  const kind = KINDS.find((one) => one === word);
  const number = /^\d{1,9}$/.test(digits ?? "") ? Number(digits) : -1;
  if (!kind || number < 0) return NOTHING;
  const { wires, messages, places } = data;
  if (kind === "finding") {
    const found = data.findings[number];
    if (!found) return NOTHING;
    const ranks = found.ranks.filter((rank) => wires && rank < wires.nodes);
    return { kind, number, spots: found.spots, ranks, links: linksAmong(data, ranks), line: found.line };
  }
  if (kind === "message") {
    if (!messages || number >= messages.link.length) return NOTHING;
    const link = messages.link[number]!;
    const spot = spotOf(places, messages.rank[number]!, messages.block[number]!, messages.step[number]!);
    return { kind, number, spots: spot ? [spot] : [], ranks: [wires!.tail[link]!, wires!.head[link]!], links: [link], line: null };
  }
  if (kind === "rank") {
    const spot = spotOf(places, number, -1, -1);
    return { kind, number, spots: spot ? [spot] : [], ranks: wires && number < wires.nodes ? [number] : [], links: [], line: null };
  }
  if (kind === "link") {
    if (!wires || number >= wires.tail.length) return NOTHING;
    return { kind, number, spots: [], ranks: [wires.tail[number]!, wires.head[number]!], links: [number], line: null };
  }
  return { kind, number, spots: [], ranks: [], links: [], line: number };
}

function linksAmong(data: FileData, ranks: number[]): number[] {
  const { wires } = data;
  const found: number[] = [];
  for (let e = 0; wires && ranks.length > 1 && e < wires.tail.length; e++) {
    if (ranks.includes(wires.tail[e]!) && ranks.includes(wires.head[e]!)) found.push(e);
  }
  return found;
}
