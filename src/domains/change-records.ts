import { z } from "zod"
import type { DomainCommand } from "../../domain/domains/domain-commands.ts"
import { DOMAIN_REFUSAL_MESSAGES } from "../../domain/domains/domain-commands.ts"
import type { RecordId } from "../../domain/domains/domain-events.ts"
import { parseRecordId } from "../../domain/domains/domain-events.ts"
import {
  MAX_CONTENT_LENGTH,
  RECORD_TTL_SECONDS,
  WRITABLE_RECORD_TYPES,
  parseRecord,
} from "../../domain/domains/dns-records.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import type { Caller, Reply } from "../frame/routes/declare/route.ts"
import { route } from "../frame/routes/declare/route.ts"
import { invalidRefusal } from "../frame/routes/checks/7-values.ts"
import { newId } from "../frame/kernel/ids.ts"
import { nonBlankText, boundedText } from "../frame/kernel/schema.ts"
import type { Ports } from "../frame/ports.ts"
import { RecordReply, recordReply } from "./domain-reply.ts"
import {
  CONFLICT_MESSAGES,
  optionalDomainIdSchema,
  doneSchema,
  findDomain,
  domainNotFound,
  executeDomainCommand,
  DOMAIN_POST_ROUTE,
} from "./domain-requests.ts"

const MAX_PRIORITY = 65_535

const RecordInput = z
  .object({
    type: z.enum(WRITABLE_RECORD_TYPES).describe("The type of the record"),
    name: boundedText(253).describe(
      "Relative to the domain, or the complete name; `@` is the domain itself",
    ),
    content: nonBlankText(MAX_CONTENT_LENGTH).describe(
      "Depending on the type: an IPv4 or IPv6 address, a complete host name, or a text",
    ),
    priority: z
      .int()
      .min(0)
      .max(MAX_PRIORITY)
      .nullable()
      .optional()
      .describe("Only for MX; the lowest comes first"),
  })
  .describe("The record")

type RecordInput = z.infer<typeof RecordInput>

const Records = z.object({
  ok: doneSchema,
  records: z.array(RecordReply).describe("All records of the domain"),
})

const recordId = boundedText(100).describe("Id of the record")
const RECORD_EXAMPLE = { type: "TXT", name: "@", content: "verification=4Zb0x7" } as const

const base = {
  ...DOMAIN_POST_ROUTE,
  operation: "dns.records.write",
  reply: Records,
  refusalCodes: ["conflict", "not_found"],
  refusalMessages: CONFLICT_MESSAGES,
} as const

/** Adds a DNS record. */
export const addRecord = route({
  ...base,
  name: "addRecord",
  summary: "Add a DNS record",
  example: { body: { action: "add_record", record: RECORD_EXAMPLE } },
  body: z.object({
    action: z.literal("add_record").describe("Adds a record"),
    record: RecordInput,
    domainId: optionalDomainIdSchema,
  }),
  handle: async (ports, caller, { body }) =>
    writeRecord(ports, caller, body, { type: "AddRecord", id: newId("rec") }),
})

/** Changes a DNS record. */
export const updateRecord = route({
  ...base,
  name: "updateRecord",
  summary: "Change a DNS record",
  example: { body: { action: "update_record", id: "rec_4Zb0x7", record: RECORD_EXAMPLE } },
  body: z.object({
    action: z.literal("update_record").describe("Changes a record"),
    id: recordId,
    record: RecordInput,
    domainId: optionalDomainIdSchema,
  }),
  handle: async (ports, caller, { body }) => {
    const id = parseRecordId(body.id)
    if (id === null) return recordNotFound()
    return writeRecord(ports, caller, body, { type: "UpdateRecord", id })
  },
})

export const removeRecord = route({
  ...base,
  name: "removeRecord",
  summary: "Remove a DNS record",
  example: { body: { action: "remove_record", id: "rec_4Zb0x7" } },
  body: z.object({
    action: z.literal("remove_record").describe("Removes a record"),
    id: recordId,
    domainId: optionalDomainIdSchema,
  }),
  handle: async (ports, caller, { body }) => {
    const id = parseRecordId(body.id)
    if (id === null) return recordNotFound()
    return changeRecords(ports, caller, body.domainId, () => ({
      type: "RemoveRecord",
      recordId: id,
    }))
  },
})

type Answer = Reply<z.infer<typeof Records>>

function recordNotFound(): Answer {
  return { ok: false, refusal: refusal("not_found", DOMAIN_REFUSAL_MESSAGES.no_record) }
}

function writeRecord(
  ports: Pick<Ports, "runner">,
  caller: Caller,
  body: { readonly record: RecordInput; readonly domainId?: string | undefined },
  { type, id }: { readonly type: "AddRecord" | "UpdateRecord"; readonly id: RecordId },
): Promise<Answer> {
  return changeRecords(ports, caller, body.domainId, (apex) => {
    const { priority = null, ...fields } = body.record
    const parsed = parseRecord(apex, { ...fields, priority })
    if ("fault" in parsed) {
      const { field, sentence } = parsed.fault
      const message = `${sentence.slice(0, 1).toUpperCase()}${sentence.slice(1)}.`
      return { refusal: invalidRefusal({ [`record.${field}`]: message }) }
    }
    return { type, record: { id, ...parsed.record, ttl: RECORD_TTL_SECONDS, source: "added" } }
  })
}

async function changeRecords(
  ports: Pick<Ports, "runner">,
  caller: Caller,
  named: string | undefined,
  commandFor: (apex: string) => DomainCommand | { readonly refusal: ReturnType<typeof refusal> },
): Promise<Answer> {
  const domain = await findDomain(ports, caller.companyId, named)
  if (domain === null) return { ok: false, refusal: domainNotFound(named) }
  const command = commandFor(domain.name)
  if ("refusal" in command) return { ok: false, refusal: command.refusal }
  const result = await executeDomainCommand(ports, caller, domain, command)
  if ("refusal" in result) return { ok: false, refusal: result.refusal }
  const records = result.view.records.map(recordReply)
  return { ok: true, body: { ok: true, records }, position: result.position }
}
