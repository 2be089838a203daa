/** The parts of an installation that failpoints stand around; each is the given one otherwise. */
import type { Server } from "node:http"
import type { Projection } from "../../../projections/kernel/projection.ts"
import type { EventStore } from "../../eventstore/port.ts"
import type { Reach } from "./failpoints.ts"

/** A store that may end the process right before an append, or right after it was stored. */
export function failingStore(store: EventStore, reach: Reach): EventStore {
  return {
    ...store,
    append: async (stream, events, expectedRevision) => {
      const types = events.map(({ type }) => type)
      reach("append.before", types)
      const stored = await store.append(stream, events, expectedRevision)
      reach("append.after", types)
      return stored
    },
  }
}

/**
 * A provider that may end the process right before it is asked for an act, or right after its answer.
 *
 * @throws TypeError where that is no act
 */
export function failingProvider<P extends object>(port: P, act: keyof P, reach: Reach): P {
  const perform = port[act]
  if (typeof perform !== "function") throw new TypeError(`${String(act)} is no act of a provider`)
  const performing = async (...given: readonly unknown[]): Promise<unknown> => {
    reach("provider.before")
    const answer: unknown = await perform.apply(port, given)
    reach("provider.after")
    return answer
  }
  return { ...port, [act]: performing }
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
