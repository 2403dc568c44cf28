// A document as src/linkstep/explorer/packing.py packs it: panels of facts and columns.

export type Column = Uint8Array | Int8Array | Uint16Array | Int16Array | Uint32Array | Int32Array | Float32Array | Float64Array;

export interface Panel<Data = Record<string, unknown>> {
  kind: string;
  title: string;
  data: Data;
}

export interface Document {
  title: string;
  panels: Panel[];
}

const FORMAT = "linkstep/document";
const VERSION = 1;

const TYPES: Record<string, { new (buffer: ArrayBuffer, offset: number, length: number): Column }> = {
  u1: Uint8Array,
  i1: Int8Array,
  u2: Uint16Array,
  i2: Int16Array,
  u4: Uint32Array,
  i4: Int32Array,
  f4: Float32Array,
  f8: Float64Array,
};

type Entry = [type: string, length: number, offset: number, steps: boolean];

export async function unpack(packed: Uint8Array<ArrayBuffer>): Promise<Document> {
  if (typeof DecompressionStream === "undefined") {
    throw new Error("this browser is too old to read the page's data: it has no DecompressionStream (2023 and later have)");
  }
  const inflated = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const raw = await new Response(inflated).arrayBuffer();
  const start = 4 + new DataView(raw).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(raw, 4, start - 4)));
  if (header.format !== FORMAT || header.version !== VERSION) {
    throw new Error(`this page reads documents of version ${VERSION}, not ${header.format} ${header.version}`);
  }
  const columns = (header.columns as Entry[]).map(([type, length, offset, steps]) => {
    const found = new TYPES[type]!(raw, start + offset, length);
    return steps ? summed(found) : found;
  });
  return { title: header.title, panels: restored(header.panels, columns) as Panel[] };
}

// What "steps" were kept of: each number is what it adds to the one before.
function summed(steps: Column): Int32Array | Float64Array {
  let sum = 0;
  const whole = new Float64Array(steps.length);
  let isSmall = true;
  for (let k = 0; k < steps.length; k++) {
    sum += steps[k]!;
    whole[k] = sum;
    isSmall &&= sum === (sum | 0);
  }
  return isSmall ? Int32Array.from(whole) : whole;
}

function restored(value: unknown, columns: Column[]): unknown {
  if (Array.isArray(value)) return value.map((one) => restored(one, columns));
  if (value === null || typeof value !== "object") return value;
  const column = (value as { $column?: number }).$column;
  if (column !== undefined) return columns[column];
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, restored(one, columns)]));
}

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.trim());
  const bytes = new Uint8Array(binary.length);
  for (let k = 0; k < binary.length; k++) bytes[k] = binary.charCodeAt(k);
  return bytes;
}

// JSON of a panel, columns as plain lists: what the export button saves.
export function plainJson(value: unknown): string {
  return JSON.stringify(value, (_, one) => (ArrayBuffer.isView(one) ? Array.from(one as Column) : one), 1);
}
