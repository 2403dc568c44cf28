// Colours by theme. Those that mean something are Okabe and Ito's, told apart with any colour vision; loads and
// distances are steps of one scale from light to dark (dark to light on a dark page), cividis-like.

export interface Palette {
  paper: string;
  ink: string;
  soft: string;
  line: string;
  pale: string;
  accent: string;
  warn: string;
  good: string;
  marks: string[]; // for things of a kind: orbits, series
  scale: string[]; // for amounts, little to much
  held: { none: string; toPass: string; done: string }; // what a host has of something; all are read under ink
}

const LIGHT: Palette = {
  paper: "#ffffff",
  ink: "#22262e",
  soft: "#5b6474",
  line: "#8a94a6",
  pale: "#dfe3ea",
  accent: "#0072b2",
  warn: "#d55e00",
  good: "#00785a",
  marks: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b37a00", "#56b4e9", "#5b6474"],
  scale: ["#cfd8e6", "#a9bcd8", "#7f9fc9", "#4f82b8", "#1f65a0", "#0b4a83", "#06336a", "#041f4a"],
  held: { none: "#eef0f4", toPass: "#f0c75e", done: "#4fabe0" },
};

const DARK: Palette = {
  paper: "#14171c",
  ink: "#e8ebf0",
  soft: "#a3adbd",
  line: "#6f7a8c",
  pale: "#2d333d",
  accent: "#56b4e9",
  warn: "#f28e4b",
  good: "#3fc79a",
  marks: ["#56b4e9", "#f28e4b", "#3fc79a", "#e0a1c6", "#e6b93d", "#8fa8ff", "#a3adbd"],
  scale: ["#2b3547", "#37496a", "#45608f", "#5479b2", "#6694cf", "#84b1e3", "#abcff2", "#dcedfd"],
  held: { none: "#262b34", toPass: "#80621a", done: "#2077b4" },
};

export const palette = (isDark: boolean): Palette => (isDark ? DARK : LIGHT);

// The step of a scale for a part of the most there is, from 0 to 1.
export function scaleStep(colours: Palette, part: number): string {
  const steps = colours.scale.length;
  return colours.scale[Math.max(0, Math.min(steps - 1, Math.ceil(part * steps) - 1))]!;
}

// The one of two colours that is read more easily on a third: "#rrggbb" all.
export function readableOn(ground: string, one: string, other: string): string {
  const on = brightness(ground);
  const contrast = (colour: string) => {
    const [dark, bright] = [on, brightness(colour)].sort((a, b) => a - b) as [number, number];
    return (bright + 0.05) / (dark + 0.05);
  };
  return contrast(one) >= contrast(other) ? one : other;
}

// The relative luminance of WCAG.
function brightness(colour: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const part = parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
