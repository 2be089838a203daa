/**
 * Waiting until the other processes of an installation have heard of what this one stored. A process
 * answers looks from memory that is at most a second old; whoever has just locked a company, or set a
 * limit, is told so only once nobody lets a caller in, or turns one away, on what was before.
 */
import type { Position } from "../../../adapters/eventstore/port.ts"
import type { AskPorts } from "../../frame/writer/ask-others.ts"
import { openAsking } from "../../frame/writer/ask-others.ts"
import { FRESH_FOR_MS } from "../../frame/writer/runner/fresh.ts"

/** What the processes call out to one another. */
const HEARD = "ledger_heard"

/** What this works with. */
export interface HearingPorts extends AskPorts {
  /** True once this process has heard of everything up to a place; false where the store is lost before. */
  readonly handedOver: (place: Position) => Promise<boolean>
}

/** Resolves once every other process has heard of a place, and after a second in any case. */
export type HeardElsewhere = (place: Position) => Promise<void>

/** Begins to answer the others. @throws the driver's error where the database cannot be told */
export async function openHearing(ports: HearingPorts): Promise<HeardElsewhere> {
  const { pacer, handedOver, warn } = ports
  const ask = await openAsking(ports, HEARD, async (text) => {
    const [commit, prepare] = text.split(" ")
    if (commit === undefined || prepare === undefined) return false
    return handedOver({ commit: BigInt(commit), prepare: BigInt(prepare) })
  })
  return async ({ commit, prepare }) => {
    try {
      // Whoever asked waits no longer than what is in memory elsewhere may be used.
      await ask(`${commit} ${prepare}`, FRESH_FOR_MS)
    } catch (error) {
      // What was stored is stored: whoever did it is told so, once nothing older can be answered from.
      warn("the other processes could not be asked what they have heard", error)
      await pacer.pause(FRESH_FOR_MS)
    }
  }
}
