import { z } from "zod"
import { normalizedAddress } from "../../../domain/email/mailbox.ts"
import { listMails } from "../../../projections/email/mails.ts"
import { renderTable } from "../../frame/operator/cli/render.ts"
import {
  companyInput,
  findCompany,
  findUnerasedCompany,
  listLimitInput,
  waitForOwnWrites,
} from "../../frame/operator/inputs.ts"
import type { AdminOperation } from "../../frame/operator/operation.ts"
import { operation, OperatorRefused } from "../../frame/operator/operation.ts"
import { newId } from "../../frame/kernel/ids.ts"
import { mailIdSuffixOf, returnPathOf } from "../mail-copy-tokens.ts"
import { mailboxSchema } from "../mailboxes.ts"
import { findFirstVerifiedSender } from "../verified-sender.ts"

const list = operation({
  name: "email list",
  summary: "list a company's emails and their status, newest first",
  notes: [
    "One row for each recipient. Times are UTC.",
    "relayed: a relay accepted it. unknown: it may have been accepted. returned: it came back later.",
  ],
  example: "email list --company acme",
  input: z.object({ company: companyInput, limit: listLimitInput }),
  consoleAccess: { permission: "Send email" },
  run: async ({ ports }, { company: named, limit }) => {
    const companyId = await findCompany(ports, named)
    await waitForOwnWrites(ports)
    const rows = await listMails(ports.readAll, companyId, limit)
    return {
      emails: rows.map(({ mail_id: mailId, n, sender, recipient, status, code, ...row }) => ({
        sentAt: row.sent_at.toISOString(),
        mailId,
        recipientIndex: n,
        from: sender,
        to: recipient,
        status,
        code,
        changedAt: row.changed_at.toISOString(),
        chargeId: row.charge_id,
      })),
    }
  },
  render: ({ emails }, page) => {
    const rows = emails.map(({ sentAt, mailId, to, status, code }) => {
      return { sentAt, mailId, to, status, code }
    })
    return renderTable(rows, page, "mails")
  },
})

const test = operation({
  name: "email test",
  summary: "send a free test email from a company's first verified sending domain",
  example: "email test --company acme --to ada@example.com",
  changes: true,
  input: z.object({
    company: companyInput,
    to: mailboxSchema.meta({ description: "the recipient", takes: "email" }),
  }),
  consoleAccess: { permission: "Send email" },
  run: async ({ ports }, { company: named, to }) => {
    const companyId = await findUnerasedCompany(ports, named)
    const sender = await findFirstVerifiedSender(ports, companyId)
    const key = sender === null ? null : await ports.dkimKeys.find({ companyId, ...sender })
    if (sender === null || key === null) {
      throw new OperatorRefused(
        "not_sent",
        `${named} has no verified sending domain. Add one, or check its records.`,
      )
    }
    const mailId = newId("mail")
    const from = { name: "", address: `test@${sender.name}` }
    const copyFor = await ports.composer.compose({
      mailId,
      from,
      replyTo: null,
      html: null,
      date: ports.clock.now(),
      subject: "A test mail",
      text: `This is a test of mails from ${sender.name}.`,
    })
    const messageId = `<${mailIdSuffixOf(mailId)}.0@${sender.name}>`
    const copy = copyFor({
      to: { name: to.name ?? "", address: to.address },
      messageId,
      unsubscribeUrl: null,
    })
    const bytes = await ports.composer.sign(copy, { domain: sender.name, ...key })
    const tag = await ports.sealing.tag(companyId, normalizedAddress(to))
    const returnPath = returnPathOf(ports.sealing, { mailId, recipientIndex: 0 }, sender.name)
    const envelope = { companyId, mailId, addressTag: tag, from: returnPath, to: to.address }
    const result = await ports.mailer.deliver(envelope, bytes)
    const code = "code" in result ? result.code : null
    return { from: from.address, to: to.address, mailId, result: result.answer, code }
  },
})

export const emailOperations: readonly AdminOperation[] = [test, list]

const MAX_LISTED = 1_000

const listSimulated = operation({
  name: "mail list",
  summary: "list the mails of the mail simulator, newest last",
  notes: [
    "Simulated mails never leave this machine. Times are UTC, by the ledger's clock.",
    "--json also shows the text of each mail.",
  ],
  example: "mail list --company acme",
  input: z.object({
    company: companyInput
      .optional()
      .meta({ description: "the company, by id or name; default: all" }),
  }),
  run: async ({ ports }, { company: named }) => {
    const companyId = named === undefined ? null : await findCompany(ports, named)
    const mails = await ports.simulatedMails.list(companyId, MAX_LISTED)
    return {
      mails: mails.map(({ to, subject, text, sentAt, mailId, companyId: of, isBounced }) => ({
        to: to.join(", "),
        subject,
        text,
        at: sentAt.toISOString(),
        mailId,
        companyId: of,
        status: isBounced ? "bounced" : "sent",
      })),
    }
  },
  // The text has many lines, so the table leaves it out.
  render: ({ mails }, page) => {
    const rows = mails.map(({ at, to, subject, status }) => ({ at, to, subject, status }))
    return renderTable(rows, page, "mails")
  },
})

export const simulatedMailOperations: readonly AdminOperation[] = [listSimulated]
