/** Operations that show streams and their facts. */
import { z } from "zod"
import type { StoredEvent } from "../../../adapters/eventstore/port.ts"
import { isAdminRole } from "../../../domain/access/permissions.ts"
import { companyOfStream } from "../../../domain/kernel/aggregate.ts"
import { hasRevision } from "../expected-streams.ts"
import { openProgressMeter, withProgress } from "../findings.ts"
import { sealedFieldOpener } from "./company-data.ts"
import { renderTable } from "../../frame/operator/cli/render.ts"
import { escapeForTerminalOutput } from "../../frame/operator/cli/terminal.ts"
import { companyInput, timeInput, findCompany, idInput } from "../../frame/operator/inputs.ts"
import type { AdminOperation, AdminPorts } from "../../frame/operator/operation.ts"
import { OperatorRefused, operation } from "../../frame/operator/operation.ts"

/** The most that is shown in one answer. */
const MAX_EVENTS_SHOWN = 100_000
const DEFAULT_STREAMS_SHOWN = 1_000

const Filter = z.object({
  type: z.string().optional().meta({ description: "only facts of this type" }),
  key: z.string().optional().meta({ description: "only facts by or about this key, by id" }),
  person: z.string().optional().meta({ description: "only facts by or about this person, by id" }),
  request: z.string().optional().meta({
    description: "only facts that this request caused, by the id of its answer",
  }),
  since: timeInput.optional().meta({ description: "only facts from this time on" }),
  until: timeInput.optional().meta({ description: "only facts before this time" }),
})

const limitOption = z
  .int()
  .positive()
  .max(MAX_EVENTS_SHOWN)
  .meta({ description: "show at most this many" })

type JsonFields = Readonly<Record<string, unknown>>

interface ParsedEvent {
  readonly at: string
  readonly data: JsonFields
  readonly metadata: JsonFields
}

const show = operation({
  name: "audit show",
  summary: "show the facts of a stream",
  notes: [
    "Times are ISO 8601 in UTC. Personal fields are sealed unless --unseal is given.",
    "Amounts in facts are micros, millionths of a US dollar.",
    "At most 100,000 are shown at a time; continue with --from.",
  ],
  example: "audit show ledger-co_x7Kq2M --type Charged --since 2026-11-01T00:00:00Z",
  isLongRunning: true,
  input: Filter.extend({
    stream: idInput.meta({
      description: "the stream, such as ledger-<companyId>",
      argument: "STREAM",
    }),
    from: z.int().nonnegative().optional().meta({ description: "only from this revision on" }),
    limit: limitOption.default(MAX_EVENTS_SHOWN),
    unseal: z
      .boolean()
      .default(false)
      .meta({ description: "show personal fields that are not erased" }),
  }),
  consoleAccess: {
    permission: "See billing",
    denialReason: ({ input, person }) =>
      input.unseal && !isAdminRole(person.role)
        ? "Only an owner or admin can see names, numbers and texts in clear."
        : null,
  },
  run: async ({ ports, signal }, input) => {
    const { stream, from = 0, limit, unseal } = input
    const events: EventView[] = []
    let exists = false
    for await (const page of ports.store.read(stream, { from })) {
      signal.throwIfAborted()
      exists ||= page.length > 0
      for (const stored of page) {
        const parsed = parseEvent(stored)
        if (!matchesFilter(input, stored.type, parsed)) continue
        // One more than is shown, to say where to continue.
        if (events.length === limit) return { events, next: stored.revision }
        events.push(await toEventView(ports, stored, parsed, unseal))
      }
    }
    if (exists || (await hasRevision(ports, stream, 0))) return { events, next: null }
    const message = `There is no stream ${stream}. "audit streams" lists the streams.`
    throw new OperatorRefused("not_found", message)
  },
  render: ({ events, next }) => {
    const text = events.length === 0 ? "No facts.\n" : events.map(renderEvent).join("")
    return next === null ? text : `${text}There are more: continue with --from ${next}.\n`
  },
})

const streams = operation({
  name: "audit streams",
  summary: "list streams, optionally only those with matching facts, by name",
  notes: ["Counts the matching facts of a stream; lastRevision is that of the last match."],
  example: "audit streams --company acme --type ChargeRefused",
  isLongRunning: true,
  input: z.object({
    company: companyInput.optional().meta({ description: "only this company's, by id or name" }),
    ...Filter.shape,
    after: z
      .string()
      .default("")
      .meta({ description: "only streams after this name", takes: "stream", form: "text" }),
    limit: limitOption.default(DEFAULT_STREAMS_SHOWN),
  }),
  consoleAccess: { permission: "See billing" },
  run: async ({ ports, progress, signal }, input) => {
    const { company: named, after, limit } = input
    const companyId = named === undefined ? null : await findCompany(ports, named)
    const meter = openProgressMeter(await ports.store.head(), progress)
    const found = new Map<string, { events: number; last: StoredEvent }>()
    const range =
      companyId === null
        ? {}
        : { prefixes: ports.streams.prefixesOf(companyId), isSelective: true as const }
    for await (const page of withProgress(ports.store.readAll(range), meter, signal)) {
      for (const stored of page) {
        const { stream, type } = stored
        if (stream <= after || (companyId !== null && companyOfStream(stream) !== companyId))
          continue
        if (hasFilter(input) && !matchesFilter(input, type, parseEvent(stored))) continue
        found.set(stream, { events: (found.get(stream)?.events ?? 0) + 1, last: stored })
      }
    }
    const names = [...found.keys()].toSorted()
    const rows = names.slice(0, limit).map((stream) => {
      const { events, last } = found.get(stream) as { events: number; last: StoredEvent }
      return { stream, events, lastRevision: last.revision, lastAt: parseEvent(last).at }
    })
    return { streams: rows, next: names.length > limit ? (rows.at(-1)?.stream ?? null) : null }
  },
  render: ({ streams: rows, next }, page) => {
    const table = renderTable(rows, page, "streams")
    return next === null ? table : `${table}There are more: continue with --after ${next}\n`
  },
})

/** A fact in two lines: stream, revision, type and time; then its data. */
function renderEvent({ stream, revision, type, at, data }: EventView): string {
  const head = `${stream} ${revision}  ${type}  ${at}`
  return `${escapeForTerminalOutput(head)}\n  ${escapeForTerminalOutput(JSON.stringify(data))}\n`
}

function hasFilter({ type, key, person, request, since, until }: z.infer<typeof Filter>): boolean {
  return [type, key, person, request, since, until].some((one) => one !== undefined)
}

/** Whether an event matches the filters. */
function matchesFilter(
  { type, key, person, request, since, until }: z.infer<typeof Filter>,
  found: string,
  { at, data, metadata }: ParsedEvent,
): boolean {
  if (type !== undefined && found !== type) return false
  if (key !== undefined && metadata["key"] !== key && !mentionsId(data, key)) return false
  if (person !== undefined && metadata["person"] !== person && !mentionsId(data, person))
    return false
  if (request !== undefined && metadata["command"] !== request) return false
  if (since !== undefined && Date.parse(at) < Date.parse(since)) return false
  return until === undefined || Date.parse(at) < Date.parse(until)
}

/**
 * Whether a fact mentions a key or person anywhere: as a limit's holder, in a counter, in a list.
 */
function mentionsId(value: unknown, id: string): boolean {
  if (typeof value !== "object" || value === null) return value === id
  return Object.values(value).some((one) => mentionsId(one, id))
}

interface EventView {
  readonly stream: string
  readonly revision: number
  readonly type: string
  readonly at: string
  readonly data: JsonFields
  readonly metadata: JsonFields
}

function parseEvent({ data: text, metadata }: StoredEvent): ParsedEvent {
  const data = JSON.parse(text) as JsonFields
  return { at: String(data["at"]), data, metadata: JSON.parse(metadata) as JsonFields }
}

async function toEventView(
  ports: Pick<AdminPorts, "sealing">,
  stored: StoredEvent,
  { at, data, metadata }: ParsedEvent,
  unseal: boolean,
): Promise<EventView> {
  const { stream, revision, type, id } = stored
  const opened = unseal
    ? ((await sealedFieldOpener(ports, stream, data)(data)) as JsonFields)
    : data
  return { stream, revision, type, at, data: opened, metadata: { id, ...metadata } }
}

export const streamOperations: readonly AdminOperation[] = [show, streams]
