/**
 * What slices have outside of PostgreSQL and the event store, in backups and restores: one at a time over
 * all processes, for the blobs it passes through are the same for all of them.
 */
import type { Locks, Release } from "../../../adapters/postgres/locks/port.ts"
import type { OutsideInBackups } from "../../frame/operator/operation.ts"
import { OperatorRefused } from "../../frame/operator/operation.ts"
import type { Ports } from "../../frame/ports.ts"
import type { Program } from "../../frame/slice.ts"

const LOCK = "outside in backups"
/** A backup or a restore takes longer; a connection to ask for the turn on, not even on a busy machine. */
const AT_ONCE_MS = 5_000
/** Putting back 200 MB takes seconds; whoever waits longer is told. */
const PUT_BACK_WITHIN_MS = 3_600_000

/** The slices' own, one after the other, by turns with other processes. */
export function outsideOf({ inBackups }: Program, ports: Ports, locks: Locks): OutsideInBackups {
  const takeOut = async () => {
    for (const one of inBackups) await one.takeOut(ports)
  }
  return {
    putIn: async (progress, signal) => {
      const release = await turn(locks, AT_ONCE_MS)
      const end = async () => {
        try {
          await takeOut()
        } finally {
          await release()
        }
      }
      try {
        for (const one of inBackups) await one.putIn(ports, progress, signal)
      } catch (error) {
        await end()
        throw error
      }
      return end
    },
    putBack: async (progress) => {
      const release = await turn(locks, PUT_BACK_WITHIN_MS)
      try {
        for (const one of inBackups) await one.putBack(ports, progress)
      } finally {
        await release()
      }
    },
  }
}

/** Goes on where a restore was cut short; not while a backup or another process is at it. */
export function finishingRestores({ inBackups }: Program, locks: Locks): Program["sweeps"][number] {
  return {
    slice: "a restore",
    sweep: async (ports) => {
      const release = await locks.take(LOCK, AT_ONCE_MS)
      if (release === null) return
      try {
        for (const one of inBackups) await one.putBack(ports, () => undefined)
      } finally {
        await release()
      }
    },
  }
}

/** @throws OperatorRefused where somebody else is at it for so long */
async function turn(locks: Locks, withinMs: number): Promise<Release> {
  const release = await locks.take(LOCK, withinMs)
  if (release !== null) return release
  throw new OperatorRefused(
    "busy",
    "Another backup or restore of this installation is under way; try again when it has ended.",
  )
}
