/** What the built-in mailer sent. */
import { z } from "zod"
import { findCompany } from "../../frame/operator/inputs.ts"
import type { AdminOperation } from "../../frame/operator/operation.ts"
import { operation } from "../../frame/operator/operation.ts"

const MOST_LISTED = 1_000

const listMails = operation({
  name: "mail list",
  input: z.object({ company: z.string().optional() }),
  run: async ({ ports }, { company }) => {
    const companyId = company === undefined ? null : await findCompany(ports, company)
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
})

/** Operations on mail. */
export const mailOperations: readonly AdminOperation[] = [listMails]
