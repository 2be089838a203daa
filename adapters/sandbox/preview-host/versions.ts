/** What runs in the sandbox of a company's apps: versions and their database, as background processes. */
import type { PublishId } from "../../../domain/publishing/ids.ts"
import type { Pacer } from "../../machine/clock/port.ts"
import type { BoxHandle, BoxProcess } from "../boxhost/port.ts"
import {
  DATABASE_MARKER,
  CRASH_LOOP_EXIT_CODE,
  REMOVE_SCRIPT,
  publishIdFromCommand,
} from "./app-scripts.ts"
import type { AppVersionStatus, PreviewStatus } from "./port.ts"

/** Whoever is asked to end has so long. */
const TERMINATION_GRACE_MS = 10_000
const POLL_INTERVAL_MS = 20
const SCRIPT_TIMEOUT_MS = 60_000

/** A process, and what of a preview it is. */
export interface PreviewProcess extends BoxProcess {
  readonly publishId: PublishId | null
  readonly isDatabase: boolean
}

/** What runs, or did, the first first. */
export async function listPreviewProcesses(box: BoxHandle): Promise<readonly PreviewProcess[]> {
  return (await box.listProcesses()).map((process) => ({
    ...process,
    publishId: publishIdFromCommand(process.command) as PublishId | null,
    isDatabase: process.command.startsWith(`${DATABASE_MARKER}\n`),
  }))
}

/** Runs a script that keeps nothing from being idle. */
export function runPreviewScript(
  box: BoxHandle,
  text: string,
  args: readonly string[],
  more: { readonly stdin?: AsyncIterable<Uint8Array>; readonly timeoutMs?: number } = {},
) {
  const options = {
    cwd: "/",
    timeoutMs: SCRIPT_TIMEOUT_MS,
    maxOutputBytes: 64 * 1_024,
    isActivity: false,
  }
  return box.run(["sh", "-c", text, "sh", ...args], { ...options, ...more })
}

/** The newest of what a process wrote. */
export async function readProcessLog(box: BoxHandle, processId: string): Promise<string> {
  return (await box.readLogs(processId))?.stdout ?? ""
}

/** How a company's sandbox stands. Of each version the newest process counts. */
export async function readPreviewStatus(box: BoxHandle): Promise<PreviewStatus> {
  const { activities, leaseLeftMs } = await box.readHealth()
  const newest = new Map<PublishId, PreviewProcess>()
  for (const part of await listPreviewProcesses(box)) {
    // One that found another at work is not what there is of the version.
    const counts = part.status === "running" || part.exitCode === CRASH_LOOP_EXIT_CODE
    if (part.publishId !== null && counts) newest.set(part.publishId, part)
  }
  const versions = await Promise.all(
    [...newest].map(async ([publishId, { id, status }]): Promise<AppVersionStatus> => {
      const log = await readProcessLog(box, id)
      return { publishId, log, status: status === "running" ? "running" : "down" }
    }),
  )
  return { versions, activities, leaseLeftMs }
}

/** Asks processes to end, and ends those that did not after ten seconds with all that they started. */
export async function terminateProcesses(
  pacer: Pacer,
  box: BoxHandle,
  isMeant: (part: PreviewProcess) => boolean,
): Promise<void> {
  const running = (parts: readonly PreviewProcess[]) =>
    parts.filter((part) => part.status === "running" && isMeant(part))
  const meant = running(await listPreviewProcesses(box))
  if (meant.length === 0) return
  await runPreviewScript(
    box,
    'kill -TERM "$@"',
    meant.map(({ pid }) => String(pid)),
  )
  const until = pacer.elapsedMs() + TERMINATION_GRACE_MS
  while (running(await listPreviewProcesses(box)).length > 0 && pacer.elapsedMs() < until) {
    await pacer.pause(POLL_INTERVAL_MS)
  }
  await Promise.all(meant.map(({ id }) => box.stopProcess(id)))
}

/** Ends a version for good: its files go with it. */
export async function removeAppVersion(
  pacer: Pacer,
  box: BoxHandle,
  publishId: PublishId,
): Promise<void> {
  await terminateProcesses(pacer, box, ({ publishId: version }) => version === publishId)
  await runPreviewScript(box, REMOVE_SCRIPT, [publishId])
}
