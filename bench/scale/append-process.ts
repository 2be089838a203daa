/** Run in a process of its own: appends events of the size of a charge, or follows other processes' events. */
import { randomUUID } from "node:crypto"
import type { EventStore } from "../../adapters/eventstore/port.ts"
import { NO_STREAM } from "../../adapters/eventstore/port.ts"
import { openPostgresEventStore } from "../../adapters/eventstore/postgres/event-store.ts"
import { runConcurrentCallers } from "../fixtures/concurrent-callers.ts"

export type AppenderCommand =
  | { readonly append: { readonly url: string; readonly callers: number; readonly forMs: number } }
  | { readonly follow: { readonly url: string } }
  | { readonly followed: { readonly events: number } }

/** The result: events, and the CPU time of all of them, microseconds. */
export interface AppenderResult {
  readonly events: number
  readonly cpu: number
}

const DATA = `{"${"d".repeat(520)}":1}`
const METADATA = `{"${"m".repeat(120)}":1}`
const NOTHING: AppenderResult = { events: 0, cpu: 0 }
const stores = new Map<string, EventStore>()
let followed = { events: 0, before: process.cpuUsage() }
let reached = Promise.withResolvers<void>()

process.on("message", (command: AppenderCommand) => {
  void runCommand(command).then((work) => process.send?.(work))
})

async function runCommand(command: AppenderCommand): Promise<AppenderResult> {
  if ("append" in command) return append(command.append)
  if ("follow" in command) return follow(command.follow.url)
  while (followed.events < command.followed.events) {
    reached = Promise.withResolvers()
    await reached.promise
  }
  return { events: followed.events, cpu: cpuSince(followed.before) }
}

function storeAt(url: string): EventStore {
  const store = stores.get(url) ?? openPostgresEventStore({ url })
  stores.set(url, store)
  return store
}

function cpuSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before)
  return user + system
}

type Append = Extract<AppenderCommand, { append: unknown }>["append"]

/** Appends by callers that each have their own stream and wait for each answer. */
async function append({ url, callers, forMs }: Append): Promise<AppenderResult> {
  const store = storeAt(url)
  await store.ready()
  const streams = Array.from({ length: callers }, () => `bench-${randomUUID()}`)
  const revisions = streams.map(() => NO_STREAM)
  const before = process.cpuUsage()
  const one = async (caller: number): Promise<boolean> => {
    const event = { id: randomUUID(), type: "Appended", data: DATA, metadata: METADATA }
    const stream = streams[caller] as string
    const appended = await store.append(stream, [event], revisions[caller] as number)
    revisions[caller] = appended.revision
    return true
  }
  const { count } = await runConcurrentCallers(callers, one, new AbortController().signal, forMs)
  return { events: count, cpu: cpuSince(before) }
}

async function follow(url: string): Promise<AppenderResult> {
  const store = storeAt(url)
  const caughtUp = Promise.withResolvers<void>()
  store.subscribeAll(
    { after: await store.head() },
    {
      onEvents: async (events) => {
        followed.events += events.length
        reached.resolve()
      },
      onCaughtUp: () => caughtUp.resolve(),
      onInterrupted: () => undefined,
    },
  )
  await caughtUp.promise
  followed = { events: 0, before: process.cpuUsage() }
  return NOTHING
}
