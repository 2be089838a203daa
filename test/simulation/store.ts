/** The event store as one process has it: everything takes its time, and may go wrong. */
import type {
  Appended,
  EventStore,
  ProposedEvent,
  ReadAllRange,
  ReadRange,
  StoredEvent,
} from "../../adapters/eventstore/port.ts"
import { Unavailable, UnknownOutcome } from "../../adapters/eventstore/port.ts"
import type { Owner } from "./schedule.ts"
import { WORLD } from "./schedule.ts"
import type { Shared } from "./shared.ts"
import { subscribe } from "./subscription.ts"
import type { Wire } from "./wire.ts"
import { ask, latency, never } from "./wire.ts"

/** What becomes of an append. */
type Fate = "stored" | "unavailable" | "request lost" | "answer lost" | "late"

/** The store as a process has it. */
export function storeOf(shared: Shared, owner: Owner): EventStore {
  return {
    append: (stream, events, expected) => append(shared, owner, stream, events, expected),
    read: (stream, range) => {
      return pages(shared, owner, () => collect(shared.store.read(stream, range as ReadRange)))
    },
    readAll: (range) => {
      return pages(shared, owner, () => collect(shared.store.readAll(range as ReadAllRange)))
    },
    subscribeAll: (range, subscriber) => subscribe(shared, owner, range, subscriber),
    head: () => ask(shared, owner, () => reached(shared, () => shared.store.head())),
    ready: async () => undefined,
    appendWaitMs: () => 0,
    close: async () => undefined,
  }
}

function drawFate({ chance, faults }: Wire): Fate {
  if (chance.happens(faults.unavailable)) return "unavailable"
  if (chance.happens(faults.lostRequest)) return "request lost"
  if (chance.happens(faults.lostAnswer)) return "answer lost"
  return chance.happens(faults.lateAppend) ? "late" : "stored"
}

async function append(
  shared: Shared,
  owner: Owner,
  stream: string,
  events: readonly ProposedEvent[],
  expected: number,
): Promise<Appended> {
  if (!owner.isAlive) return never()
  const { chance, schedule, truth } = shared
  const store = async (): Promise<Appended> => {
    try {
      const appended = await shared.store.append(stream, events, expected)
      truth.note(schedule.now, owner.name, stream, appended.revision + 1, events)
      if (chance.happens(shared.faults.crashesStored)) shared.doomed.add(owner)
      return appended
    } catch (error) {
      shared.count(`append met ${error instanceof Error ? error.name : "nothing"}`)
      throw error
    }
  }
  const fate = drawFate(shared)
  shared.count(`append ${fate}`)
  if (fate === "stored") return ask(shared, owner, store)
  if (fate === "unavailable") {
    return ask(shared, owner, () => {
      throw new Unavailable("fault: the store cannot be reached")
    })
  }
  if (fate !== "request lost") {
    const onItsWay = fate === "late" ? chance.between(100, 6_000) : latency(shared)
    // Nobody hears what the store says to it.
    schedule.after(onItsWay, WORLD, () => void store().catch(() => undefined))
  }
  await schedule.pause(owner, chance.between(50, 1_500))
  throw new UnknownOutcome(`fault: ${fate}`)
}

/** What the store gives, unless it cannot be reached. @throws Unavailable */
async function reached<T>({ chance, faults }: Wire, read: () => Promise<T>): Promise<T> {
  if (chance.happens(faults.unavailable)) throw new Unavailable("fault: the store is away")
  return read()
}

async function collect(read: AsyncIterable<readonly StoredEvent[]>): Promise<StoredEvent[]> {
  const events: StoredEvent[] = []
  for await (const page of read) events.push(...page)
  return events
}

/** What is read, page by page; the store may be lost between two of them. */
async function* pages(
  shared: Shared,
  owner: Owner,
  read: () => Promise<StoredEvent[]>,
): AsyncGenerator<readonly StoredEvent[]> {
  let events = await ask(shared, owner, () => reached(shared, read))
  while (events.length > 0) {
    const size = shared.chance.between(1, events.length)
    yield events.slice(0, size)
    events = events.slice(size)
    if (events.length > 0) await ask(shared, owner, () => reached(shared, async () => undefined))
  }
}
