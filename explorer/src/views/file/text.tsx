// The text of a file with its line numbers: only the rows in sight are in the page, however long it is.
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { FileData, Places, Spot } from "./data";

const ROW = 18; // pixels
const MORE = 12; // rows kept above and below what is in sight
const LONG = 200; // characters after which a line goes on in the next row
const MOST = 400_000; // rows: browsers' pages have a greatest height

interface Row {
  line: number; // 0 where a line goes on
  at: number; // of its first character in the whole text
  text: string;
  gap?: boolean; // says what is left out
}

export function rowsOf(data: FileData): Row[] {
  const rows: Row[] = [];
  const { places } = data;
  let place = 0;
  for (const piece of data.text) {
    const last = rows[rows.length - 1];
    if (last) rows.push({ line: 0, at: last.at + last.text.length, text: `lines up to ${piece.line - 1} are left out`, gap: true });
    let line = piece.line;
    for (let begin = 0; begin <= piece.text.length && rows.length < MOST; line++) {
      const feed = piece.text.indexOf("\n", begin);
      const end = feed < 0 ? piece.text.length : feed;
      if (end - begin <= LONG) rows.push({ line, at: piece.at + begin, text: piece.text.slice(begin, end) });
      else place = cutLine(rows, piece, line, begin, end, places, place);
      begin = end + 1;
    }
  }
  const end = data.text[data.text.length - 1];
  if (end && (end.at + end.text.length < data.length || rows.length >= MOST)) {
    rows.push({ line: 0, at: data.length, text: `the rest, up to line ${data.lines}, is left out`, gap: true });
  }
  return rows;
}

// Cut a long line where instructions begin, and else after LONG characters; return the place gone on from.
function cutLine(rows: Row[], piece: { at: number; text: string }, line: number, begin: number, end: number, places: Places, place: number): number {
  let from = begin;
  while (from < end && rows.length < MOST) {
    while (place < places.first.length && places.first[place]! - piece.at <= from) place++;
    const next = place < places.first.length ? places.first[place]! - piece.at : Infinity;
    const to = Math.min(end, next, from + LONG);
    rows.push({ line: from === begin ? line : 0, at: piece.at + from, text: piece.text.slice(from, to) });
    from = to;
  }
  return place;
}

function rowAt(rows: Row[], position: number): number {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rows[middle]!.at <= position) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}

export function rowOfLine(rows: Row[], line: number): Row | null {
  let found: Row | null = null;
  for (const row of rows) if (row.line && row.line <= line) found = row;
  return found;
}

export function TextView({ data, rows, spots }: { data: FileData; rows: Row[]; spots: Spot[] }) {
  const place = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(400);
  const key = spots.map((spot) => spot.join("-")).join(",");
  const isMarked = useMemo(() => {
    const marked = new Set<number>();
    for (const [first, last] of spots) {
      for (let k = rowAt(rows, first); k < rows.length && (rows[k]!.at < last || rows[k]!.at <= first); k++) marked.add(k);
    }
    return marked;
  }, [rows, key]);

  useLayoutEffect(() => {
    const board = place.current!;
    const measure = () => setHeight(board.clientHeight || 400);
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(board);
    return () => watch.disconnect();
  }, []);

  useLayoutEffect(() => {
    const spot = spots[0];
    if (!spot) return;
    const board = place.current!;
    board.scrollTop = Math.max(0, rowAt(rows, spot[0]) * ROW - Math.min(120, board.clientHeight / 3));
    board.scrollLeft = 0;
    setTop(board.scrollTop);
  }, [rows, key]);

  const from = Math.max(0, Math.floor(top / ROW) - MORE);
  const to = Math.min(rows.length, Math.ceil((top + height) / ROW) + MORE);
  const digits = String(data.lines).length;
  return (
    <div
      ref={place}
      class="file-text"
      tabIndex={0}
      role="region"
      aria-label={`Text of ${data.file}`}
      data-rows={rows.length}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
    >
      <div class="file-rows" style={{ height: `${rows.length * ROW}px` }}>
        <pre style={{ transform: `translateY(${from * ROW}px)` }}>
          {rows.slice(from, to).map((row, k) => (
            <div key={from + k} class={`${isMarked.has(from + k) ? "marked" : ""}${row.gap ? " gap" : ""}`} data-line={row.line || undefined}>
              <span class="line-number">{(row.line ? String(row.line) : "").padStart(digits)}</span>
              {row.gap ? "\u2026 " : " "}
              {row.text}
            </div>
          ))}
        </pre>
      </div>
    </div>
  );
}
