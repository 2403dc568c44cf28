// The page around the views: title, tabs, theme, and on a live page the asking and waiting.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Document, Panel } from "./model/document";
import { Stopped, type Job, type Live, type Progress, type Question } from "./model/live";
import { go, useRoute } from "./model/route";
import { useTheme } from "./parts/theme";
import { VIEWS } from "./views";
import { pricing, type ViewRow } from "./views/view";

// A page that holds its document: a tab for each panel.
export function ReportPage({ shown }: { shown: Document }) {
  const route = useRoute();
  const at = chosen(route, shown.panels);
  const tabs = shown.panels.map((one, k) => ({
    key: String(k),
    title: tabTitle(one, shown.panels),
    isOpen: k === at,
    open: () => go({ panel: k ? String(k) : null }, true),
  }));
  return (
    <Frame title={shown.title} tabs={tabs}>
      <Shown panels={shown.panels} at={at} />
    </Frame>
  );
}

function tabTitle(panel: Panel, all: Panel[]): string {
  const row = VIEWS.find((one) => one.kind === panel.kind);
  const several = all.filter((one) => one.kind === panel.kind).length > 1;
  return several ? panel.title : (row?.title ?? panel.title);
}

// A page that asks its server: a tab for each view, and one for a file that was opened with it.
export function LivePage({ live }: { live: Live }) {
  const route = useRoute();
  const opened = route["open"];
  const row = VIEWS.find((one) => one.kind === route["view"]) ?? (opened ? null : VIEWS[0]!);
  const tabs = VIEWS.map((one) => ({
    key: one.kind,
    title: one.title,
    isOpen: one === row,
    open: () => go({ view: one.kind }, true),
  }));
  if (opened) tabs.unshift({ key: "", title: opened, isOpen: !row, open: () => go({ view: null }, true) });
  return (
    <Frame title={row ? (row.kind !== "choose" && route["what"]) || "linkstep" : opened!} tabs={tabs}>
      {row ? <AskedView key={row.kind} row={row} live={live} /> : <Opened what={opened!} live={live} />}
    </Frame>
  );
}

interface Wait {
  key: string;
  job: Job;
  progress: Progress | null;
}

interface Answer {
  key: string;
  document: Document;
}

// A question's answer, the last one there was while it is worked on, and what is to be said meanwhile.
interface Asked {
  key: string;
  last: Answer | null;
  status: preact.ComponentChild;
  hasFailed: boolean;
}

function useAnswer(live: Live, question: Question | null): Asked {
  const key = JSON.stringify(question);
  const known = useRef(new Map<string, Document>());
  const [last, setLast] = useState<Answer | null>(null);
  const [wait, setWait] = useState<Wait | null>(null);
  const [error, setError] = useState<{ key: string; text: string } | null>(null);

  useEffect(() => {
    setError(null);
    if (!question) return;
    const found = known.current.get(key);
    if (found) {
      setLast({ key, document: found });
      return;
    }
    let isCurrent = true;
    const job = live.ask(question, (progress) => isCurrent && setWait({ key, job, progress }));
    setWait({ key, job, progress: null });
    job.answer
      .then((document) => {
        known.current.set(key, document);
        if (isCurrent) setLast({ key, document });
      })
      .catch((problem: Error) => {
        const text = problem instanceof Stopped ? "Stopped." : problem.message;
        if (isCurrent) setError({ key, text });
      })
      .finally(() => isCurrent && setWait(null));
    return () => {
      isCurrent = false;
      job.stop();
      setWait(null);
    };
  }, [key]);

  const status = (
    <>
      {wait && <Waiting wait={wait} />}
      {error && error.key === key && (
        <p class="error" role="alert">
          {error.text}
        </p>
      )}
    </>
  );
  return { key, last, status, hasFailed: error?.key === key };
}

function AskedView({ row, live }: { row: ViewRow; live: Live }) {
  const question = row.question(useRoute());
  const { key, last, status, hasFailed } = useAnswer(live, question);
  const panel = last?.document.panels.find((one) => one.kind === row.kind);
  return (
    <>
      {status}
      {(!question || (hasFailed && !last)) && row.Empty && <row.Empty />}
      {question && last && (
        <div class={last.key === key ? "" : "stale"}>
          {panel ? <row.View panel={panel} isLive /> : <p class="hint">The answer has nothing to show here.</p>}
        </div>
      )}
    </>
  );
}

// A file of any kind that the page was opened with: its panels, as a report has them.
function Opened({ what, live }: { what: string; live: Live }) {
  const route = useRoute();
  const { last, status } = useAnswer(live, { ask: "document", what, ...pricing(route) });
  const panels = last?.document.panels ?? [];
  const at = chosen(route, panels);
  return (
    <>
      {status}
      {panels.length > 1 && (
        <nav aria-label="Panels">
          {panels.map((one, k) => (
            <button key={k} type="button" aria-current={k === at ? "page" : undefined} onClick={() => go({ panel: k ? String(k) : null }, true)}>
              {tabTitle(one, panels)}
            </button>
          ))}
        </nav>
      )}
      <Shown panels={panels} at={at} />
    </>
  );
}

const chosen = (route: Record<string, string>, panels: Panel[]): number =>
  Math.min(Math.max(0, Number(route["panel"] ?? 0) || 0), panels.length - 1);

function Shown({ panels, at }: { panels: Panel[]; at: number }) {
  const panel = panels[at];
  const row = VIEWS.find((one) => one.kind === panel?.kind);
  if (!panel) return null;
  return row ? <row.View key={at} panel={panel} isLive={false} /> : <p class="hint">There is no view of {panel.title} here.</p>;
}

function Waiting({ wait }: { wait: Wait }) {
  const { progress } = wait;
  return (
    <div class="waiting" role="status">
      <span>{progress ? progress.label : "Working"} {"\u2026"}</span>
      <progress {...(progress?.total ? { max: progress.total, value: progress.done } : {})} aria-label="progress" />
      <button type="button" onClick={wait.job.stop}>
        Stop
      </button>
    </div>
  );
}

interface Tab {
  key: string;
  title: string;
  isOpen: boolean;
  open: () => void;
}

function Frame({ title, tabs, children }: { title: string; tabs: Tab[]; children: preact.ComponentChildren }) {
  const theme = useTheme();
  const head = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    head.current?.closest(".linkstep")?.setAttribute("data-theme", theme.isDark ? "dark" : "light");
  }, [theme.isDark]);
  return (
    <>
      <header ref={head}>
        <h1>{title}</h1>
        {tabs.length > 1 && (
          <nav aria-label="Views">
            {tabs.map((tab) => (
              <button key={tab.key} type="button" aria-current={tab.isOpen ? "page" : undefined} onClick={tab.open}>
                {tab.title}
              </button>
            ))}
          </nav>
        )}
        <button type="button" class="theme" onClick={theme.toggle} aria-label={theme.isDark ? "Light page" : "Dark page"}>
          {theme.isDark ? "\u2600" : "\u263e"}
        </button>
      </header>
      <main>{children}</main>
    </>
  );
}
