import { randomUUID } from "node:crypto"

import type {
  EventStore,
  Position,
  ProposedEvent,
  StoredEvent,
  Subscription,
} from "../../adapters/eventstore/port.ts"
import { newSignal } from "../support/signal.ts"

/** An event with a new id. */
export function anEvent(parts: Partial<ProposedEvent> = {}): ProposedEvent {
  return { id: randomUUID(), type: "Tested", data: "{}", metadata: "{}", ...parts }
}

/** Events, each with its index as data. */
export function someEvents(count: number): ProposedEvent[] {
  return Array.from({ length: count }, (_, index) => anEvent({ data: String(index) }))
}

/** Collects the events of all pages. */
export async function collectEvents(
  pages: AsyncIterable<readonly StoredEvent[]>,
): Promise<readonly StoredEvent[]> {
  const events: StoredEvent[] = []
  for await (const page of pages) events.push(...page)
  return events
}

/** A subscription that records everything it receives. */
export interface TestSubscriber {
  readonly subscription: Subscription
  readonly events: readonly StoredEvent[]
  readonly heads: readonly Position[]
  readonly interruptions: readonly Error[]
  /** Waits until a received notification makes the condition true. */
  readonly until: (condition: () => boolean) => Promise<void>
}

/** Subscribes to a store; `handle` runs before events are recorded. */
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

/** The ids of events, to compare read events with written ones. */
export function eventIdsOf(events: readonly { readonly id: string }[]): readonly string[] {
  return events.map(({ id }) => id)
}

/** A store and a stream prefix for one test, because a server may have other events. */
export interface StoreScope {
  readonly store: EventStore
  /** The prefix of all streams of the test. */
  readonly prefix: string
  /** The head of the store when the test began. */
  readonly before: Position
  /** The full name of a stream of the test. */
  readonly stream: (name?: string) => string
}

/** Creates a scope with a new prefix. */
export async function newStoreScope(store: EventStore): Promise<StoreScope> {
  const prefix = `test-${randomUUID()}-`
  const before = await store.head()
  return { store, prefix, before, stream: (name = "a") => `${prefix}${name}` }
}
