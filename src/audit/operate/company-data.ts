/** The operation that exports a company's data into one file, for the company to keep. */
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
  summary: "write all data of a company into one file that people can read",
  notes: [
    "NDJSON: a line with the company, then each fact in order with names, numbers and texts in clear, " +
      "then each mail sent to its people, then a line with the counts. It holds personal data, so only " +
      "its owner can read the file. The hashes of keys are left out.",
    'It is not a proof; "audit export" is one, and keeps personal fields sealed.',
    "corruptStreams: the company's corrupt streams, and from which revision on they are not in the file.",
    "The file is written completely or not at all. --out - writes to standard output instead.",
  ],
  example: "company export acme --out acme-data.ndjson",
  hasFile: true,
  isPrivate: true,
  isLongRunning: true,
  input: z.object({ company: companyArgument }),
  consoleAccess: { roles: ["owner"], rateLimit: CONSOLE_FILE_RATE_LIMIT },
  run: async ({ ports, send, progress, signal }, input) => {
    const companyId = await findCompany(ports, input.company)
    // Buffered calls are stored first, so the file includes them.
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
    return { companyId, ...counts, corruptStreams: corruptStreamsOf(ports, companyId) }
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
  // The hash of a key belongs to the service, not to the company's data.
  const { keyHash: _keyHash, ...visible } = opened as Readonly<Record<string, unknown>>
  return `${JSON.stringify({ stream, revision, type, data: visible })}\n`
}

/** The operation that exports a company's data. */
export const companyDataOperations: readonly AdminOperation[] = [exportCompany]

/** Builds a function that unseals the sealed texts in a value; erased ones read "(erased)". */
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
