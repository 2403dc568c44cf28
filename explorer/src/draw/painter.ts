// What pictures are drawn with: a canvas on the page, or an SVG to save and to print. Views draw once, for both.

export interface Painter {
  // Segments x0, y0, cx, cy, x1, y1, all in one stroke; the middle pair is a quadratic curve's control point, or NaN.
  strokes(segments: Float32Array, count: number, width: number, colour: string, dash?: number[]): void;
  // Discs x, y, radius.
  discs(discs: Float32Array, count: number, fill: string, stroke?: string, width?: number): void;
  // Triangles x0, y0, x1, y1, x2, y2.
  triangles(corners: Float32Array, count: number, fill: string): void;
  rect(x: number, y: number, width: number, height: number, fill: string): void;
  // Rectangles x, y, width, height.
  rects(rects: Float32Array, count: number, fill: string): void;
  text(x: number, y: number, text: string, style: TextStyle): void;
}

export interface TextStyle {
  size: number;
  colour: string;
  align?: "left" | "center" | "right";
  halo?: string;
  bold?: boolean;
}

const FONT = "system-ui, sans-serif";

export class CanvasPainter implements Painter {
  constructor(private readonly context: CanvasRenderingContext2D) {}

  strokes(segments: Float32Array, count: number, width: number, colour: string, dash: number[] = []): void {
    const to = this.context;
    to.beginPath();
    for (let k = 0; k < 6 * count; k += 6) {
      to.moveTo(segments[k]!, segments[k + 1]!);
      const cx = segments[k + 2]!;
      if (cx !== cx) to.lineTo(segments[k + 4]!, segments[k + 5]!);
      else to.quadraticCurveTo(cx, segments[k + 3]!, segments[k + 4]!, segments[k + 5]!);
    }
    to.lineWidth = width;
    to.strokeStyle = colour;
    to.setLineDash(dash);
    to.stroke();
  }

  discs(discs: Float32Array, count: number, fill: string, stroke?: string, width = 1): void {
    const to = this.context;
    to.beginPath();
    for (let k = 0; k < 3 * count; k += 3) {
      const radius = discs[k + 2]!;
      to.moveTo(discs[k]! + radius, discs[k + 1]!);
      to.arc(discs[k]!, discs[k + 1]!, radius, 0, 2 * Math.PI);
    }
    to.fillStyle = fill;
    to.fill();
    if (stroke) {
      to.setLineDash([]);
      to.lineWidth = width;
      to.strokeStyle = stroke;
      to.stroke();
    }
  }

  triangles(corners: Float32Array, count: number, fill: string): void {
    const to = this.context;
    to.beginPath();
    for (let k = 0; k < 6 * count; k += 6) {
      to.moveTo(corners[k]!, corners[k + 1]!);
      to.lineTo(corners[k + 2]!, corners[k + 3]!);
      to.lineTo(corners[k + 4]!, corners[k + 5]!);
    }
    to.fillStyle = fill;
    to.fill();
  }

  rect(x: number, y: number, width: number, height: number, fill: string): void {
    this.context.fillStyle = fill;
    this.context.fillRect(x, y, width, height);
  }

  rects(rects: Float32Array, count: number, fill: string): void {
    this.context.fillStyle = fill;
    for (let k = 0; k < 4 * count; k += 4) this.context.fillRect(rects[k]!, rects[k + 1]!, rects[k + 2]!, rects[k + 3]!);
  }

  text(x: number, y: number, text: string, style: TextStyle): void {
    const to = this.context;
    to.font = `${style.bold ? "600 " : ""}${style.size}px ${FONT}`;
    to.textAlign = style.align ?? "center";
    to.textBaseline = "middle";
    if (style.halo) {
      to.setLineDash([]);
      to.lineJoin = "round";
      to.lineWidth = 3;
      to.strokeStyle = style.halo;
      to.strokeText(text, x, y);
    }
    to.fillStyle = style.colour;
    to.fillText(text, x, y);
  }
}

const SPECIAL: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
// What XML has no way to write: control characters and halves of letters.
const UNWRITABLE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff\p{Surrogate}]/gu;
export const escaped = (text: string): string => text.replace(UNWRITABLE, "\ufffd").replace(/[&<>"']/g, (found) => SPECIAL[found]!);

const brief = (value: number): string => String(Math.round(value * 100) / 100);

export class SvgPainter implements Painter {
  private readonly parts: string[] = [];

  constructor(private readonly width: number, private readonly height: number, paper: string) {
    this.rect(0, 0, width, height, paper);
  }

  strokes(segments: Float32Array, count: number, width: number, colour: string, dash: number[] = []): void {
    if (!count) return;
    let path = "";
    for (let k = 0; k < 6 * count; k += 6) {
      const at = (i: number) => brief(segments[k + i]!);
      path += `M${at(0)} ${at(1)}`;
      path += Number.isNaN(segments[k + 2]!) ? `L${at(4)} ${at(5)}` : `Q${at(2)} ${at(3)} ${at(4)} ${at(5)}`;
    }
    const dashes = dash.length ? ` stroke-dasharray="${dash.join(" ")}"` : "";
    this.parts.push(`<path d="${path}" fill="none" stroke="${colour}" stroke-width="${brief(width)}"${dashes}/>`);
  }

  discs(discs: Float32Array, count: number, fill: string, stroke?: string, width = 1): void {
    const edge = stroke ? ` stroke="${stroke}" stroke-width="${width}"` : "";
    for (let k = 0; k < 3 * count; k += 3) {
      const [x, y, radius] = [brief(discs[k]!), brief(discs[k + 1]!), brief(discs[k + 2]!)];
      this.parts.push(`<circle cx="${x}" cy="${y}" r="${radius}" fill="${fill}"${edge}/>`);
    }
  }

  triangles(corners: Float32Array, count: number, fill: string): void {
    if (!count) return;
    let path = "";
    for (let k = 0; k < 6 * count; k += 6) {
      const at = (i: number) => `${brief(corners[k + i]!)} ${brief(corners[k + i + 1]!)}`;
      path += `M${at(0)}L${at(2)}L${at(4)}Z`;
    }
    this.parts.push(`<path d="${path}" fill="${fill}"/>`);
  }

  rect(x: number, y: number, width: number, height: number, fill: string): void {
    const [left, top, wide, high] = [x, y, width, height].map(brief);
    this.parts.push(`<rect x="${left}" y="${top}" width="${wide}" height="${high}" fill="${fill}"/>`);
  }

  rects(rects: Float32Array, count: number, fill: string): void {
    if (!count) return;
    let path = "";
    for (let k = 0; k < 4 * count; k += 4) {
      const [x, y, wide, high] = [brief(rects[k]!), brief(rects[k + 1]!), brief(rects[k + 2]!), brief(rects[k + 3]!)];
      path += `M${x} ${y}h${wide}v${high}h-${wide}Z`;
    }
    this.parts.push(`<path d="${path}" fill="${fill}"/>`);
  }

  text(x: number, y: number, text: string, style: TextStyle): void {
    const anchor = { left: "start", center: "middle", right: "end" }[style.align ?? "center"];
    const halo = style.halo ? ` stroke="${style.halo}" stroke-width="3" stroke-linejoin="round" paint-order="stroke"` : "";
    const bold = style.bold ? ' font-weight="600"' : "";
    this.parts.push(
      `<text x="${brief(x)}" y="${brief(y)}" font-family="${FONT}" font-size="${style.size}" fill="${style.colour}"` +
        ` text-anchor="${anchor}" dominant-baseline="central"${bold}${halo}>${escaped(text)}</text>`,
    );
  }

  toString(): string {
    const [width, height] = [brief(this.width), brief(this.height)];
    const box = `viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"`;
    return `<svg xmlns="http://www.w3.org/2000/svg" ${box}>\n${this.parts.join("\n")}\n</svg>\n`;
  }
}
