/**
 * A sample slice with one of each part that a slice can contribute in addition to paid routes: a stream and a read
 * model of notes, a table, a setting, a port, a host route, a webhook and a daemon.
 */
import { createHmac } from "node:crypto"
import type { Transaction } from "kysely"
import { sql } from "kysely"
import { z } from "zod"
import type { Simulator } from "../../adapters/providers/simulators/port.ts"
import { COMPANY_SUBJECT } from "../../adapters/sealing/port.ts"
import { streamOf } from "../../domain/kernel/aggregate.ts"
import type { Decider } from "../../domain/kernel/decider.ts"
import type { FactOf, EventFormats } from "../../domain/kernel/event-format.ts"
import { codecOf, asciiText, instant } from "../../domain/kernel/event-format.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { parseCompanyId } from "../../domain/kernel/ids.ts"
import { companyFacts, defineReadModel } from "../../projections/kernel/projection.ts"
import type { SliceErrorCode } from "../../src/frame/routes/answers/refusal.ts"
import { refusal } from "../../src/frame/routes/answers/refusal.ts"
import { CHUNKED_BODY, route } from "../../src/frame/routes/declare/route.ts"
import { webhook } from "../../src/frame/routes/declare/webhook.ts"
import type { HostRoute } from "../../src/frame/http/host-routes.ts"
import { companyInput, findCompany } from "../../src/frame/operator/inputs.ts"
import { operation } from "../../src/frame/operator/operation.ts"
import type { Ports } from "../../src/frame/ports.ts"
import type { Provider } from "../../src/frame/provider.ts"
import { defineSettings } from "../../src/frame/settings.ts"
import type { Slice } from "../../src/frame/slice.ts"

/** Answers with the text that it gets, loudly or not. */
interface Echo {
  readonly say: (text: string) => Promise<string>
}

declare module "../../src/frame/ports.ts" {
  interface ProviderPorts {
    readonly echo: Echo
  }
}

const ECHO = { name: "echo", outcomes: ["loud"] } as const satisfies Simulator

const echoSettings = defineSettings({
  from: import.meta.url,
  schema: z.object({
    ECHO_PREFIX: z.string().default(""),
    ECHO_SECRET: z.string().min(4, "must have four letters").optional(),
  }),
  secret: ["ECHO_SECRET"],
  faults: (given) =>
    given["ECHO_PREFIX"] !== undefined && given["ECHO_SECRET"] === undefined
      ? ["ECHO_PREFIX is nothing without ECHO_SECRET: set both."]
      : [],
})

const echoProviders: readonly Provider[] = [
  {
    from: import.meta.url,
    name: "echo",
    simulator: ECHO,
    open: async ({ settings: read, simulators }) => {
      const { ECHO_PREFIX: prefix } = read(echoSettings)
      const say = async (text: string) => {
        const answer = `${prefix}${text}`
        return (await simulators.nextOutcome(ECHO)) === "loud" ? answer.toUpperCase() : answer
      }
      return { echo: { say } }
    },
  },
]

const echoHostRoutes = ({ echo }: Ports): readonly HostRoute[] => [
  {
    name: "echoes",
    matches: (host) => host.endsWith(".echo.test"),
    serve: (_request, response) => {
      void echo.say("host route").then((text) => response.end(text))
    },
    upgrade: (_request, socket, head) => {
      socket.write(
        "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n",
      )
      // Bytes that arrived together with the request are echoed first.
      socket.write(head)
      socket.pipe(socket)
    },
  },
]

const formats = {
  NoteTaken: { version: 1, fields: { at: instant, name: asciiText, text: asciiText } },
} satisfies EventFormats
type NoteTaken = FactOf<typeof formats>

declare module "../../domain/kernel/facts.ts" {
  interface FactsByCategory {
    readonly notes: NoteTaken
  }
}

interface TakeNote {
  readonly type: "TakeNote"
  readonly name: string
  readonly text: string
}
type NoteRefused = { readonly type: "NoteRefused"; readonly at: number; readonly code: "taken" }

const notes: Decider<TakeNote, Set<string>, NoteTaken, NoteRefused> = {
  initial: () => new Set(),
  decide: ({ name, text }, known, { at }) =>
    known.has(name)
      ? { type: "NoteRefused", at, code: "taken" }
      : [{ type: "NoteTaken", at, name, text }],
  evolve: (known, { name }) => known.add(name),
}

/** The notes of a company. */
const NOTES = { category: "notes" as const, decider: notes, codec: codecOf(formats) }
/** The stream of a company's notes. */
const notesOf = (companyId: CompanyId) => streamOf(NOTES, companyId)

/** Read model `notes`: notes by their names. */
const notesReadModel = defineReadModel({
  name: "notes",
  version: 1,
  on: ["NoteTaken"],
  tables: ["notes"],
  create: `
    create table notes (
      company_id text not null,
      name text not null,
      text text not null,
      primary key (company_id, name)
    )`,
  apply: async (
    tx: Transaction<{ notes: { company_id: string; name: string; text: string } }>,
    all,
  ) => {
    for (const { fact, companyId: company_id } of companyFacts(all)) {
      await tx
        .insertInto("notes")
        .values({ company_id, name: fact.name, text: fact.text })
        .execute()
    }
  },
})

const NO_ECHO: SliceErrorCode = {
  error: "no_echo",
  status: 409,
  example: { message: "Nothing comes back from there.", from: "a wall" },
}

const base = { group: "pretended", operation: "sandbox.read", isCounted: true } as const
const Noted = z.object({ notes: z.array(z.object({ name: z.string(), text: z.string() })) })

const routes = [
  route({
    ...base,
    name: "listNotes",
    method: "GET",
    url: "/api/v1/pretended/notes",
    summary: "Notes",
    readModels: ["notes"],
    reply: Noted,
    handle: async ({ readAs }, { companyId }) => {
      const found = await readAs(companyId, (db) =>
        sql<{ name: string; text: string }>`select name, text from notes order by name`.execute(db),
      )
      return { ok: true, body: { notes: found.rows } }
    },
  }),
  route({
    ...base,
    name: "echo",
    method: "POST",
    url: "/api/v1/pretended/echoes",
    summary: "Echo",
    body: z.object({ text: z.string() }),
    reply: z.object({ heard: z.string() }),
    refusalCodes: [NO_ECHO],
    handle: async ({ echo }, _caller, { body: { text } }) => {
      if (text === "") {
        const { message, ...details } = NO_ECHO.example
        return { ok: false, refusal: refusal(NO_ECHO, message, details) }
      }
      return { ok: true, body: { heard: await echo.say(text) } }
    },
  }),
  route({
    ...base,
    name: "recordTape",
    method: "PUT",
    url: "/api/v1/pretended/tapes/:tape",
    summary: "Record",
    params: z.object({ tape: z.string() }),
    body: CHUNKED_BODY,
    statuses: [201],
    reply: z.object({ bytes: z.int() }),
    handle: async ({ blobs }, { companyId }, { body, params }) => {
      const blob = { companyId, subject: COMPANY_SUBJECT, blobId: params.tape }
      const { length } = await blobs.write(blob, body, { maxBytes: 1_000_000 })
      return { ok: true, body: { bytes: length } }
    },
  }),
  route({
    ...base,
    name: "playTape",
    method: "GET",
    url: "/api/v1/pretended/tapes/:tape",
    summary: "Play",
    params: z.object({ tape: z.string() }),
    fileTypes: ["audio/mpeg"],
    statuses: [200, 206],
    reply: z.string(),
    refusalCodes: ["not_found", "range_not_satisfiable"],
    handle: async ({ blobs }, { companyId }, { params }) => {
      const blob = await blobs.find(companyId, params.tape)
      if (blob === null) return { ok: false, refusal: refusal("not_found", "There is no tape.") }
      const { length: size, read } = blob
      return {
        ok: true,
        body: "",
        streamedBody: {
          mediaType: "audio/mpeg",
          size,
          read: (from: number, until: number) => read({ from, until }),
        },
      }
    },
  }),
]

const SIGNING_KEY = "pretended"

/** The provider's signature of these bytes. */
export const signatureOf = (raw: string): string =>
  createHmac("sha256", SIGNING_KEY).update(raw).digest("hex")

const WebhookPayload = z.object({
  at: z.number(),
  events: z.array(z.object({ id: z.string(), account: z.string(), name: z.string() })),
})

const sampleWebhook = webhook<{ readonly name: string }>({
  provider: "pretended",
  url: "/hooks/pretended",
  verify: async (_ports, raw, { headers }) => {
    const text = Buffer.from(raw).toString()
    if (headers["x-signature"]?.[0] !== signatureOf(text)) return null
    const { at, events } = WebhookPayload.parse(JSON.parse(text))
    return {
      signedAt: at,
      events: events.map(({ id, account, name }) => ({
        id,
        companyId: parseCompanyId(account),
        event: { name },
      })),
    }
  },
  handleEvent: async ({ runner }, companyId, { name }, cause) => {
    if (name === "broken") throw new Error("the pretended rules are broken")
    await runner.execute(
      notesOf(companyId),
      { type: "TakeNote", name, text: "from the webhook" },
      cause,
    )
  },
})

const migrations: NonNullable<Slice["migrations"]> = {
  "parts-0001-labels": {
    up: async (db) => {
      await sql`create table ledger.labels (
        label_id bigint generated always as identity primary key,
        company_id text not null, label text not null)`.execute(db)
    },
  },
}

const tables: NonNullable<Slice["tables"]> = [
  {
    table: "labels",
    identityColumn: "label_id",
    backup: { phase: "after", orderBy: "label_id" },
    erased: true,
  },
]

const commands: NonNullable<Slice["commands"]> = [
  operation({
    name: "note take",
    summary: "take a note",
    example: "note take --company acme --name a",
    changes: true,
    input: z.object({ company: companyInput, name: z.string() }),
    run: async ({ ports, cause }, { company: named, name }) => {
      const companyId = await findCompany(ports, named)
      const command = { type: "TakeNote" as const, name, text: "by hand" }
      await ports.runner.execute(notesOf(companyId), command, cause)
      return { name }
    },
  }),
]

/** State of the slice that a test reads and changes. */
export interface SamplePartsState {
  /** Erasures, sweeps, starts and stops, in order. */
  readonly actions: string[]
  isHealthy: boolean
}

/** Builds the slice. */
export function samplePartsSlice(parts: SamplePartsState): Slice {
  return {
    name: "parts",
    streams: { perCompany: [NOTES] },
    readModels: [notesReadModel],
    groups: { pretended: "Sample routes of the tests." },
    routes,
    webhooks: [sampleWebhook],
    settings: [echoSettings],
    providers: echoProviders,
    migrations,
    tables,
    commands,
    hostRoutes: echoHostRoutes,
    erase: async (_ports, companyId) => {
      parts.actions.push(`erased ${companyId}`)
    },
    sweep: async () => {
      parts.actions.push("swept")
    },
    daemons: [
      {
        displayName: "the echo daemon",
        start: async () => {
          parts.actions.push("started")
          return { stop: async () => void parts.actions.push("stopped") }
        },
      },
    ],
    probes: [
      {
        name: "echo",
        isRequired: true,
        fix: "speak up",
        check: async () => {
          if (!parts.isHealthy) throw new Error("no echo")
        },
      },
    ],
    doctorCheck: async ({ settings: read }) => [
      { check: "echo", state: "ok", says: `prefix "${read(echoSettings).ECHO_PREFIX}"`, fix: null },
    ],
    metrics: [
      {
        name: "ledger_echoes",
        help: "Echoes by loudness.",
        labels: ["loudness"],
        read: async () => [{ labels: { loudness: "low" }, value: 3 }],
      },
    ],
    topics: { note: "notes" },
  }
}
