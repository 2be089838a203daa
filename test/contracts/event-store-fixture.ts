import { randomUUID } from "node:crypto"

import type {
  EventStore,
  Position,
  ProposedEvent,
  StoredEvent,
  Subscription,
} from "../../adapters/eventstore/port.ts"
import { newSignal } from "../support/signal.ts"

/** An event with an id of its own. */
export function anEvent(parts: Partial<ProposedEvent> = {}): ProposedEvent {
  return { id: randomUUID(), type: "Tested", data: "{}", metadata: "{}", ...parts }
}

/** So many events, each with its number as data. */
export function someEvents(count: number): ProposedEvent[] {
  return Array.from({ length: count }, (_, index) => anEvent({ data: String(index) }))
}

/** All events of all pages. */
export async function collectEvents(
  pages: AsyncIterable<readonly StoredEvent[]>,
): Promise<readonly StoredEvent[]> {
  const events: StoredEvent[] = []
  for await (const page of pages) events.push(...page)
  return events
}

/** A subscription that keeps what it was told. */
export interface TestSubscriber {
  readonly subscription: Subscription
  readonly events: readonly StoredEvent[]
  readonly heads: readonly Position[]
  readonly interruptions: readonly Error[]
  /** Waits until something that it was told makes this true. */
  readonly until: (condition: () => boolean) => Promise<void>
}

/** Follows a store, with a handler that may do more than keep the events. */
export function subscribeRecording(
  store: EventStore,
  range: Parameters<EventStore["subscribeAll"]>[0],
  handle: (events: readonly StoredEvent[]) => Promise<void> = async () => undefined,
): TestSubscriber {
  const events: StoredEvent[] = []
  const heads: Position[] = []
  const interruptions: Error[] = []
  const { notify, until } = newSignal()
  const subscription = store.subscribeAll(range, {
    onEvents: async (batch) => {
      await handle(batch)
      events.push(...batch)
      notify()
    },
    onCaughtUp: (head) => {
      heads.push(head)
      notify()
    },
    onInterrupted: (cause) => {
      interruptions.push(cause)
      notify()
    },
  })
  return { subscription, events, heads, interruptions, until }
}

/** The ids of events, to compare what was read with what was written. */
export function eventIdsOf(events: readonly { readonly id: string }[]): readonly string[] {
  return events.map(({ id }) => id)
}

/** A store and a corner of it that no other test knows: a server may hold events of others. */
export interface StoreScope {
  readonly store: EventStore
  /** All streams of this test begin with it. */
  readonly prefix: string
  /** The head of the store when the test began. */
  readonly before: Position
  /** The name of a stream of this test. */
  readonly stream: (name?: string) => string
}

/** Finds a new corner of a store. */
export async function newStoreScope(store: EventStore): Promise<StoreScope> {
  const prefix = `test-${randomUUID()}-`
  const before = await store.head()
  return { store, prefix, before, stream: (name = "a") => `${prefix}${name}` }
}
