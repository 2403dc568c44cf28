// What is shown, kept in the URL's hash, so that a link shows the same again. Where a page has no URL of its own
// (a notebook's widget) it is kept here.
import { useEffect, useState } from "preact/hooks";

type Route = Record<string, string>;

const listeners = new Set<() => void>();
let isOwner = true;
let own: Route = {};

export function keepRouteHere(): void {
  isOwner = false;
}

export function route(): Route {
  return isOwner ? Object.fromEntries(new URLSearchParams(location.hash.slice(1))) : own;
}

// Change parts of what is shown; null takes a part away. ``isStep`` adds a step to the browser's history.
export function go(change: Record<string, string | null>, isStep = false): void {
  const next = { ...route(), ...change };
  const kept = Object.fromEntries(Object.entries(next).filter(([, value]) => value !== null)) as Route;
  if (!isOwner) own = kept;
  else {
    const hash = `#${new URLSearchParams(kept)}`;
    if (isStep) history.pushState(null, "", hash);
    else history.replaceState(null, "", hash);
  }
  for (const listener of listeners) listener();
}

export function useRoute(): Route {
  const [, redraw] = useState(0);
  useEffect(() => {
    const listen = () => redraw((count) => count + 1);
    listeners.add(listen);
    window.addEventListener("hashchange", listen);
    window.addEventListener("popstate", listen);
    return () => {
      listeners.delete(listen);
      window.removeEventListener("hashchange", listen);
      window.removeEventListener("popstate", listen);
    };
  }, []);
  return route();
}

// A part of what is shown, with what it is where nobody said: not written then.
export function usePart(name: string, usual: string): [string, (value: string) => void] {
  const value = useRoute()[name] ?? usual;
  return [value, (next) => go({ [name]: next === usual ? null : next })];
}
