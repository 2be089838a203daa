/** Commands for the built-in mailer. */
import type { CommandSpec } from "../../frame/operator/cli/command.ts"
import type { Page } from "../../frame/operator/cli/render.ts"
import { isRow, renderTable, rowsOf } from "../../frame/operator/cli/render.ts"

const listMails: CommandSpec = {
  does: "operation",
  name: "mail list",
  summary: "list what the built-in mailer sent, the newest last",
  notes: [
    "Nothing leaves this machine: the mailer only remembers. Times are UTC, by the ledger's clock.",
    "With --json each mail's text is shown as well.",
  ],
  example: "mail list --company acme",
  options: [
    { flags: "--company <company>", description: "one company, by id or name; default all" },
  ],
  render: renderMails,
}

/** One line a mail; a text of many lines has no place in a table. */
function renderMails(result: unknown, page: Page): string {
  const mails = isRow(result) ? (rowsOf(result["mails"]) ?? []) : []
  const rows = mails.map(({ at, to, subject, status }) => ({ at, to, subject, status }))
  return renderTable(rows, page, "mails")
}

/** Commands for the built-in mailer. */
export const MAIL_COMMANDS: readonly CommandSpec[] = [listMails]
