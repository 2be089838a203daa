/** What the built-in mailer sent. */
import { z } from "zod"
import { renderTable } from "../../frame/operator/cli/render.ts"
import { company, findCompany } from "../../frame/operator/inputs.ts"
import type { AdminOperation } from "../../frame/operator/operation.ts"
import { operation } from "../../frame/operator/operation.ts"

const MOST_LISTED = 1_000

const listMails = operation({
  name: "mail list",
  summary: "list what the built-in mailer sent, the newest last",
  notes: [
    "Nothing leaves this machine: the mailer only remembers. Times are UTC, by the ledger's clock.",
    "With --json each mail's text is shown as well.",
  ],
  example: "mail list --company acme",
  input: z.object({
    company: company.optional().meta({ description: "one company, by id or name; default all" }),
  }),
  run: async ({ ports }, { company: named }) => {
    const companyId = named === undefined ? null : await findCompany(ports, named)
    const mails = await ports.sentMails.list(companyId, MOST_LISTED)
    return {
      mails: mails.map(({ to, subject, text, at, mailId, companyId: of, bounced }) => ({
        to: to.join(", "),
        subject,
        text,
        at: at.toISOString(),
        mailId,
        companyId: of,
        status: bounced ? "bounced" : "sent",
      })),
    }
  },
  // One line a mail; a text of many lines has no place in a table.
  render: ({ mails }, page) => {
    const rows = mails.map(({ at, to, subject, status }) => ({ at, to, subject, status }))
    return renderTable(rows, page, "mails")
  },
})

/** Operations on mail. */
export const mailOperations: readonly AdminOperation[] = [listMails]
