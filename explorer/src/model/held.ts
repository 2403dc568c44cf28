// Files that somebody gave to the page. They stay in memory: the URL has only a short name of their content, so that
// the same file, given again, is shown as before.
export interface Held {
  name: string;
  text: string;
}

const files = new Map<string, Held>();

export function hold(name: string, text: string): string {
  let hash = 0x811c9dc5;
  for (let k = 0; k < text.length; k++) hash = Math.imul(hash ^ text.charCodeAt(k), 0x01000193);
  const key = (hash >>> 0).toString(16).padStart(8, "0");
  files.set(key, { name, text });
  return key;
}

export const held = (key: string | undefined): Held | undefined => (key === undefined ? undefined : files.get(key));
