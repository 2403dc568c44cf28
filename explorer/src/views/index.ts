// The views, in the order of their tabs.
import { CABLING } from "./cabling";
import { CHOOSE } from "./choose";
import { FILE } from "./file";
import { RUNS } from "./runs";
import { SCHEDULE } from "./schedule";
import { TIME } from "./time";
import type { ViewRow } from "./view";
import { WIRING } from "./wiring";

export const VIEWS: ViewRow[] = [CHOOSE, WIRING, SCHEDULE, FILE, TIME, CABLING, RUNS];
