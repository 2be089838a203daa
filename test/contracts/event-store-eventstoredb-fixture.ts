import { setImmediate as nextTurn } from "node:timers/promises"

import { afterEach } from "vitest"

import {
  type EventStoreDbOptions,
  openEventStoreDb,
} from "../../adapters/eventstore/eventstoredb/event-store.ts"
import {
  type AppendResult,
  type EventStore,
  Unavailable,
  UnknownOutcome,
} from "../../adapters/eventstore/port.ts"
import {
  EventStoreDbServer,
  type EventStoreDbServerOptions,
} from "../support/eventstoredb-server.ts"

/** EventStoreDB servers and stores on them, which are closed after the test that opened them. */
export class EventStoreDbUnderTest {
  readonly #servers: EventStoreDbServer[] = []
  readonly #stores: EventStore[] = []

  /** Registers a hook that closes them after each test. */
  constructor() {
    afterEach(async () => {
      await Promise.all(this.#stores.splice(0).map((store) => store.close()))
      await Promise.all(this.#servers.splice(0).map((server) => server.stop()))
    })
  }

  async start(options: EventStoreDbServerOptions = {}): Promise<EventStoreDbServer> {
    const server = await EventStoreDbServer.start(options)
    this.#servers.push(server)
    return server
  }

  /** Opens a store on a server, as another process does. */
  open(server: EventStoreDbServer, options: Partial<EventStoreDbOptions> = {}): EventStore {
    const store = openEventStoreDb({ url: server.url, ...options })
    this.#stores.push(store)
    return store
  }
}

/** Repeats an append until it is known to be stored. */
export async function appendUntilStored(
  store: EventStore,
  ...append: Parameters<EventStore["append"]>
): Promise<AppendResult> {
  return retryWhileLost(() => store.append(...append))
}

/** Retries a request while the store is unavailable, which a slow machine can cause too. */
export async function retryWhileLost<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof UnknownOutcome || error instanceof Unavailable)) throw error
      await nextTurn()
    }
  }
}

/** Waits until something outside of the test makes the condition true. */
export async function untilTrue(condition: () => boolean): Promise<void> {
  while (!condition()) await nextTurn()
}
