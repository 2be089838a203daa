/**
 * Simulated boxes. They keep files in memory and answer commands from a table; nothing runs. An operator sets
 * their failures with `simulator set boxhost …`, which `failing.ts` applies to every host.
 */
import { randomUUID } from "node:crypto"
import type { BoxId } from "../../../domain/boxes/ids.ts"
import type { Clock, Pacer } from "../../machine/clock/port.ts"
import type { SimulatedBox } from "./simulated-box.ts"
import { endSimulatedBox, newSimulatedBox, openSimulatedBox } from "./simulated-box.ts"
import type { BoxHost, SandboxId } from "./port.ts"

/** The boxes that run; hosts that are opened with the same one share them. */
export type SimulatedBoxes = Map<SandboxId, SimulatedBox>

/** What the built-in boxes work with. */
export interface SimulatedBoxHostPorts {
  /** The ledger's: leases end by it. */
  readonly clock: Pick<Clock, "now">
  /** Commands take their time by it. */
  readonly pacer: Pick<Pacer, "pause">
  /** Default one of its own. */
  readonly boxes?: SimulatedBoxes
  /** What that machine is called; default a name of its own. */
  readonly hostId?: string
}

/** The built-in boxes. */
export function openSimulatedBoxHost({
  clock,
  pacer,
  boxes = new Map(),
  hostId = `simulator:${randomUUID()}`,
}: SimulatedBoxHostPorts): BoxHost {
  /** A lease is looked at when somebody asks: nothing of a box acts by itself that anybody could see. */
  const sweep = async (): Promise<void> => {
    const over = [...boxes.values()].filter(({ leaseEndsAt }) => leaseEndsAt <= clock.now())
    await Promise.all(over.map(endSimulatedBox))
  }
  const viewOf = (box: SimulatedBox) => openSimulatedBox(box, { clock, pacer })
  return {
    hostId,
    hasRoom: async () => true,
    start: async (plan) => {
      await sweep()
      const { boxId } = plan
      const found = boxes.get(boxId)
      if (found !== undefined) return viewOf(found)
      const box = newSimulatedBox(plan, clock.now(), () => boxes.delete(boxId))
      boxes.set(boxId, box)
      return viewOf(box)
    },
    find: async (boxId) => {
      await sweep()
      const box = boxes.get(boxId)
      return box === undefined ? null : viewOf(box)
    },
    listBoxes: async () => {
      await sweep()
      return [...boxes.keys()].filter((id): id is BoxId => id.startsWith("box_"))
    },
    listSandboxes: async () => {
      await sweep()
      return [...boxes.keys()]
    },
    // Nothing of these outlives them.
    removeVolume: async () => undefined,
  }
}
