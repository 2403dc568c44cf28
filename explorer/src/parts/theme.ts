// Dark or light: as the system says, unless somebody chose.
import { useEffect, useState } from "preact/hooks";
import { palette, type Palette } from "../draw/palette";
import { usePart } from "../model/route";

const system = window.matchMedia("(prefers-color-scheme: dark)");
const print = window.matchMedia("print");

export function useTheme(): { isDark: boolean; toggle: () => void; colours: Palette } {
  const [chosen, choose] = usePart("theme", "");
  const [, redraw] = useState(0);
  useEffect(() => {
    const listen = () => redraw((count) => count + 1);
    for (const one of [system, print]) one.addEventListener("change", listen);
    return () => {
      for (const one of [system, print]) one.removeEventListener("change", listen);
    };
  }, []);
  const isDark = !print.matches && (chosen ? chosen === "dark" : system.matches);
  return { isDark, toggle: () => choose(isDark ? "light" : "dark"), colours: palette(isDark) };
}
