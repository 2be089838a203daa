/** Boxes: Linux machines with the company's code, in which AI workers work. */
import { BOX_AGGREGATE, BOX_SLOTS_AGGREGATE } from "../../domain/boxes/aggregates.ts"
import { boxesReadModel as boxRows, countBoxes } from "../../projections/boxes/boxes.ts"
import { previewsReadModel } from "../../projections/boxes/previews.ts"
import type { Metric } from "../frame/http/metrics.ts"
import type { Slice } from "../frame/slice.ts"
import { boxEvents } from "./activity.ts"
import { boxLeaseRenewal } from "./box-leases.ts"
import { boxOperations } from "./operate/boxes.ts"
import { boxPreviewHostRoute } from "./preview-host-route.ts"
import { boxHostProvider, examineBoxes } from "./providers/box-host.ts"
import { endBoxMachine, releaseBoxSlot, stopCompanyBoxes } from "./reactions/end-box.ts"
import { chargeBoxMinutes } from "./reactions/charge-box-minutes.ts"
import { boxDetail, boxList, deleteBox, stopBox } from "./box-routes.ts"
import { boxSettings } from "./settings.ts"
import { startBox } from "./start-box.ts"
import {
  processList,
  processLogs,
  runCommand,
  startProcess,
  stopProcess,
} from "./routes/commands.ts"
import { fileDelete, fileList, fileRead, fileWrite } from "./routes/files.ts"
import { closePreview, openPreview } from "./routes/previews.ts"
import { pushBox } from "./routes/push.ts"

const boxMetric: Metric = {
  name: "ledger_boxes",
  help: "Boxes by status, without deleted ones.",
  labels: ["status"],
  read: async ({ readAll }) =>
    (await countBoxes(readAll)).map(({ status, count }) => ({ labels: { status }, value: count })),
}

const orphanMetric: Metric = {
  name: "ledger_box_orphans_total",
  help: "Machines that were ended because their box had ended or was unknown.",
  isCounter: true,
  read: async ({ counters }) => counters.read("orphans"),
}

const startMetrics: readonly Metric[] = [
  {
    name: "ledger_box_starts_total",
    help: "Box starts by result.",
    labels: ["result"],
    isCounter: true,
    read: async ({ counters }) => counters.read("box_starts"),
  },
  {
    name: "ledger_box_start_seconds_total",
    help: "Total time from the request to a running box, in seconds.",
    isCounter: true,
    read: async ({ counters }) => counters.read("box_start_seconds"),
  },
]

/** AI worker boxes. */
export const boxesSlice: Slice = {
  name: "boxes",
  streams: { perCompany: [BOX_AGGREGATE, BOX_SLOTS_AGGREGATE] },
  groups: {
    boxes: `AI worker boxes: Linux machines that hold the company's repository at \`/workspace/repo\`, for a person's own key.

A box is charged by the started minute. Each minute, the first at the start, passes the spending limits and the check of
the key that started the box; a refused minute stops it. Start a box, read it until its \`status\` is \`running\`, work in
it, push the changes to keep, and stop it: its files are then lost. The MCP server has the same functions as tools.`,
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
  readModels: [boxRows, previewsReadModel],
  reactions: [chargeBoxMinutes, endBoxMachine, releaseBoxSlot, stopCompanyBoxes],
  settings: [boxSettings],
  providers: [boxHostProvider],
  hostRoutes: (ports) => [boxPreviewHostRoute(ports)],
  daemons: [boxLeaseRenewal],
  doctorCheck: examineBoxes,
  commands: boxOperations,
  topics: { box: "AI worker boxes" },
  metrics: [boxMetric, orphanMetric, ...startMetrics],
}
