/** Commands that migrate or restore a whole installation, or repair its event store. */
import { z } from "zod"
import type { AuditReport } from "../../audit/operate/audit.ts"
import { renderAuditReport } from "../../audit/operate/audit.ts"
import { maintenanceCommand } from "../../frame/operator/commands.ts"
import type { OutputPage } from "../../frame/operator/cli/render.ts"
import { renderFields } from "../../frame/operator/cli/render.ts"
import type { LeftOutStream } from "../write-backup.ts"
import { renderLeftOut } from "../write-backup.ts"

/** Help text on corrupt streams. */
export const LEFT_OUT_NOTE =
  "leftOut: the corrupt streams. Their unproven events are not copied, the streams stay held back, and the exit code is 1."

/** Result of a migration to another event store. */
export interface MigrationResult {
  readonly ok: boolean
  /** The address of the store, masked, or `database`. */
  readonly to: string
  readonly events: number
  readonly streams: number
  /** Number of events that the target already had, for example from an interrupted copy. */
  readonly alreadyThere: number
  /** Corrupt streams, each with the number of its events that are not in the target. */
  readonly leftOut: readonly LeftOutStream[]
  readonly audit: AuditReport
}

const copyStore = maintenanceCommand<MigrationResult>({
  name: "store migrate",
  summary: "migrate the installation to another event store",
  notes: [
    "Every hash is checked while copying; at the end both stores are compared event by event.",
    LEFT_OUT_NOTE,
    "The target must be empty, or have the first of these events: an interrupted copy continues.",
    "Stop every server first. Afterwards start with LEDGER_EVENTSTORE_URL set to the target: the database " +
      "remembers it, and rejects the old store.",
    'The old store keeps its events. "--to database" migrates back, with LEDGER_EVENTSTORE_URL set to the current store.',
    "The user in the URL needs permission to read $all and to write all streams.",
  ],
  example: "store migrate --to esdb://admin:changeit@localhost:2113?tls=false",
  input: z.object({
    to: z.string().meta({
      description: 'the target: esdb://host:2113, esdb+discover://host:2113, or "database"',
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

export interface RestoreResult {
  readonly ok: boolean
  readonly file: string
  readonly events: number
  readonly rows: number
  /** Number of events that an interrupted restore had already restored. */
  readonly alreadyThere: number
  /** Corrupt streams, each with the number of its events in the file that were not restored. */
  readonly leftOut: readonly LeftOutStream[]
  readonly checksum: string
  readonly audit: AuditReport
}

const restore = maintenanceCommand<RestoreResult>({
  name: "restore",
  summary: "restore a backup into an empty installation",
  notes: [
    "The settings LEDGER_DATA_DIR, DATABASE_URL and LEDGER_EVENTSTORE_URL name the installation. It must be empty, " +
      "with an empty event store; a backup fits either kind of event store.",
    "The whole file is checked before anything is written. Run an interrupted restore again with the same file; " +
      "until it completes, the installation cannot start.",
    "If the master key was kept outside, set LEDGER_MASTER_KEY to the same key.",
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

/** Renders the audit at the end of a migration or backup. */
export function renderAudit(audit: AuditReport, page: OutputPage): string {
  return `\n${renderAuditReport(audit, page)}\n`
}

/** Commands on a whole installation. */
export const storeCommands = { copyStore, restore } as const

/** Result of a repair of a stream's settings. */
export interface SettingsRepair {
  /** Whether the stream now shows its first event. */
  readonly ok: boolean
  readonly stream: string
  /** The settings that hide events, by name, with their values. */
  readonly hiding: Readonly<Record<string, string>>
  readonly isRemoved: boolean
  /** First visible revision of the stream; null if none is visible. */
  readonly firstRevision: number | null
}

/** Repairs a stream's settings without opening the installation, which may need the hidden stream to start. */
export const repairSettingsCommand = maintenanceCommand<SettingsRepair>({
  name: "store repair-settings",
  summary: "unhide the events that a stream's settings hide in EventStoreDB",
  notes: [
    "Removes $maxCount, $maxAge and $tb from the stream's settings; other settings, such as $acl, stay.",
    "It works on the server of LEDGER_EVENTSTORE_URL, even while a ledger runs, which detects the repaired stream " +
      "within ten seconds and accepts commands on it again.",
    '"projections status" lists the streams that are held back: they also need "store release".',
    "The exit code is 1 if the stream still does not begin with its first event: a scavenge has removed it, and " +
      "only a backup has it.",
  ],
  example: "store repair-settings prices",
  canRunWithServer: true,
  input: z.object({
    stream: z.string().meta({ description: "the stream", argument: "STREAM", form: "text" }),
    show: z
      .boolean()
      .default(false)
      .meta({ description: "show the settings without changing them" }),
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
    const release = `If "projections status" still lists it, run "store release ${found.stream}".`
    return `The stream begins with its first event. ${release}`
  }
  if (found.hides !== "" && !found.isRemoved)
    return "Run the command without --show to remove them."
  return "The event store no longer has the first events: restore them from a backup."
}
