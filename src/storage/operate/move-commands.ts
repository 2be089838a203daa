/** Commands that move a whole installation, or keep it for such a move. */
import { z } from "zod"
import type { Verdict } from "../../audit/operate/audit.ts"
import { renderVerdict } from "../../audit/operate/audit.ts"
import { moveCommand } from "../../frame/operator/commands.ts"
import type { Page } from "../../frame/operator/cli/render.ts"
import { renderFields } from "../../frame/operator/cli/render.ts"
import type { LeftOut } from "../left-out.ts"
import { renderLeftOut } from "../left-out.ts"

/** Says in help what becomes of corrupt streams. */
export const LEFT_OUT_NOTE =
  "leftOut: the corrupt streams. What is not proven of them is left out, they stay held back, and the exit code is 1."

/** What was copied into another event store. */
export interface StoreCopy {
  readonly ok: boolean
  /** The address of the store, masked, or `database`. */
  readonly to: string
  readonly events: number
  readonly streams: number
  /** So many of the events were there from a copy that had been cut short, or from before. */
  readonly alreadyThere: number
  /** The corrupt streams, and how many events of each are not in the other store. */
  readonly leftOut: readonly LeftOut[]
  readonly audit: Verdict
}

const copyStore = moveCommand<StoreCopy>({
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
export interface Restored {
  readonly ok: boolean
  readonly file: string
  readonly events: number
  readonly rows: number
  /** So many of the events were there from a restore that had been cut short. */
  readonly alreadyThere: number
  /** The corrupt streams, and how many of their events in the file were not restored. */
  readonly leftOut: readonly LeftOut[]
  readonly checksum: string
  readonly audit: Verdict
}

const restore = moveCommand<Restored>({
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
export function renderAudit(audit: Verdict, page: Page): string {
  return `\n${renderVerdict(audit, page)}\n`
}

/** Commands that move a whole installation. */
export const moveCommands = { copyStore, restore } as const
