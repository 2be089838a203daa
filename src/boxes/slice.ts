/** Boxes: Linux machines with the company's code, in which AI workers work. */
import { BOX, SLOTS } from "../../domain/boxes/aggregates.ts"
import { boxes as boxRows, countBoxes } from "../../projections/boxes/boxes.ts"
import { previews } from "../../projections/boxes/previews.ts"
import type { Measure } from "../frame/http/metrics.ts"
import type { Slice } from "../frame/slice.ts"
import { boxEvents } from "./activity.ts"
import { boxKeeper } from "./leases.ts"
import { boxOperations } from "./operate/boxes.ts"
import { previewDoor } from "./preview-door.ts"
import { boxHostProvider, examineBoxes } from "./providers/boxhost.ts"
import { clearBox, clearSlot, stopBoxes } from "./reactions/end-box.ts"
import { tickBox } from "./reactions/tick-box.ts"
import { boxDetail, boxList, deleteBox, stopBox } from "./see-boxes.ts"
import { boxSettings } from "./settings.ts"
import { startBox } from "./start-box.ts"
import { processList, processLogs, runCommand, startProcess, stopProcess } from "./work/commands.ts"
import { fileDelete, fileList, fileRead, fileWrite } from "./work/files.ts"
import { closePreview, openPreview } from "./work/previews.ts"
import { pushBox } from "./work/push.ts"

const boxMeasure: Measure = {
  name: "ledger_boxes",
  help: "Boxes by how far they have come; deleted ones are left out.",
  labels: ["status"],
  read: async ({ readAll }) =>
    (await countBoxes(readAll)).map(({ status, count }) => ({ labels: { status }, value: count })),
}

const orphanMeasure: Measure = {
  name: "ledger_box_orphans_total",
  help: "Boxes that ran on though they had ended, or that nobody knew, and were ended.",
  isCount: true,
  read: async ({ counts }) => counts.read("orphans"),
}

const startMeasures: readonly Measure[] = [
  {
    name: "ledger_box_starts_total",
    help: "Boxes that were to be made, by what came of it.",
    labels: ["result"],
    isCount: true,
    read: async ({ counts }) => counts.read("box_starts"),
  },
  {
    name: "ledger_box_start_seconds_total",
    help: "How long the starts took together whose box ran, from the call on.",
    isCount: true,
    read: async ({ counts }) => counts.read("box_start_seconds"),
  },
]

/** AI worker boxes. */
export const boxes: Slice = {
  name: "boxes",
  streams: { ofCompanies: [BOX, SLOTS] },
  groups: {
    boxes: `AI worker boxes: Linux machines that hold the company's repository at \`/workspace/repo\`, for a person's own key.

A box is charged by the started minute, the first with its start, each through the spending limits and the check of the
key that started it; a minute that is refused stops it. Start one, ask until its \`status\` is \`running\`, work in it, push
what is to stay, and stop it: its files are gone then. The same functions are tools of the MCP server.`,
  },
  routes: [
    boxList,
    startBox,
    boxDetail,
    deleteBox,
    boxEvents,
    runCommand,
    startProcess,
    processList,
    processLogs,
    stopProcess,
    fileList,
    fileRead,
    fileWrite,
    fileDelete,
    openPreview,
    closePreview,
    pushBox,
    stopBox,
  ],
  readModels: [boxRows, previews],
  reactions: [tickBox, clearBox, clearSlot, stopBoxes],
  settings: [boxSettings],
  providers: [boxHostProvider],
  doors: (ports) => [previewDoor(ports)],
  daemons: [boxKeeper],
  examine: examineBoxes,
  operations: boxOperations,
  topics: { box: "AI worker boxes" },
  measures: [boxMeasure, orphanMeasure, ...startMeasures],
}
