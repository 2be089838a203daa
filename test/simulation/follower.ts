/**
 * Keeping a read model up, in the one process that has the lease: what a subscription delivers is
 * written in transactions with the position. Whoever is in doubt looks at the stored position and
 * begins again from there.
 */
import type { EventStore, Position, Subscription } from "../../adapters/eventstore/port.ts"
import type { Database, Model } from "./database.ts"
import type { Owner } from "./schedule.ts"
import type { Wire } from "./wire.ts"
import { ask, askDatabase } from "./wire.ts"

const LOOK_EVERY_MS = 300

/** What a follower works with. */
export interface FollowerPorts {
  readonly wire: Wire
  readonly owner: Owner
  readonly store: EventStore
  readonly database: Database
  /** Told when something was written. */
  readonly onApplied: (model: Model) => void
}

/** The position is another than the one that was thought: somebody else writes as well. */
class Overtaken extends Error {
  override readonly name = "Overtaken"
}

/** Keeps a read model up for as long as this process has the lease, again and again. */
export async function keepUp(
  ports: FollowerPorts,
  model: Model,
  stopping: AbortSignal,
): Promise<void> {
  const { wire, owner, database } = ports
  const lease = `lease ${model}`
  while (!stopping.aborted) {
    try {
      const isHere = await askDatabase(wire, owner, () => {
        return database.has(lease, owner) || database.take(lease, owner)
      })
      if (isHere) await follow(ports, model, stopping)
    } catch (error) {
      // Nobody knows what of it is stored: the next round begins with a look.
      if (!(error instanceof Overtaken || isBroken(error))) throw error
    }
    await wire.schedule.pause(owner, LOOK_EVERY_MS, stopping)
  }
  await ask(wire, owner, () => database.release(lease, owner))
}

function isBroken(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ECONNRESET"
}

/** Follows the store from the stored position on. @throws Overtaken, and what breaks a connection */
async function follow(ports: FollowerPorts, model: Model, stopping: AbortSignal): Promise<void> {
  const { wire, owner, store, database, onApplied } = ports
  let known: Position = await askDatabase(wire, owner, () => database.positionOf(model))
  if (stopping.aborted) return
  const failed = Promise.withResolvers<never>()
  const change = async (write: () => boolean | Promise<boolean>): Promise<void> => {
    try {
      const written = await askDatabase(wire, owner, async () => {
        const isMine = await write()
        return isMine ? database.positionOf(model) : null
      })
      if (written === null) throw new Overtaken(`somebody else keeps ${model} up`)
      known = written
    } catch (error) {
      failed.reject(error)
      // This subscription handles nothing more: another one begins from the stored position.
      await new Promise(() => undefined)
    }
  }
  const subscription: Subscription = store.subscribeAll(
    { after: known },
    {
      onEvents: async (events) => {
        await change(() => database.write(model, known, events))
        onApplied(model)
      },
      onCaughtUp: (head) => change(() => database.moveTo(model, known, head)),
    },
  )
  const stopped = new Promise<void>((resolve) => {
    stopping.addEventListener("abort", () => resolve())
  })
  try {
    await Promise.race([failed.promise, stopped, subscription.ended])
  } finally {
    void subscription.stop()
  }
}
