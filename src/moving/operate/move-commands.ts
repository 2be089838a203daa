/** Commands that move a whole installation, or keep it for such a move. */
import { z } from "zod"
import { renderVerdict } from "../../audit/operate/verdict.ts"
import type { MoveCommand } from "../../frame/operator/commands.ts"
import type { Page } from "../../frame/operator/cli/render.ts"
import { isRow, renderFields } from "../../frame/operator/cli/render.ts"

const copyStore: MoveCommand = {
  does: "move",
  name: "store copy",
  summary: "move all events into another event store, and the installation with them",
  notes: [
    "Every hash is checked on the way, and in the end both stores are compared event by event.",
    "The other store must be empty, or hold the first of these events: a copy that was cut short goes on.",
    "Stop every server first. Afterwards start with LEDGER_EVENTSTORE_URL set to the other store: the database " +
      "remembers it, and refuses to start with the old one.",
    'The old store keeps what it has. "--to database" moves back, with LEDGER_EVENTSTORE_URL set to where the events are.',
    "The user in the URL may have to read $all and write all streams.",
  ],
  example: "store copy --to esdb://admin:changeit@localhost:2113?tls=false",
  input: z.object({
    to: z.string().meta({
      description: 'where to: esdb://host:2113, esdb+discover://host:2113, or "database"',
      takes: "url",
      form: "store-address",
    }),
  }),
  render: (result, page) => {
    if (!isRow(result)) return ""
    const { to, events, streams, alreadyThere } = result
    const setting =
      to === "database" ? "LEDGER_EVENTSTORE_URL unset" : `LEDGER_EVENTSTORE_URL=${String(to)}`
    return (
      renderFields(Object.entries({ to, events, streams, alreadyThere })) +
      renderAudit(result["audit"], page) +
      `From now on start with ${setting}.\n`
    )
  },
}

const restore: MoveCommand = {
  does: "move",
  name: "restore",
  summary: "restore a backup into an empty installation",
  notes: [
    "The installation is that of the settings: LEDGER_DATA_DIR, DATABASE_URL, LEDGER_EVENTSTORE_URL. It must " +
      "be empty, its event store as well; a backup of either kind of event store fits both.",
    "The whole file is checked before anything is written. A restore that was cut short goes on with " +
      "the same file, and until then nothing can be started there.",
    "Where the master key was kept outside, LEDGER_MASTER_KEY must be set as it was.",
  ],
  example: "restore ledger-2026-11-30.backup",
  input: z.object({
    file: z.string().meta({ description: "the backup", argument: "FILE", form: "text" }),
  }),
  render: (result, page) => {
    if (!isRow(result)) return ""
    const { file, events, rows, alreadyThere, audit } = result
    return (
      renderFields(Object.entries({ file, events, rows, alreadyThere })) + renderAudit(audit, page)
    )
  },
}

/** The audit that a move or a backup ended in. */
export function renderAudit(audit: unknown, page: Page): string {
  return `\n${renderVerdict(audit, page)}\n`
}

/** Commands that move a whole installation. */
export const moveCommands = { copyStore, restore } as const
