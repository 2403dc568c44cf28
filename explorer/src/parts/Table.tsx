// Tables: every picture's numbers in words, sortable by their heads; long ones show their first rows.
import { useState } from "preact/hooks";
import type { ComponentChildren } from "preact";

export interface ColumnOf<Row> {
  head: string;
  title?: string; // what the head means
  cell: (row: Row) => ComponentChildren;
  sort?: (row: Row) => number | string;
  isNumber?: boolean;
  isWide?: boolean; // of several words, which a narrow page scrolls to rather than break
}

interface Props<Row> {
  caption: string;
  columns: ColumnOf<Row>[];
  rows: Row[];
  rowKey: (row: Row, at: number) => string | number;
  isMarked?: (row: Row) => boolean;
  onPick?: (row: Row) => void;
  most?: number;
}

export function Table<Row>({ caption, columns, rows, rowKey, isMarked, onPick, most = 200 }: Props<Row>) {
  const [order, setOrder] = useState<{ column: number; isDown: boolean } | null>(null);
  const [isWhole, setWhole] = useState(false);
  let sorted = rows;
  const by = order && columns[order.column]?.sort;
  if (by) {
    sorted = [...rows].sort((a, b) => {
      const [x, y] = [by(a), by(b)];
      return (x < y ? -1 : x > y ? 1 : 0) * (order.isDown ? -1 : 1);
    });
  }
  const shown = isWhole ? sorted : sorted.slice(0, most);
  return (
    <div class="table-place" role="region" aria-label={caption} tabIndex={0}>
      <table>
        <caption>{caption}</caption>
        <thead>
          <tr>
            {columns.map((column, k) => {
              const direction = order?.column === k ? (order.isDown ? "descending" : "ascending") : undefined;
              const sort = () => setOrder({ column: k, isDown: order?.column === k && !order.isDown });
              return (
                <th key={column.head} scope="col" title={column.title} aria-sort={direction} class={column.isNumber ? "number" : ""}>
                  {column.sort ? (
                    <button type="button" onClick={sort}>
                      {column.head}
                    </button>
                  ) : (
                    column.head
                  )}
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody>
          {shown.map((row, at) => (
            <tr key={rowKey(row, at)} class={isMarked?.(row) ? "marked" : ""}>
              {columns.map((column, k) => (
                <td key={column.head} class={column.isNumber ? "number" : column.isWide ? "wide" : ""}>
                  {onPick && k === 0 ? (
                    <button type="button" class="link" onClick={() => onPick(row)}>
                      {column.cell(row)}
                    </button>
                  ) : (
                    column.cell(row)
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > shown.length && (
        <>
          <button type="button" onClick={() => setWhole(true)}>
            Show all {rows.length.toLocaleString("en")} rows
          </button>
          <p class="on-paper">
            These are {shown.length.toLocaleString("en")} of {rows.length.toLocaleString("en")} rows: show all of them before printing to have them on paper.
          </p>
        </>
      )}
    </div>
  );
}

// Names and values, as linkstep's commands print them.
export function Facts({ rows }: { rows: [name: string, value: ComponentChildren][] }) {
  return (
    <dl class="facts">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
