/**
 * Simulated boxes. They keep files in memory and answer commands from a table; nothing runs. An operator sets
 * their failures with `simulator set boxhost …`, which `failing.ts` applies to every host.
 */
import { randomUUID } from "node:crypto"
import type { BoxId } from "../../../domain/boxes/ids.ts"
import type { Clock, Pacer } from "../../machine/clock/port.ts"
import type { MemoryBox } from "./built-in-box.ts"
import { endBox, newBox, openMemoryBox } from "./built-in-box.ts"
import type { BoxHost, SandboxId } from "./port.ts"

/** The boxes that run; hosts that are opened with the same one share them. */
export type BuiltInMachine = Map<SandboxId, MemoryBox>

/** What the built-in boxes work with. */
export interface BuiltInBoxHostPorts {
  /** The ledger's: leases end by it. */
  readonly clock: Pick<Clock, "now">
  /** Commands take their time by it. */
  readonly pacer: Pick<Pacer, "pause">
  /** Default one of its own. */
  readonly machine?: BuiltInMachine
  /** What that machine is called; default a name of its own. */
  readonly hostId?: string
}

/** The built-in boxes. */
export function openBuiltInBoxHost({
  clock,
  pacer,
  machine = new Map(),
  hostId = `simulator:${randomUUID()}`,
}: BuiltInBoxHostPorts): BoxHost {
  /** A lease is looked at when somebody asks: nothing of a box acts by itself that anybody could see. */
  const sweep = async (): Promise<void> => {
    const over = [...machine.values()].filter(({ leaseEnds }) => leaseEnds <= clock.now())
    await Promise.all(over.map(endBox))
  }
  const viewOf = (box: MemoryBox) => openMemoryBox(box, { clock, pacer })
  return {
    hostId,
    hasRoom: async () => true,
    start: async (plan) => {
      await sweep()
      const { boxId } = plan
      const found = machine.get(boxId)
      if (found !== undefined) return viewOf(found)
      const box = newBox(plan, clock.now(), () => machine.delete(boxId))
      machine.set(boxId, box)
      return viewOf(box)
    },
    find: async (boxId) => {
      await sweep()
      const box = machine.get(boxId)
      return box === undefined ? null : viewOf(box)
    },
    list: async () => {
      await sweep()
      return [...machine.keys()].filter((id): id is BoxId => id.startsWith("box_"))
    },
    sandboxes: async () => {
      await sweep()
      return [...machine.keys()]
    },
    // Nothing of these outlives them.
    removeVolume: async () => undefined,
  }
}
