// The page around the views: title, tabs, theme, and on a live page the asking and waiting.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Document, Panel } from "./model/document";
import { Stopped, type Job, type Live, type Progress } from "./model/live";
import { go, useRoute } from "./model/route";
import { useTheme } from "./parts/theme";
import { VIEWS } from "./views";
import type { ViewRow } from "./views/view";

// A page that holds its document: a tab for each panel.
export function ReportPage({ shown }: { shown: Document }) {
  const route = useRoute();
  const at = Math.min(Math.max(0, Number(route["panel"] ?? 0) || 0), shown.panels.length - 1);
  const panel = shown.panels[at];
  const row = VIEWS.find((one) => one.kind === panel?.kind);
  const tabs = shown.panels.map((one, k) => ({
    key: String(k),
    title: tabTitle(one, shown.panels),
    isOpen: k === at,
    open: () => go({ panel: k ? String(k) : null }, true),
  }));
  return (
    <Frame title={shown.title} tabs={tabs}>
      {panel && row ? <row.View key={at} panel={panel} isLive={false} /> : <p class="hint">There is nothing in this page.</p>}
    </Frame>
  );
}

function tabTitle(panel: Panel, all: Panel[]): string {
  const row = VIEWS.find((one) => one.kind === panel.kind);
  const several = all.filter((one) => one.kind === panel.kind).length > 1;
  return several ? panel.title : (row?.title ?? panel.title);
}

// A page that asks its server: a tab for each view.
export function LivePage({ live }: { live: Live }) {
  const route = useRoute();
  const row = VIEWS.find((one) => one.kind === route["view"]) ?? VIEWS[0]!;
  const tabs = VIEWS.map((one) => ({
    key: one.kind,
    title: one.title,
    isOpen: one === row,
    open: () => go({ view: one.kind }, true),
  }));
  return (
    <Frame title={route["what"] ?? "linkstep"} tabs={tabs}>
      <Asked key={row.kind} row={row} live={live} />
    </Frame>
  );
}

interface Wait {
  key: string;
  job: Job;
  progress: Progress | null;
}

function Asked({ row, live }: { row: ViewRow; live: Live }) {
  const question = row.question(useRoute());
  const key = JSON.stringify(question);
  const known = useRef(new Map<string, Panel>());
  const [last, setLast] = useState<{ key: string; panel: Panel } | null>(null);
  const [wait, setWait] = useState<Wait | null>(null);
  const [error, setError] = useState<{ key: string; text: string } | null>(null);

  useEffect(() => {
    setError(null);
    if (!question) return;
    const found = known.current.get(key);
    if (found) {
      setLast({ key, panel: found });
      return;
    }
    let isCurrent = true;
    const job = live.ask(question, (progress) => isCurrent && setWait({ key, job, progress }));
    setWait({ key, job, progress: null });
    job.answer
      .then((made) => {
        const panel = made.panels.find((one) => one.kind === row.kind) ?? made.panels[0];
        if (!panel) throw new Error("the server's answer is empty");
        known.current.set(key, panel);
        if (isCurrent) setLast({ key, panel });
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

  return (
    <>
      {wait && <Waiting wait={wait} />}
      {error && error.key === key && (
        <p class="error" role="alert">
          {error.text}
        </p>
      )}
      {!question && row.Empty && <row.Empty />}
      {question && last && (
        <div class={last.key === key ? "" : "stale"}>
          <row.View panel={last.panel} isLive />
        </div>
      )}
    </>
  );
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
  useLayoutEffect(() => {
    document.getElementById("linkstep")?.setAttribute("data-theme", theme.isDark ? "dark" : "light");
  }, [theme.isDark]);
  return (
    <>
      <header>
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
