// The rows of a timeline from the top: groups that are closed as one row of their activity, open ones with a row for
// each track of their lanes. A filter leaves the lanes that have a text in their name or their group's.
import type { TimeModel } from "./model";

// How high a row is, in pixels: few have more.
const heights = (count: number): number => (count <= 8 ? 40 : count <= 16 ? 28 : 18);

export interface Row {
  group: number;
  lane: number; // -1 in a group's own row
  track: number;
  lanes: number[]; // of a closed group, to be shown as one
}

export interface Rows {
  list: Row[];
  high: number; // of each, in pixels
  lanes: number[]; // all that pass the filter
  rowOfTrack: Int32Array; // the row that shows a track, or its closed group; -1: none
  isOpen: (group: number) => boolean;
}

// "all", "none" or the numbers of groups that are not as usual: "3.17".
export function openGroups(text: string, usual: boolean): (group: number) => boolean {
  if (text === "all") return () => true;
  if (text === "none") return () => false;
  const others = new Set(text.split(".").filter(Boolean).map(Number));
  return (group) => usual !== others.has(group);
}

export function toggled(text: string, group: number, groups: number, usual: boolean): string {
  const isOpen = openGroups(text, usual);
  const others = Array.from({ length: groups }, (_, k) => k).filter((k) => (k === group ? !isOpen(k) : isOpen(k)) !== usual);
  return others.join(".");
}

export function rowsOf(model: TimeModel, open: (group: number) => boolean, filter: string): Rows {
  const { data } = model;
  const wanted = filter.trim().toLowerCase();
  const list: Row[] = [];
  const lanes: number[] = [];
  const rowOfTrack = new Int32Array(model.trackLane.length).fill(-1);
  const isOpen = (group: number) => wanted !== "" || open(group) || model.groupLanes[group]!.length < 2;
  data.groups.forEach((name, group) => {
    const isWhole = !wanted || name.toLowerCase().includes(wanted);
    const found = model.groupLanes[group]!.filter((lane) => isWhole || model.laneName(lane).toLowerCase().includes(wanted));
    if (!found.length) return;
    lanes.push(...found);
    const isShown = isOpen(group);
    if (model.groupLanes[group]!.length > 1) list.push({ group, lane: -1, track: -1, lanes: isShown ? [] : found });
    for (const lane of found) {
      for (let track = model.laneTrack[lane]!; track < model.laneTrack[lane + 1]!; track++) {
        if (isShown) list.push({ group, lane, track, lanes: [] });
        rowOfTrack[track] = list.length - 1;
      }
    }
  });
  return { list, high: heights(list.length), lanes, rowOfTrack, isOpen };
}
