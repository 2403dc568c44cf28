// The export buttons of a view: its picture as SVG or PNG, its data as JSON.
import { fileName, saveJson, savePng, saveText } from "./save";

export interface Drawing {
  svg: string;
  width: number;
  height: number;
}

export function SaveMenu({ name, drawing, data }: { name: string; drawing?: () => Drawing | null; data: unknown }) {
  const withDrawing = (save: (made: Drawing) => void) => () => {
    const made = drawing?.();
    if (made) save(made);
  };
  return (
    <span class="save" role="group" aria-label={`Save ${name}`}>
      {drawing && (
        <button type="button" onClick={withDrawing((made) => saveText(made.svg, fileName(name, "svg"), "image/svg+xml"))}>
          SVG
        </button>
      )}
      {drawing && (
        <button type="button" onClick={withDrawing((made) => void savePng(made.svg, made.width, made.height, fileName(name, "png")))}>
          PNG
        </button>
      )}
      <button type="button" onClick={() => saveJson(data, fileName(name, "json"))}>
        JSON
      </button>
    </span>
  );
}
