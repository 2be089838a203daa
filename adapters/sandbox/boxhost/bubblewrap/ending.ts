/** Taking away everything of a box, whatever it came to; and boxes that nobody took away. */
import { rm } from "node:fs/promises"
import { removeDisk } from "./disk.ts"
import { removeGroups } from "./groups.ts"
import { killProcess, killUser, lives } from "./program.ts"
import type { BoxRecord } from "./run-folder.ts"
import type { Machine } from "./settings.ts"

/** Another that ends the same box is looked at so often. */
const EVERY_MS = 5

/** Ends a box and takes everything of it away; where another already does, waits until that is done. */
export async function endBox(machine: Machine, name: string): Promise<void> {
  const { pacer, runs } = machine
  const record = await runs.take(name)
  if (record !== null) return takeAway(machine, name, record)
  while (await runs.isEnding(name)) await pacer.pause(EVERY_MS)
}

/** The record goes last: as long as anything of the box is left, there is one to find it by. */
async function takeAway(machine: Machine, name: string, record: BoxRecord): Promise<void> {
  const { pacer, runs } = machine
  const places = runs.placesOf(name)
  for (const process of record.processes) await killProcess(process, pacer)
  // A user of its own has nothing else; a box of our own user is its first process, and ended with it.
  if (record.uid !== null && machine.isRoot) await killUser(record.uid, pacer)
  await removeGroups(record.groups, pacer)
  await removeDisk(places)
  await rm(`${places.image}.tun`, { force: true })
  await rm(places.log, { force: true })
  await runs.forget(name)
}

/** What a sweep took away, and why. */
export interface Swept {
  readonly name: string
  readonly why: "it ended" | "its launch was broken off" | "its end was broken off" | "it is silent"
}

/**
 * Takes away what crashes left: boxes that have ended, launches and ends that were broken off, groups
 * without a box, and boxes whose keeper says nothing.
 */
export async function sweepBoxes(
  machine: Machine,
  {
    isSilent,
    isOurs,
  }: { isSilent: (name: string) => Promise<boolean>; isOurs: (name: string) => boolean },
): Promise<readonly Swept[]> {
  const swept: Swept[] = []
  const takeAwayFor = async (name: string, why: Swept["why"]): Promise<void> => {
    await endBox(machine, name)
    swept.push({ name, why })
  }
  for (const name of await machine.runs.leftByEnders()) {
    await takeAwayFor(name, "its end was broken off")
  }
  for (const name of await machine.runs.names()) {
    const record = isOurs(name) ? null : await machine.runs.read(name)
    const why = record === null ? null : await whyEnd(name, record, isSilent)
    if (why !== null) await takeAwayFor(name, why)
  }
  await machine.runs.removeUnfinished()
  await sweepGroups(machine)
  return swept
}

async function whyEnd(
  name: string,
  { isReady, keeper, launcher }: BoxRecord,
  isSilent: (name: string) => Promise<boolean>,
): Promise<Swept["why"] | null> {
  // Who launches it ends it as well, where it comes to nothing. Without them nobody would find it, though
  // its keeper may live: a launch ends with a word in the record.
  if (!isReady || keeper === null) {
    return (await lives(launcher)) ? null : "its launch was broken off"
  }
  if (!(await lives(keeper))) return "it ended"
  return (await isSilent(name)) ? "it is silent" : null
}

/** A launch that was broken off between making groups and noting them leaves groups alone. */
async function sweepGroups({ groups, pacer, runs }: Machine): Promise<void> {
  const left = await groups.left()
  for (const [name, folders] of left) {
    const isKnown = (await runs.read(name)) !== null || (await runs.isEnding(name))
    if (!isKnown) await removeGroups(folders, pacer)
  }
}
