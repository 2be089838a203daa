/** The processes in the sandbox of a company's apps: versions and their database. */
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

/** Time to exit after TERM. */
const TERMINATION_GRACE_MS = 10_000
const POLL_INTERVAL_MS = 20
const SCRIPT_TIMEOUT_MS = 60_000

export interface PreviewProcess extends BoxProcess {
  readonly publishId: PublishId | null
  readonly isDatabase: boolean
}

/** All processes, also ended ones, oldest first. */
export async function listPreviewProcesses(box: BoxHandle): Promise<readonly PreviewProcess[]> {
  return (await box.listProcesses()).map((process) => ({
    ...process,
    publishId: publishIdFromCommand(process.command) as PublishId | null,
    isDatabase: process.command.startsWith(`${DATABASE_MARKER}\n`),
  }))
}

/** Runs a script that does not count as activity. */
export function runPreviewScript(
  box: BoxHandle,
  text: string,
  args: readonly string[],
  extraOptions: { readonly stdin?: AsyncIterable<Uint8Array>; readonly timeoutMs?: number } = {},
) {
  const options = {
    cwd: "/",
    timeoutMs: SCRIPT_TIMEOUT_MS,
    maxOutputBytes: 64 * 1_024,
    isActivity: false,
  }
  return box.run(["sh", "-c", text, "sh", ...args], { ...options, ...extraOptions })
}

/** The newest part of a process's log. */
export async function readProcessLog(box: BoxHandle, processId: string): Promise<string> {
  return (await box.readLogs(processId))?.stdout ?? ""
}

/** The status of a company's sandbox. The newest process of each version counts. */
export async function readPreviewStatus(box: BoxHandle): Promise<PreviewStatus> {
  const { activities, leaseLeftMs } = await box.readHealth()
  const newest = new Map<PublishId, PreviewProcess>()
  for (const process of await listPreviewProcesses(box)) {
    // A process that exited because another one held the lock says nothing about the version.
    const counts = process.status === "running" || process.exitCode === CRASH_LOOP_EXIT_CODE
    if (process.publishId !== null && counts) newest.set(process.publishId, process)
  }
  const versions = await Promise.all(
    [...newest].map(async ([publishId, { id, status }]): Promise<AppVersionStatus> => {
      const log = await readProcessLog(box, id)
      return { publishId, log, status: status === "running" ? "running" : "down" }
    }),
  )
  return { versions, activities, leaseLeftMs }
}

/** Asks processes to end, and kills those that are left after ten seconds with their children. */
export async function terminateProcesses(
  pacer: Pacer,
  box: BoxHandle,
  matches: (process: PreviewProcess) => boolean,
): Promise<void> {
  const running = (processes: readonly PreviewProcess[]) =>
    processes.filter((process) => process.status === "running" && matches(process))
  const targets = running(await listPreviewProcesses(box))
  if (targets.length === 0) return
  await runPreviewScript(
    box,
    'kill -TERM "$@"',
    targets.map(({ pid }) => String(pid)),
  )
  const until = pacer.elapsedMs() + TERMINATION_GRACE_MS
  while (running(await listPreviewProcesses(box)).length > 0 && pacer.elapsedMs() < until) {
    await pacer.pause(POLL_INTERVAL_MS)
  }
  await Promise.all(targets.map(({ id }) => box.stopProcess(id)))
}

/** Ends a version and removes its files. */
export async function removeAppVersion(
  pacer: Pacer,
  box: BoxHandle,
  publishId: PublishId,
): Promise<void> {
  await terminateProcesses(pacer, box, ({ publishId: version }) => version === publishId)
  await runPreviewScript(box, REMOVE_SCRIPT, [publishId])
}
