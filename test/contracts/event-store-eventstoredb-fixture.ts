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

/** Servers of EventStoreDB and stores on them, which end with the test that opened them. */
export class EventStoreDbUnderTest {
  readonly #servers: EventStoreDbServer[] = []
  readonly #stores: EventStore[] = []

  /** Lets the test file end after each test what the test has opened. */
  constructor() {
    afterEach(async () => {
      await Promise.all(this.#stores.splice(0).map((store) => store.close()))
      await Promise.all(this.#servers.splice(0).map((server) => server.stop()))
    })
  }

  /** Starts a server of its own. */
  async start(options: EventStoreDbServerOptions = {}): Promise<EventStoreDbServer> {
    const server = await EventStoreDbServer.start(options)
    this.#servers.push(server)
    return server
  }

  /** Opens a store on a server, as another process would. */
  open(server: EventStoreDbServer, options: Partial<EventStoreDbOptions> = {}): EventStore {
    const store = openEventStoreDb({ url: server.url, ...options })
    this.#stores.push(store)
    return store
  }
}

/** Appends the same bytes until it is known that they are stored. */
export async function appendUntilStored(
  store: EventStore,
  ...append: Parameters<EventStore["append"]>
): Promise<AppendResult> {
  return retryWhileLost(() => store.append(...append))
}

/** Asks a store again and again while it is lost: on a busy machine it may be for being slow. */
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

/** Waits until something that happens outside of the test makes this true. */
export async function untilTrue(condition: () => boolean): Promise<void> {
  while (!condition()) await nextTurn()
}
