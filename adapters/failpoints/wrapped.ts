/** The parts of an installation that failpoints stand around; each is the given one otherwise. */
import type { Server } from "node:http"
import type { Projection } from "../../projections/kernel/projection.ts"
import type { Carrier } from "../providers/carrier/port.ts"
import type { EventStore } from "../eventstore/port.ts"
import type { Reach } from "./failpoints.ts"

/** A store that may end the process right before an append, or right after it was stored. */
export function failingStore(store: EventStore, reach: Reach): EventStore {
  return {
    ...store,
    append: async (stream, events, expectedRevision) => {
      reach("append.before")
      const stored = await store.append(stream, events, expectedRevision)
      reach("append.after")
      return stored
    },
  }
}

/** A carrier that may end the process right before a text is handed to it, or right after its yes. */
export function failingCarrier(carrier: Carrier, reach: Reach): Carrier {
  return {
    ...carrier,
    send: async (text) => {
      reach("provider.before")
      const answer = await carrier.send(text)
      reach("provider.after")
      return answer
    },
  }
}

/** A read model that may end the process when its rows are written and not committed. */
export function failingProjection(projection: Projection, reach: Reach): Projection {
  return {
    ...projection,
    apply: async (tx, facts, opener) => {
      await projection.apply(tx, facts, opener)
      reach("projection.inside")
    },
  }
}

/** Lets a server end the process when an answer has left it, and others of its batch have not. */
export function failBetweenAnswers(server: Pick<Server, "on">, reach: Reach): void {
  server.on("request", (_request, response) => {
    response.once("finish", () => reach("answers.between"))
  })
}
