/** Reading the streams as people do: which there are, and what stands in one. */
import { z } from "zod"
import type { StoredEvent } from "../../../adapters/eventstore/port.ts"
import { isAdminRole } from "../../../domain/access/permissions.ts"
import { companyOf } from "../../../domain/kernel/aggregate.ts"
import { reaches } from "../missing-streams.ts"
import { paceTo, paced } from "../findings.ts"
import { opening } from "./company-data.ts"
import { renderTable } from "../../frame/operator/cli/render.ts"
import { harmless } from "../../frame/operator/cli/terminal.ts"
import { company, exactTime, findCompany, someId } from "../../frame/operator/inputs.ts"
import type { AdminOperation, AdminPorts } from "../../frame/operator/operation.ts"
import { OperatorRefused, operation } from "../../frame/operator/operation.ts"

/** So many are shown at a time, unless asked for fewer. */
const MOST_SHOWN = 100_000
const STREAMS_SHOWN = 1_000

/** Which facts are meant. */
const Filter = z.object({
  type: z.string().optional().meta({ description: "only facts of this type" }),
  key: z.string().optional().meta({ description: "only facts by or about this key, by id" }),
  person: z.string().optional().meta({ description: "only facts by or about this person, by id" }),
  request: z.string().optional().meta({
    description: "only facts that this request caused, by the id of its answer",
  }),
  since: exactTime.optional().meta({ description: "only facts from this time on" }),
  until: exactTime.optional().meta({ description: "only facts before this time" }),
})

const atMost = z.int().positive().max(MOST_SHOWN).meta({ description: "at most so many" })

type Fields = Readonly<Record<string, unknown>>

/** An event as it is read: its texts parsed. */
interface Parsed {
  readonly at: string
  readonly data: Fields
  readonly metadata: Fields
}

const show = operation({
  name: "audit show",
  summary: "show the facts of a stream",
  notes: [
    "Times are ISO 8601 in UTC. Personal fields are sealed unless --unseal is given.",
    "Amounts in facts are micros, millionths of a US dollar.",
    "At most 100,000 are shown at a time; --from goes on where the last page ended.",
  ],
  example: "audit show ledger-co_x7Kq2M --type Charged --since 2026-11-01T00:00:00Z",
  isPatient: true,
  input: Filter.extend({
    stream: someId.meta({
      description: "the stream, such as ledger-<companyId>",
      argument: "STREAM",
    }),
    from: z.int().nonnegative().optional().meta({ description: "only from this revision on" }),
    limit: atMost.default(MOST_SHOWN),
    unseal: z
      .boolean()
      .default(false)
      .meta({ description: "show personal fields, as far as their keys are there" }),
  }),
  console: {
    permission: "See billing",
    bars: ({ input, me }) =>
      input.unseal && !isAdminRole(me.role)
        ? "Only an owner or admin sees names, numbers and texts in the clear."
        : null,
  },
  run: async ({ ports, signal }, input) => {
    const { stream, from = 0, limit, unseal } = input
    const events: ShownEvent[] = []
    let isThere = false
    for await (const page of ports.store.read(stream, { from })) {
      signal.throwIfAborted()
      isThere ||= page.length > 0
      for (const stored of page) {
        const parsed = parse(stored)
        if (!passes(input, stored.type, parsed)) continue
        // One more than is shown says where to go on.
        if (events.length === limit) return { events, next: stored.revision }
        events.push(await shown(ports, stored, parsed, unseal))
      }
    }
    if (isThere || (await reaches(ports, stream, 0))) return { events, next: null }
    const message = `There is no stream ${stream}: "audit streams" lists those that there are.`
    throw new OperatorRefused("not_found", message)
  },
  render: ({ events, next }) => {
    const text = events.length === 0 ? "No facts.\n" : events.map(renderEvent).join("")
    return next === null ? text : `${text}There are more: go on with --from ${next}.\n`
  },
})

const streams = operation({
  name: "audit streams",
  summary: "list the streams, or those with such facts, by name",
  notes: ["The facts of a stream that pass are counted; its end is that of the last of them."],
  example: "audit streams --company acme --type ChargeRefused",
  isPatient: true,
  input: z.object({
    company: company.optional().meta({ description: "only this company's, by id or name" }),
    ...Filter.shape,
    after: z
      .string()
      .default("")
      .meta({ description: "only those behind this name", takes: "stream", form: "text" }),
    limit: atMost.default(STREAMS_SHOWN),
  }),
  console: { permission: "See billing" },
  run: async ({ ports, progress, signal }, input) => {
    const { company: named, after, limit } = input
    const companyId = named === undefined ? null : await findCompany(ports, named)
    const pace = paceTo(await ports.store.head(), progress)
    const found = new Map<string, { events: number; last: StoredEvent }>()
    const range =
      companyId === null
        ? {}
        : { prefixes: ports.streams.prefixesOf(companyId), isNarrow: true as const }
    for await (const page of paced(ports.store.readAll(range), pace, signal)) {
      for (const stored of page) {
        const { stream, type } = stored
        if (stream <= after || (companyId !== null && companyOf(stream) !== companyId)) continue
        if (isFiltered(input) && !passes(input, type, parse(stored))) continue
        found.set(stream, { events: (found.get(stream)?.events ?? 0) + 1, last: stored })
      }
    }
    const names = [...found.keys()].toSorted()
    const rows = names.slice(0, limit).map((stream) => {
      const { events, last } = found.get(stream) as { events: number; last: StoredEvent }
      return { stream, events, lastRevision: last.revision, lastAt: parse(last).at }
    })
    return { streams: rows, next: names.length > limit ? (rows.at(-1)?.stream ?? null) : null }
  },
  render: ({ streams: rows, next }, page) => {
    const table = renderTable(rows, page, "streams")
    return next === null ? table : `${table}There are more: --after ${next}\n`
  },
})

/** A fact on two lines: where, what and when; then what it says. */
function renderEvent({ stream, revision, type, at, data }: ShownEvent): string {
  const head = `${stream} ${revision}  ${type}  ${at}`
  return `${harmless(head)}\n  ${harmless(JSON.stringify(data))}\n`
}

function isFiltered({ type, key, person, request, since, until }: z.infer<typeof Filter>): boolean {
  return [type, key, person, request, since, until].some((one) => one !== undefined)
}

/** Whether an event is one that was asked for. */
function passes(
  { type, key, person, request, since, until }: z.infer<typeof Filter>,
  found: string,
  { at, data, metadata }: Parsed,
): boolean {
  if (type !== undefined && found !== type) return false
  if (key !== undefined && metadata["key"] !== key && !isAbout(data, key)) return false
  if (person !== undefined && metadata["person"] !== person && !isAbout(data, person)) return false
  if (request !== undefined && metadata["command"] !== request) return false
  if (since !== undefined && Date.parse(at) < Date.parse(since)) return false
  return until === undefined || Date.parse(at) < Date.parse(until)
}

/** Whether a fact is about a key or a person, wherever in it: a limit's holder, a tally, a list. */
function isAbout(value: unknown, id: string): boolean {
  if (typeof value !== "object" || value === null) return value === id
  return Object.values(value).some((one) => isAbout(one, id))
}

interface ShownEvent {
  readonly stream: string
  readonly revision: number
  readonly type: string
  readonly at: string
  readonly data: Fields
  readonly metadata: Fields
}

function parse({ data: text, metadata }: StoredEvent): Parsed {
  const data = JSON.parse(text) as Fields
  return { at: String(data["at"]), data, metadata: JSON.parse(metadata) as Fields }
}

async function shown(
  ports: Pick<AdminPorts, "sealing">,
  stored: StoredEvent,
  { at, data, metadata }: Parsed,
  unseal: boolean,
): Promise<ShownEvent> {
  const { stream, revision, type, id } = stored
  const opened = unseal ? ((await opening(ports, stream, data)(data)) as Fields) : data
  return { stream, revision, type, at, data: opened, metadata: { id, ...metadata } }
}

/** Operations that read streams. */
export const streamOperations: readonly AdminOperation[] = [show, streams]
