/**
 * What is gathered beside a stream's state on its way into the stream: it leads the next append,
 * and survives a state that is thrown away.
 */
import { causedBy } from "../../kernel/envelope.ts"
import { newId } from "../../kernel/ids.ts"
import type { Lane, Waiting } from "./lane.ts"
import type { Loaded } from "./load.ts"
import type { RunnerPorts } from "./port.ts"

/** Takes out what is gathered, as somebody in the queue; null where nothing is. */
export function takeGathered(
  ports: RunnerPorts,
  lane: Lane,
  loaded: Loaded<unknown>,
): Waiting | null {
  if (!lane.hasGathered) return null
  lane.hasGathered = false
  const command = lane.aggregate.gathering?.take(loaded.state) as object | null
  if (command === null) return null
  const arrivedAt = ports.pacer.elapsedMs()
  return {
    command: { given: command, cause: causedBy(newId("cmd", ports.newUuid?.())) },
    // These calls were served already: they are not lost because the time is not known just now.
    isPatient: true,
    view: () => undefined,
    arrivedAt,
    // Nobody waits for it: it is kept until it is stored, or the process ends.
    deadline: Infinity,
    isInDoubt: false,
    isTold: false,
    resolve: (outcome) => {
      if (!outcome.accepted) ports.warn(`${lane.stream} refused what was gathered`, outcome.refusal)
    },
    reject: (error) => {
      ports.warn(`what was gathered for ${lane.stream} could not be recorded`, error)
    },
  }
}

/** Throws a state away that may differ from the store; what is gathered beside it goes on first. */
export function forgetState(ports: RunnerPorts, lane: Lane): void {
  const gathered = lane.loaded === null ? null : takeGathered(ports, lane, lane.loaded)
  lane.loaded = null
  if (gathered !== null) lane.queue.unshift(gathered)
}
