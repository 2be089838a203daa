import { z } from "zod"
import { suppressionsStreamOf } from "../../../domain/email/aggregates.ts"
import { normalizedAddress } from "../../../domain/email/mailbox.ts"
import { listSuppressions } from "../../../projections/email/suppressions.ts"
import { renderTable } from "../../frame/operator/cli/render.ts"
import {
  requireAccepted,
  companyInput,
  findCompany,
  listLimitInput,
  waitForOwnWrites,
} from "../../frame/operator/inputs.ts"
import type { AdminOperation } from "../../frame/operator/operation.ts"
import { OWNER_OR_ADMIN, operation, OperatorRefused } from "../../frame/operator/operation.ts"
import { mailboxSchema } from "../mailboxes.ts"
import { findVerifiedSender } from "../verified-sender.ts"

const list = operation({
  name: "suppression list",
  summary: "list the addresses that a company must not email, newest first",
  notes: ["Times are UTC. A row without a sending domain applies to all of the company's domains."],
  example: "suppression list --company acme",
  input: z.object({ company: companyInput, limit: listLimitInput }),
  consoleAccess: { permission: "Send email" },
  run: async ({ ports }, { company: named, limit }) => {
    const companyId = await findCompany(ports, named)
    await waitForOwnWrites(ports)
    const rows = await listSuppressions(ports.readAll, companyId, limit)
    return {
      suppressions: rows.map(({ recipient, why, since, sending_domain_id: from }) => ({
        email: recipient,
        reason: why,
        since: since.toISOString(),
        sendingDomainId: from === "" ? null : from,
      })),
    }
  },
  render: ({ suppressions }, page) => renderTable(suppressions, page, "suppressions"),
})

const lift = operation({
  name: "suppression lift",
  summary: "let a company email an address again",
  notes: ["Emails that were suppressed in the meantime are not sent."],
  example:
    'suppression lift --company acme --email ada@example.com --reason "their server works again"',
  changes: true,
  input: z.object({
    company: companyInput,
    email: mailboxSchema.meta({ description: "the address", takes: "email" }),
  }),
  consoleAccess: { roles: OWNER_OR_ADMIN },
  run: async ({ ports, cause }, { company: named, email }) => {
    const companyId = await findCompany(ports, named)
    const tag = await ports.sealing.tag(companyId, normalizedAddress(email))
    const command = { type: "LiftSuppression", tag } as const
    const done = requireAccepted(
      await ports.runner.execute(suppressionsStreamOf(companyId), command, cause),
    )
    if (done.facts.length === 0) {
      throw new OperatorRefused("not_found", `${email.address} is not suppressed.`)
    }
    return { companyId, email: email.address }
  },
})

const offerUnsubscribe = operation({
  name: "suppression offer",
  summary: "add an unsubscribe link to emails from a sending domain, or remove it",
  notes: [
    "Mail programs show it as a button. People who use it get no more email from that domain.",
    "Leave it out for receipts and codes, which people must receive.",
  ],
  example: "suppression offer --company acme --domain news.acme.com --enabled yes",
  changes: true,
  input: z.object({
    company: companyInput,
    domain: z.string().meta({ description: "a verified sending domain", takes: "domain" }),
    enabled: z.enum(["yes", "no"]).meta({ description: "whether emails have the link" }),
  }),
  consoleAccess: { roles: OWNER_OR_ADMIN },
  run: async ({ ports, cause }, { company: named, domain, enabled }) => {
    const companyId = await findCompany(ports, named)
    const sendingDomainId = await findVerifiedSender(ports, companyId, domain.toLowerCase())
    if (sendingDomainId === null) {
      throw new OperatorRefused(
        "not_found",
        `${domain} is not a verified sending domain of ${named}. Add it, or check its records.`,
      )
    }
    const isEnabled = enabled === "yes"
    const command = { type: "SwitchUnsubscribe", sendingDomainId, isOn: isEnabled } as const
    requireAccepted(await ports.runner.execute(suppressionsStreamOf(companyId), command, cause))
    return { companyId, sendingDomainId, offersUnsubscribe: isEnabled }
  },
})

export const suppressionOperations: readonly AdminOperation[] = [list, lift, offerUnsubscribe]
