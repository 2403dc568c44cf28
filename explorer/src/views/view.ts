// What a view is: a row of the table in ``index.ts``.
import type { ComponentType } from "preact";
import type { Panel } from "../model/document";
import type { Question } from "../model/live";

export interface ViewProps<Data> {
  panel: Panel<Data>;
  isLive: boolean; // whether a server can be asked for more
}

export interface ViewRow {
  kind: string; // of the panels it shows
  title: string; // its tab
  // Data are what the panel of this kind has, by the Python module of the same name in explorer/panels.
  View: ComponentType<ViewProps<any>>;
  // What a live page asks for it, by the parts of its URL; null where they do not say enough. ``Empty`` is shown then.
  question: (route: Record<string, string>) => Question | null;
  Empty?: ComponentType;
}

// The parts of the URL that say for which data and fabric times are.
export const pricing = (route: Record<string, string>): Record<string, string | undefined> => ({
  size: route["size"],
  alpha: route["alpha"],
  bandwidth: route["bandwidth"],
});

// Faults of the URL: "cut=a,b;c,d&down=x" as the command's options write them.
export function faults(route: Record<string, string>): { kind: string; text: string }[] {
  return ["cut", "down"].flatMap((kind) => (route[kind] ?? "").split(";").filter(Boolean).map((text) => ({ kind, text })));
}
