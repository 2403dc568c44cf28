// Dark or light: as the system says, unless somebody chose. Paper is light.
import { useEffect, useState } from "preact/hooks";
import { palette, type Palette } from "../draw/palette";
import { usePart } from "../model/route";
import { usePrinting } from "./printing";

const system = window.matchMedia("(prefers-color-scheme: dark)");

export function useTheme(): { isDark: boolean; toggle: () => void; colours: Palette } {
  const [chosen, choose] = usePart("theme", "");
  const [, redraw] = useState(0);
  useEffect(() => {
    const listen = () => redraw((count) => count + 1);
    system.addEventListener("change", listen);
    return () => system.removeEventListener("change", listen);
  }, []);
  const isDark = !usePrinting() && (chosen ? chosen === "dark" : system.matches);
  return { isDark, toggle: () => choose(isDark ? "light" : "dark"), colours: palette(isDark) };
}
