// Where files come in: dropped, chosen or pasted. A file is text of at most as much as the server takes.
import { useState } from "preact/hooks";
import { hold } from "../../model/held";
import { go } from "../../model/route";
import { sizeText } from "../../model/words";

const MOST = 8 * 2 ** 20; // bytes of a question, as src/linkstep/explorer/serving.py takes
const ROOM = 4096; // of these for all but the text

export function Drop({ isSmall }: { isSmall?: boolean }) {
  const [problem, setProblem] = useState("");
  const [isOver, setOver] = useState(false);
  const [pasted, setPasted] = useState("");

  const tooLong = (name: string) => setProblem(`${name} is too long for a page, which takes ${sizeText(MOST, true)}: linkstep verify takes more.`);
  const show = (name: string, text: string) => {
    if (new Blob([JSON.stringify(text)]).size > MOST - ROOM) return tooLong(name);
    setProblem("");
    go({ file: hold(name, text), mark: null, at: null }, true);
  };
  const read = async (file: File | undefined) => {
    if (!file) return setProblem("That is no file.");
    if (file.size > MOST) return tooLong(file.name);
    try {
      show(file.name, new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer()));
    } catch {
      setProblem(`${file.name} cannot be read as text in UTF-8: it is no runtime's file.`);
    }
  };

  return (
    <div
      class={`drop${isOver ? " over" : ""}${isSmall ? " small" : ""}`}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        void read(event.dataTransfer?.files[0]);
      }}
    >
      {!isSmall && <h2>Is this file right?</h2>}
      <p>{isSmall ? "Another file: drop it here, or" : "Drop an MSCCL XML, an MSCCL++ JSON or a CPU XML here, of linkstep's or of any other tool's, or"}</p>
      <label>
        choose it
        <input
          type="file"
          accept=".xml,.json,.txt,text/xml,application/json"
          onChange={(event) => {
            void read(event.currentTarget.files?.[0]);
            event.currentTarget.value = "";
          }}
        />
      </label>
      <details>
        <summary>or paste its text</summary>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (pasted.trim()) show("pasted text", pasted);
            else setProblem("There is no text to read.");
          }}
        >
          <label class="paste">
            Text of the file
            <textarea rows={6} spellcheck={false} value={pasted} onInput={(event) => setPasted(event.currentTarget.value)} />
          </label>
          <button type="submit">Read it</button>
        </form>
      </details>
      {problem && (
        <p class="error" role="alert">
          {problem}
        </p>
      )}
      {!isSmall && (
        <p class="hint">It is proven right, or you see the rank and the step where it is wrong. It goes to the linkstep explore behind this page, and nowhere else.</p>
      )}
    </div>
  );
}
