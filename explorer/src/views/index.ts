// The views, in the order of their tabs.
import { CHOOSE } from "./choose";
import type { ViewRow } from "./view";
import { CABLING } from "./cabling";
import { FILE } from "./file";
import { SCHEDULE } from "./schedule";
import { WIRING } from "./wiring";

export const VIEWS: ViewRow[] = [CHOOSE, WIRING, SCHEDULE, FILE, CABLING];
