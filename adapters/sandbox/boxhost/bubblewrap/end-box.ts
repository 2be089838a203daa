/** Taking away everything of a box, whatever it came to; and boxes that nobody took away. */
import { rm } from "node:fs/promises"
import { removeDisk } from "./disk.ts"
import { removeControlGroups } from "./control-groups.ts"
import { killProcess, killUserProcesses, isRunning } from "./programs.ts"
import type { BoxRecord } from "./run-folder.ts"
import type { BubblewrapContext } from "./options.ts"

/** Another that ends the same box is looked at so often. */
const POLL_INTERVAL_MS = 5

/** Ends a box and takes everything of it away; where another already does, waits until that is done. */
export async function endBox(machine: BubblewrapContext, name: string): Promise<void> {
  const { pacer, runFolder } = machine
  const record = await runFolder.claimForEnding(name)
  if (record !== null) return removeBox(machine, name, record)
  while (await runFolder.isEnding(name)) await pacer.pause(POLL_INTERVAL_MS)
}

/** The record goes last: as long as anything of the box is left, there is one to find it by. */
async function removeBox(
  machine: BubblewrapContext,
  name: string,
  record: BoxRecord,
): Promise<void> {
  const { pacer, runFolder } = machine
  const places = runFolder.pathsOf(name)
  for (const process of record.processes) await killProcess(process, pacer)
  // A user of its own has nothing else; a box of our own user is its first process, and ended with it.
  if (record.uid !== null && machine.isRoot) await killUserProcesses(record.uid, pacer)
  await removeControlGroups(record.groups, pacer)
  await removeDisk(places)
  await rm(`${places.diskImage}.tun`, { force: true })
  await rm(places.log, { force: true })
  await runFolder.remove(name)
}

/** What a sweep took away, and why. */
export interface SweptBox {
  readonly name: string
  readonly reason:
    "it ended" | "its launch was broken off" | "its end was broken off" | "it is silent"
}

/**
 * Takes away what crashes left: boxes that have ended, launches and ends that were broken off, groups
 * without a box, and boxes whose keeper says nothing.
 */
export async function sweepBoxes(
  machine: BubblewrapContext,
  {
    isSilent,
    isOurs,
  }: { isSilent: (name: string) => Promise<boolean>; isOurs: (name: string) => boolean },
): Promise<readonly SweptBox[]> {
  const swept: SweptBox[] = []
  const takeAwayFor = async (name: string, reason: SweptBox["reason"]): Promise<void> => {
    await endBox(machine, name)
    swept.push({ name, reason })
  }
  for (const name of await machine.runFolder.reclaimAbandonedEndings()) {
    await takeAwayFor(name, "its end was broken off")
  }
  for (const name of await machine.runFolder.listNames()) {
    const record = isOurs(name) ? null : await machine.runFolder.read(name)
    const why = record === null ? null : await sweepReason(name, record, isSilent)
    if (why !== null) await takeAwayFor(name, why)
  }
  await machine.runFolder.removeStaleWrites()
  await sweepControlGroups(machine)
  return swept
}

async function sweepReason(
  name: string,
  { isReady, keeper, launcher }: BoxRecord,
  isSilent: (name: string) => Promise<boolean>,
): Promise<SweptBox["reason"] | null> {
  // Who launches it ends it as well, where it comes to nothing. Without them nobody would find it, though
  // its keeper may live: a launch ends with a word in the record.
  if (!isReady || keeper === null) {
    return (await isRunning(launcher)) ? null : "its launch was broken off"
  }
  if (!(await isRunning(keeper))) return "it ended"
  return (await isSilent(name)) ? "it is silent" : null
}

/** A launch that was broken off between making groups and noting them leaves groups alone. */
async function sweepControlGroups({
  controlGroups,
  pacer,
  runFolder,
}: BubblewrapContext): Promise<void> {
  const left = await controlGroups.listExisting()
  for (const [name, folders] of left) {
    const isKnown = (await runFolder.read(name)) !== null || (await runFolder.isEnding(name))
    if (!isKnown) await removeControlGroups(folders, pacer)
  }
}
