/** Commands that move a whole installation. */
import { renderVerdict } from "./audit-commands.ts"
import type { CommandSpec } from "./command.ts"
import { storeAddress } from "./option-values.ts"
import type { Page } from "./render.ts"
import { isRow, renderFields } from "./render.ts"

const copyStore: CommandSpec = {
  does: "move",
  name: "store copy",
  summary: "move all events into another event store, and the installation with them",
  notes: [
    "Every hash is checked on the way, and in the end both stores are compared event by event.",
    "The other store must be empty, or hold the first of these events: a copy that was cut short goes on.",
    "Stop every server first. Afterwards start with EVENTSTORE_URL set to the other store: the database " +
      "remembers it, and refuses to start with the old one.",
    'The old store keeps what it has. "--to database" moves back, with EVENTSTORE_URL set to where the events are.',
    "The user in the URL may have to read $all and write all streams.",
  ],
  example: "store copy --to esdb://admin:changeit@localhost:2113?tls=false",
  options: [
    {
      flags: "--to <url>",
      description: 'where to: esdb://host:2113, esdb+discover://host:2113, or "database"',
      isRequired: true,
      parse: storeAddress,
    },
  ],
  render: (result, page) => {
    if (!isRow(result)) return ""
    const { to, events, streams, alreadyThere } = result
    const setting = to === "database" ? "EVENTSTORE_URL unset" : `EVENTSTORE_URL=${String(to)}`
    return (
      renderFields(Object.entries({ to, events, streams, alreadyThere })) +
      renderAudit(result["audit"], page) +
      `From now on start with ${setting}.\n`
    )
  },
}

function renderAudit(audit: unknown, page: Page): string {
  return `\n${renderVerdict(audit, page)}\n`
}

/** Commands that move a whole installation. */
export const MOVE_COMMANDS: readonly CommandSpec[] = [copyStore]
