// Dark or light: as the system says, or the notebook around it, unless somebody chose.
import { useEffect, useState } from "preact/hooks";
import { palette, type Palette } from "../draw/palette";
import { usePart } from "../model/route";

const system = window.matchMedia("(prefers-color-scheme: dark)");
const print = window.matchMedia("print");

// What JupyterLab notes of its own theme on its page; undefined elsewhere.
const isLightNotebook = (): string | undefined => document.body.dataset["jpThemeLight"];

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
  const isDark = !print.matches && (chosen ? chosen === "dark" : isLightNotebook() !== undefined ? isLightNotebook() === "false" : system.matches);
  return { isDark, toggle: () => choose(isDark ? "light" : "dark"), colours: palette(isDark) };
}
