/**
 * Waiting until the other processes of an installation have heard of what this one stored. A process
 * answers looks from memory that is at most a second old; whoever has just locked a company, or set a
 * limit, is told so only once nobody lets a caller in, or turns one away, on what was before.
 */
import { randomUUID } from "node:crypto"
import type { Pacer } from "../../adapters/clock/port.ts"
import type { Position } from "../../adapters/eventstore/port.ts"
import type { Calls, Processes } from "../../adapters/processes/port.ts"
import { FRESH_FOR_MS } from "../frame/writer/runner/fresh.ts"

/** What the processes call out to one another. */
const ASKED = "ledger_heard_asked"
const HEARD = "ledger_heard"

/** What this works with. */
export interface HearingPorts {
  readonly processes: Pick<Processes, "own"> & Calls
  readonly pacer: Pacer
  /** True once this process has heard of everything up to a place; false where the store is lost before. */
  readonly handedOver: (place: Position) => Promise<boolean>
  readonly warn: (message: string, error: unknown) => void
}

/** Resolves once every other process has heard of a place, and after a second in any case. */
export type HeardElsewhere = (place: Position) => Promise<void>

/** Begins to answer the others. @throws the driver's error where the database cannot be told */
export async function openHearing(ports: HearingPorts): Promise<HeardElsewhere> {
  const { processes, pacer, handedOver, warn } = ports
  const waiting = new Map<string, (processId: string) => void>()
  await processes.listen(HEARD, (text) => {
    const [question = "", processId = ""] = text?.split(" ") ?? []
    waiting.get(question)?.(processId)
  })
  await processes.listen(ASKED, (text) => {
    const [question = "", asker, commit, prepare] = text?.split(" ") ?? []
    if (commit === undefined || prepare === undefined || asker === processes.own) return
    const answer = async (): Promise<void> => {
      const place = { commit: BigInt(commit), prepare: BigInt(prepare) }
      if (await handedOver(place)) await processes.call(HEARD, `${question} ${processes.own}`)
    }
    // Whoever asked waits no longer than what is in memory here may be used.
    answer().catch((error: unknown) => warn("another process could not be answered", error))
  })
  const ask = async (place: Position): Promise<void> => {
    const others = new Set(await processes.others())
    if (others.size === 0) return
    const question = randomUUID()
    const late = new AbortController()
    const { promise, resolve } = Promise.withResolvers<void>()
    waiting.set(question, (processId) => {
      others.delete(processId)
      if (others.size === 0) resolve()
    })
    try {
      const { commit, prepare } = place
      await processes.call(ASKED, `${question} ${processes.own} ${commit} ${prepare}`)
      await Promise.race([promise, pacer.pause(FRESH_FOR_MS, late.signal)])
    } finally {
      waiting.delete(question)
      late.abort()
    }
  }
  return async (place) => {
    try {
      await ask(place)
    } catch (error) {
      // What was stored is stored: whoever did it is told so, once nothing older can be answered from.
      warn("the other processes could not be asked what they have heard", error)
      await pacer.pause(FRESH_FOR_MS)
    }
  }
}
