// Dark or light: as the system says, or the notebook around it, unless somebody chose. Paper is light.
import { useEffect, useState } from "preact/hooks";
import { palette, type Palette } from "../draw/palette";
import { usePart } from "../model/route";
import { usePrinting } from "./printing";

const system = window.matchMedia("(prefers-color-scheme: dark)");

// What JupyterLab notes of its own theme on its page; undefined elsewhere.
const isLightNotebook = (): string | undefined => document.body.dataset["jpThemeLight"];

export function useTheme(): { isDark: boolean; toggle: () => void; colours: Palette } {
  const [chosen, choose] = usePart("theme", "");
  const [, redraw] = useState(0);
  useEffect(() => {
    const listen = () => redraw((count) => count + 1);
    system.addEventListener("change", listen);
    return () => system.removeEventListener("change", listen);
  }, []);
  const usual = isLightNotebook() === undefined ? system.matches : isLightNotebook() === "false";
  const isDark = !usePrinting() && (chosen ? chosen === "dark" : usual);
  return { isDark, toggle: () => choose(isDark ? "light" : "dark"), colours: palette(isDark) };
}
