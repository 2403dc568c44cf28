// How long frames take: a canvas says the median of its last ones in ``data-frame-ms``, and of how many.
const MOST = 60;

export class Frames {
  private readonly took: number[] = [];

  timed(board: HTMLElement, paint: () => void): void {
    const start = performance.now();
    paint();
    this.took.push(performance.now() - start);
    if (this.took.length > MOST) this.took.shift();
    board.dataset["frames"] = String(this.took.length);
    board.dataset["frameMs"] = [...this.took].sort((a, b) => a - b)[this.took.length >> 1]!.toFixed(2);
  }
}
