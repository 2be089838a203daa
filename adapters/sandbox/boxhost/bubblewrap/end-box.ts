/** Removes everything of a box in any state, and sweeps abandoned boxes. */
import { rm } from "node:fs/promises"
import { removeDisk } from "./disk.ts"
import { removeControlGroups } from "./control-groups.ts"
import { killProcess, killUserProcesses, isRunning } from "./programs.ts"
import type { BoxRecord } from "./run-folder.ts"
import type { BubblewrapContext } from "./options.ts"

/** Interval for polling another program's removal of the same box. */
const POLL_INTERVAL_MS = 5

/** Ends a box and removes everything of it; if another program already does, waits for it. */
export async function endBox(machine: BubblewrapContext, name: string): Promise<void> {
  const { pacer, runFolder } = machine
  const record = await runFolder.claimForEnding(name)
  if (record !== null) return removeBox(machine, name, record)
  while (await runFolder.isEnding(name)) await pacer.pause(POLL_INTERVAL_MS)
}

/** The record is removed last, so that the rest of the box can always be found. */
async function removeBox(
  machine: BubblewrapContext,
  name: string,
  record: BoxRecord,
): Promise<void> {
  const { pacer, runFolder } = machine
  const paths = runFolder.pathsOf(name)
  for (const process of record.processes) await killProcess(process, pacer)
  // A box with its own user has no other processes. With our user, the box ended with its first
  // process.
  if (record.uid !== null && machine.isRoot) await killUserProcesses(record.uid, pacer)
  await removeControlGroups(record.groups, pacer)
  await removeDisk(paths)
  await rm(`${paths.diskImage}.tun`, { force: true })
  await rm(paths.log, { force: true })
  await runFolder.remove(name)
}

/** A box that a sweep removed, and the reason. */
export interface SweptBox {
  readonly name: string
  readonly reason:
    "it ended" | "its launch was broken off" | "its end was broken off" | "it is silent"
}

/**
 * Removes what crashes left: ended boxes, interrupted launches and removals, groups without a box,
 * and boxes whose agent does not answer.
 */
export async function sweepBoxes(
  machine: BubblewrapContext,
  {
    isSilent,
    isOurs,
  }: { isSilent: (name: string) => Promise<boolean>; isOurs: (name: string) => boolean },
): Promise<readonly SweptBox[]> {
  const swept: SweptBox[] = []
  const removeFor = async (name: string, reason: SweptBox["reason"]): Promise<void> => {
    await endBox(machine, name)
    swept.push({ name, reason })
  }
  for (const name of await machine.runFolder.reclaimAbandonedEndings()) {
    await removeFor(name, "its end was broken off")
  }
  for (const name of await machine.runFolder.listNames()) {
    const record = isOurs(name) ? null : await machine.runFolder.read(name)
    const reason = record === null ? null : await sweepReason(name, record, isSilent)
    if (reason !== null) await removeFor(name, reason)
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
  // The launcher ends a failed launch. If the launcher is gone, no program would use the box,
  // although its agent may live: a launch completes when the record says so.
  if (!isReady || keeper === null) {
    return (await isRunning(launcher)) ? null : "its launch was broken off"
  }
  if (!(await isRunning(keeper))) return "it ended"
  return (await isSilent(name)) ? "it is silent" : null
}

/**
 * A launch that ended between creating groups and recording them leaves groups without a record.
 */
async function sweepControlGroups({
  controlGroups,
  pacer,
  runFolder,
}: BubblewrapContext): Promise<void> {
  const groups = await controlGroups.listExisting()
  for (const [name, folders] of groups) {
    const isKnown = (await runFolder.read(name)) !== null || (await runFolder.isEnding(name))
    if (!isKnown) await removeControlGroups(folders, pacer)
  }
}
