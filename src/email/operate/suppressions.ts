/** Whom a company must not write to. */
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
  summary: "list whom a company must not write to, the newest first",
  notes: [
    "Times are UTC. Without a sending domain nobody is written to from any of the company's.",
  ],
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
        why,
        since: since.toISOString(),
        sendingDomainId: from === "" ? null : from,
      })),
    }
  },
  render: ({ suppressions }, page) => renderTable(suppressions, page, "suppressions"),
})

const lift = operation({
  name: "suppression lift",
  summary: "let a company write to somebody again",
  notes: ["Mails that were answered for meanwhile are not sent."],
  example:
    'suppression lift --company acme --email ada@example.com --reason "their server is mended"',
  changes: true,
  input: z.object({
    company: companyInput,
    email: mailboxSchema.meta({ description: "whom, by address", takes: "email" }),
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
      throw new OperatorRefused("not_found", `${email.address} may be written to already.`)
    }
    return { companyId, email: email.address }
  },
})

const offerUnsubscribe = operation({
  name: "suppression offer",
  summary: "have mails from a sending domain offer to unsubscribe, or not",
  notes: [
    "Programs of mail show the offer as a button. Whoever takes it is not written to from that domain again.",
    "Leave it off for receipts and codes, which people must get.",
  ],
  example: "suppression offer --company acme --domain news.acme.com --turn on",
  changes: true,
  input: z.object({
    company: companyInput,
    domain: z.string().meta({ description: "a verified sending domain", takes: "domain" }),
    turn: z.enum(["on", "off"]).meta({ description: "whether it is offered" }),
  }),
  consoleAccess: { roles: OWNER_OR_ADMIN },
  run: async ({ ports, cause }, { company: named, domain, turn: to }) => {
    const companyId = await findCompany(ports, named)
    const sendingDomainId = await findVerifiedSender(ports, companyId, domain.toLowerCase())
    if (sendingDomainId === null) {
      throw new OperatorRefused("not_found", `${domain} is no verified sending domain of ${named}.`)
    }
    const command = { type: "SwitchUnsubscribe", sendingDomainId, isOn: to === "on" } as const
    requireAccepted(await ports.runner.execute(suppressionsStreamOf(companyId), command, cause))
    return { companyId, sendingDomainId, offersUnsubscribe: to === "on" }
  },
})

/** Operations on whom a company must not write to. */
export const suppressionOperations: readonly AdminOperation[] = [list, lift, offerUnsubscribe]
