/** A company's own data as one file: for the company to keep, before it is erased. */
import { z } from "zod"
import type { SimulatedMail } from "../../../adapters/providers/mailer/port.ts"
import type { StoredEvent } from "../../../adapters/eventstore/port.ts"
import { corruptStreamsOf } from "../../frame/writer/corrupt-list.ts"
import { companyArgument, findCompany } from "../../frame/operator/inputs.ts"
import type { AdminOperation, AdminPorts } from "../../frame/operator/operation.ts"
import { CONSOLE_FILE_RATE_LIMIT, operation } from "../../frame/operator/operation.ts"
import { eventsUpTo } from "../history-file.ts"
import { withProgress, openProgressMeter } from "../findings.ts"
import { parseCompanyId, parseSealedText } from "../../../domain/kernel/ids.ts"
import { companyOfStream } from "../../../domain/kernel/aggregate.ts"
import type { Ports } from "../../frame/ports.ts"

const exportCompany = operation({
  name: "company export",
  summary: "write everything that is kept of a company into one file that people can read",
  notes: [
    "NDJSON: a line with the company, then each fact in the order it happened, names, numbers and texts " +
      "in the clear, then each mail that was sent to its people, then a line with how many there were " +
      "of both. It holds personal data: nobody else may read the file. What keys are checked by is left out.",
    'It is no proof; "audit export" is, and keeps personal fields sealed.',
    "leftOut: the company's corrupt streams, and from which revision on they are not in the file.",
    "The file appears whole or not at all. --out - writes to standard output instead.",
  ],
  example: "company export acme --out acme-data.ndjson",
  hasFile: true,
  isPrivate: true,
  isLongRunning: true,
  input: z.object({ company: companyArgument }),
  consoleAccess: { roles: ["owner"], rateLimit: CONSOLE_FILE_RATE_LIMIT },
  run: async ({ ports, send, progress, signal }, input) => {
    const companyId = await findCompany(ports, input.company)
    // What is gathered is no event yet: it is recorded, so that the file has it.
    await ports.flush()
    const { provenStore: store, streams, clock } = ports
    const to = await store.head()
    const at = new Date(clock.now()).toISOString()
    await send(`${JSON.stringify({ companyLedger: "company data", company: companyId, at })}\n`)
    const pages = eventsUpTo({ store, streams, companyId, to })
    let facts = 0
    for await (const page of withProgress(pages, openProgressMeter(to, progress), signal)) {
      const lines = await Promise.all(page.map((stored) => factLine(ports, stored)))
      if (lines.length > 0) await send(lines.join(""))
      facts += lines.length
    }
    const mails = await ports.simulatedMails.list(companyId, Number.MAX_SAFE_INTEGER)
    for (const mail of mails) await send(mailLine(mail))
    const counts = { facts, mails: mails.length }
    await send(`${JSON.stringify({ end: counts })}\n`)
    return { companyId, ...counts, leftOut: corruptStreamsOf(ports, companyId) }
  },
})

function mailLine({ mailId, sentAt, to, subject, text, isBounced }: SimulatedMail): string {
  const status = isBounced ? "bounced" : "sent"
  return `${JSON.stringify({ mail: { mailId, at: sentAt.toISOString(), to, subject, text, status } })}\n`
}

async function factLine(
  ports: Pick<AdminPorts, "sealing">,
  { stream, revision, type, data }: StoredEvent,
): Promise<string> {
  const sealed = JSON.parse(data) as Readonly<Record<string, unknown>>
  const opened = await sealedFieldOpener(ports, stream, sealed)(sealed)
  // What a key is checked by is the house's, and no data of the company.
  const { keyHash: _checkedBy, ...own } = opened as Readonly<Record<string, unknown>>
  return `${JSON.stringify({ stream, revision, type, data: own })}\n`
}

/** The operation that hands a company its data. */
export const companyDataOperations: readonly AdminOperation[] = [exportCompany]

/** Opens what is sealed in a value, as far as the company's keys are there. */
export function sealedFieldOpener(
  { sealing }: Pick<Ports, "sealing">,
  stream: string,
  data: Readonly<Record<string, unknown>>,
): (value: unknown) => Promise<unknown> {
  const owner = companyOfStream(stream) ?? parseCompanyId(String(data["companyId"]))
  const open = async (value: unknown): Promise<unknown> => {
    const sealed = typeof value === "string" ? parseSealedText(value) : null
    if (sealed !== null && owner !== null)
      return (await sealing.unseal(owner, sealed)) ?? "(erased)"
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value
    const opened = Object.entries(value).map(async ([k, v]) => [k, await open(v)] as const)
    return Object.fromEntries(await Promise.all(opened))
  }
  return open
}
