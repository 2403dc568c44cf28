// Asking the server behind a live page (src/linkstep/explorer/serving.py): a question is a job, which reports its
// progress as server-sent events and ends in a document, or in a line that says what is wrong.
import { unpack, type Document } from "./document";

export interface Question {
  ask: string;
  [name: string]: unknown;
}

export interface Progress {
  label: string;
  done: number;
  total: number | null;
}

export interface Job {
  answer: Promise<Document>;
  stop: () => void;
}

export class Stopped extends Error {}

export interface Live {
  ask: (question: Question, onProgress: (progress: Progress) => void) => Job;
}

async function failure(response: Response): Promise<Error> {
  const text = await response.text();
  try {
    return new Error(JSON.parse(text).error ?? text);
  } catch {
    return new Error(text || `the server answered ${response.status}`);
  }
}

export const live: Live = {
  ask(question, onProgress) {
    let job: string | null = null;
    let events: EventSource | null = null;
    let end: (error: Error) => void = () => {};
    const answer = (async () => {
      const begun = await fetch("api/ask", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(question),
      }).catch(() => {
        throw new Error("the server is gone: start `linkstep explore` again");
      });
      if (!begun.ok) throw await failure(begun);
      job = (await begun.json()).job as string;
      await new Promise<void>((done, failed) => {
        end = failed;
        events = new EventSource(`api/jobs/${job}/events`);
        events.addEventListener("progress", (event) => onProgress(JSON.parse((event as MessageEvent).data)));
        events.addEventListener("done", () => done());
        events.addEventListener("failed", (event) => failed(new Error(JSON.parse((event as MessageEvent).data).error)));
        events.onerror = () => failed(new Error("the server is gone: start `linkstep explore` again"));
      }).finally(() => events?.close());
      const result = await fetch(`api/jobs/${job}/result`);
      if (!result.ok) throw await failure(result);
      return unpack(new Uint8Array(await result.arrayBuffer()));
    })();
    const stop = () => {
      end(new Stopped("stopped"));
      if (job !== null) void fetch(`api/jobs/${job}/stop`, { method: "POST" }).catch(() => {});
    };
    return { answer, stop };
  },
};
