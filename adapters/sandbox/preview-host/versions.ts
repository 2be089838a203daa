/** What runs in the sandbox of a company's apps: versions and their database, as background processes. */
import type { PublishId } from "../../../domain/publishing/ids.ts"
import type { Pacer } from "../../machine/clock/port.ts"
import type { Box, BoxProcess } from "../boxhost/port.ts"
import { DATABASE_NAME, GAVE_UP, REMOVE, versionOf } from "./app-scripts.ts"
import type { AppStanding, PreviewStanding } from "./port.ts"

/** Whoever is asked to end has so long. */
const END_MS = 10_000
const LOOK_EACH_MS = 20
const SCRIPT_MS = 60_000

/** A process, and what of a preview it is. */
export interface Part extends BoxProcess {
  readonly version: PublishId | null
  readonly isDatabase: boolean
}

/** What runs, or did, the first first. */
export async function partsIn(box: Box): Promise<readonly Part[]> {
  return (await box.processes()).map((process) => ({
    ...process,
    version: versionOf(process.command) as PublishId | null,
    isDatabase: process.command.startsWith(`${DATABASE_NAME}\n`),
  }))
}

/** Runs a script that keeps nothing from being idle. */
export function script(
  box: Box,
  text: string,
  args: readonly string[],
  more: { readonly stdin?: AsyncIterable<Uint8Array>; readonly timeoutMs?: number } = {},
) {
  const options = { cwd: "/", timeoutMs: SCRIPT_MS, mostBytes: 64 * 1_024, activity: false }
  return box.run(["sh", "-c", text, "sh", ...args], { ...options, ...more })
}

/** The newest of what a process wrote. */
export async function logOf(box: Box, processId: string): Promise<string> {
  return (await box.logs(processId))?.stdout ?? ""
}

/** How a company's sandbox stands. Of each version the newest process counts. */
export async function standingOf(box: Box): Promise<PreviewStanding> {
  const { activities, leaseLeftMs } = await box.hello()
  const newest = new Map<PublishId, Part>()
  for (const part of await partsIn(box)) {
    // One that found another at work is not what there is of the version.
    const counts = part.status === "running" || part.exitCode === GAVE_UP
    if (part.version !== null && counts) newest.set(part.version, part)
  }
  const versions = await Promise.all(
    [...newest].map(async ([publishId, { id, status }]): Promise<AppStanding> => {
      const log = await logOf(box, id)
      return { publishId, log, status: status === "running" ? "running" : "down" }
    }),
  )
  return { versions, activities, leaseLeftMs }
}

/** Asks processes to end, and ends those that did not after ten seconds with all that they started. */
export async function askToEnd(
  pacer: Pacer,
  box: Box,
  isMeant: (part: Part) => boolean,
): Promise<void> {
  const running = (parts: readonly Part[]) =>
    parts.filter((part) => part.status === "running" && isMeant(part))
  const meant = running(await partsIn(box))
  if (meant.length === 0) return
  await script(
    box,
    'kill -TERM "$@"',
    meant.map(({ pid }) => String(pid)),
  )
  const until = pacer.elapsedMs() + END_MS
  while (running(await partsIn(box)).length > 0 && pacer.elapsedMs() < until) {
    await pacer.pause(LOOK_EACH_MS)
  }
  await Promise.all(meant.map(({ id }) => box.stopProcess(id)))
}

/** Ends a version for good: its files go with it. */
export async function endVersion(pacer: Pacer, box: Box, publishId: PublishId): Promise<void> {
  await askToEnd(pacer, box, ({ version }) => version === publishId)
  await script(box, REMOVE, [publishId])
}
