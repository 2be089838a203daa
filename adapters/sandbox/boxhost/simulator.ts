/**
 * Simulated boxes. They keep files in memory and answer commands from a table; nothing runs.
 * Operators set their failures with `simulator set boxhost …` (`simulated-faults.ts`).
 */
import { randomUUID } from "node:crypto"
import type { BoxId } from "../../../domain/boxes/ids.ts"
import type { Clock, Pacer } from "../../machine/clock/port.ts"
import type { SimulatedBox } from "./simulated-box.ts"
import { endSimulatedBox, newSimulatedBox, openSimulatedBox } from "./simulated-box.ts"
import type { BoxHost, SandboxId } from "./port.ts"

/** The running boxes; hosts that are opened with the same map share them. */
export type SimulatedBoxes = Map<SandboxId, SimulatedBox>

export interface SimulatedBoxHostPorts {
  /** The ledger's clock, which ends leases. */
  readonly clock: Pick<Clock, "now">
  /** The pace of commands. */
  readonly pacer: Pick<Pacer, "pause">
  /** Default: a new map. */
  readonly boxes?: SimulatedBoxes
  /** Default: a unique name. */
  readonly hostId?: string
}

/** Opens simulated boxes. */
export function openSimulatedBoxHost({
  clock,
  pacer,
  boxes = new Map(),
  hostId = `simulator:${randomUUID()}`,
}: SimulatedBoxHostPorts): BoxHost {
  /** Leases are checked on access: nothing runs in the background. */
  const sweep = async (): Promise<void> => {
    const expired = [...boxes.values()].filter(({ leaseEndsAt }) => leaseEndsAt <= clock.now())
    await Promise.all(expired.map(endSimulatedBox))
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
    // Simulated boxes have no volumes.
    removeVolume: async () => undefined,
  }
}
