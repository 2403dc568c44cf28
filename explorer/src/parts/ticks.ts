// Where the ticks of an axis are.

// 1, 2 and 5 times powers of ten where these are few, else powers of ten, of which at most seven.
export function logTicks(low: number, high: number): number[] {
  const decades = Math.log10(high / low);
  const steps = decades < 0.9 ? [1, 1.5, 2, 3, 4, 5, 6, 8] : decades < 3.2 ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil(decades / 7));
  const found: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    if (decades >= 3.2 && power % every) continue;
    for (const step of steps) {
      const tick = Number(`${step}e${power}`);
      if (tick >= low && tick <= high) found.push(tick);
    }
  }
  return found.length ? found : [low, high];
}

// Multiples of 1, 2 or 5 times a power of ten, about six of them.
export function linearTicks(low: number, high: number): number[] {
  const rough = (high - low) / 6;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough) ?? 10 * power;
  const found: number[] = [];
  for (let k = Math.ceil(low / step); k * step <= high; k++) found.push(Number((k * step).toPrecision(12)));
  return found;
}
