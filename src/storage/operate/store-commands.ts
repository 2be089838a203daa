/** Commands that move a whole installation, or keep it for such a move. */
import { z } from "zod"
import type { AuditReport } from "../../audit/operate/audit.ts"
import { renderAuditReport } from "../../audit/operate/audit.ts"
import { maintenanceCommand } from "../../frame/operator/commands.ts"
import type { OutputPage } from "../../frame/operator/cli/render.ts"
import { renderFields } from "../../frame/operator/cli/render.ts"
import type { LeftOutStream } from "../write-backup.ts"
import { renderLeftOut } from "../write-backup.ts"

/** Says in help what becomes of corrupt streams. */
export const LEFT_OUT_NOTE =
  "leftOut: the corrupt streams. What is not proven of them is left out, they stay held back, and the exit code is 1."

/** What was copied into another event store. */
export interface MigrationResult {
  readonly ok: boolean
  /** The address of the store, masked, or `database`. */
  readonly to: string
  readonly events: number
  readonly streams: number
  /** So many of the events were there from a copy that had been cut short, or from before. */
  readonly alreadyThere: number
  /** The corrupt streams, and how many events of each are not in the other store. */
  readonly leftOut: readonly LeftOutStream[]
  readonly audit: AuditReport
}

const copyStore = maintenanceCommand<MigrationResult>({
  name: "store migrate",
  summary: "move all events into another event store, and the installation with them",
  notes: [
    "Every hash is checked on the way, and in the end both stores are compared event by event.",
    LEFT_OUT_NOTE,
    "The other store must be empty, or hold the first of these events: a copy that was cut short goes on.",
    "Stop every server first. Afterwards start with LEDGER_EVENTSTORE_URL set to the other store: the database " +
      "remembers it, and refuses to start with the old one.",
    'The old store keeps what it has. "--to database" moves back, with LEDGER_EVENTSTORE_URL set to where the events are.',
    "The user in the URL may have to read $all and write all streams.",
  ],
  example: "store migrate --to esdb://admin:changeit@localhost:2113?tls=false",
  input: z.object({
    to: z.string().meta({
      description: 'where to: esdb://host:2113, esdb+discover://host:2113, or "database"',
      takes: "url",
      form: "store-address",
    }),
  }),
  render: ({ to, events, streams, alreadyThere, leftOut, audit }, page) => {
    const setting =
      to === "database" ? "LEDGER_EVENTSTORE_URL unset" : `LEDGER_EVENTSTORE_URL=${to}`
    return (
      renderFields(Object.entries({ to, events, streams, alreadyThere })) +
      renderLeftOut(leftOut, page) +
      renderAudit(audit, page) +
      `From now on start with ${setting}.\n`
    )
  },
})

/** What was restored from a backup. */
export interface RestoreResult {
  readonly ok: boolean
  readonly file: string
  readonly events: number
  readonly rows: number
  /** So many of the events were there from a restore that had been cut short. */
  readonly alreadyThere: number
  /** The corrupt streams, and how many of their events in the file were not restored. */
  readonly leftOut: readonly LeftOutStream[]
  readonly checksum: string
  readonly audit: AuditReport
}

const restore = maintenanceCommand<RestoreResult>({
  name: "restore",
  summary: "restore a backup into an empty installation",
  notes: [
    "The installation is that of the settings: LEDGER_DATA_DIR, DATABASE_URL, LEDGER_EVENTSTORE_URL. It must " +
      "be empty, its event store as well; a backup of either kind of event store fits both.",
    "The whole file is checked before anything is written. A restore that was cut short goes on with " +
      "the same file, and until then nothing can be started there.",
    "Where the master key was kept outside, LEDGER_MASTER_KEY must be set as it was.",
    LEFT_OUT_NOTE,
  ],
  example: "restore ledger-2026-11-30.backup",
  input: z.object({
    file: z.string().meta({ description: "the backup", argument: "FILE", form: "text" }),
  }),
  render: ({ file, events, rows, alreadyThere, leftOut, audit }, page) =>
    renderFields(Object.entries({ file, events, rows, alreadyThere })) +
    renderLeftOut(leftOut, page) +
    renderAudit(audit, page),
})

/** The audit that a move or a backup ended in. */
export function renderAudit(audit: AuditReport, page: OutputPage): string {
  return `\n${renderAuditReport(audit, page)}\n`
}

/** Commands that move a whole installation. */
export const storeCommands = { copyStore, restore } as const

/** What became of the settings of a stream. */
export interface SettingsRepair {
  /** Whether the stream shows its first event by now. */
  readonly ok: boolean
  readonly stream: string
  /** The settings that hide events, by name, each as it was written. */
  readonly hiding: Readonly<Record<string, string>>
  readonly isRemoved: boolean
  /** The first revision that the stream shows; null where it shows none. */
  readonly firstRevision: number | null
}

/** It needs no installation: where a stream that every start reads is hidden, none can be opened. */
export const repairSettingsCommand = maintenanceCommand<SettingsRepair>({
  name: "store repair-settings",
  summary: "show again the events that a stream's settings hide in EventStoreDB",
  notes: [
    "Removes $maxCount, $maxAge and $tb from the stream's settings; other settings, such as $acl, stay.",
    "It works on the server of LEDGER_EVENTSTORE_URL, also next to a running ledger, which finds the stream whole " +
      "within ten seconds and takes commands on it again.",
    '"projections status" lists the streams that are held back: such a stream needs "store release" as well.',
    "Exit code 1 where the stream still does not begin with its first event: a scavenge has removed it, and " +
      "only a backup has it.",
  ],
  example: "store repair-settings prices",
  canRunWithServer: true,
  input: z.object({
    stream: z.string().meta({ description: "the stream", argument: "STREAM", form: "text" }),
    show: z.boolean().default(false).meta({ description: "show the settings, and change nothing" }),
  }),
  render: ({ ok, stream, hiding, isRemoved, firstRevision }) => {
    const settings = Object.entries(hiding)
    const hides = settings.map(([name, value]) => `${name} ${value}`).join(", ")
    const rows = [
      ["stream", stream],
      ["hiddenBy", hides === "" ? "nothing" : hides],
      ["removed", isRemoved],
      ["firstRevision", firstRevision],
    ] as const
    return `${renderFields(rows)}${repairAdvice({ ok, stream, isRemoved, hides })}\n`
  },
})

interface RepairFinding {
  readonly ok: boolean
  readonly stream: string
  readonly isRemoved: boolean
  readonly hides: string
}

function repairAdvice(found: RepairFinding): string {
  if (found.ok) {
    const release = `Where "projections status" still lists it, give "store release ${found.stream}".`
    return `The stream begins with its first event. ${release}`
  }
  if (found.hides !== "" && !found.isRemoved)
    return "Give the command without --show to remove them."
  return "The first events are gone from the event store: restore them from a backup."
}
