/**
 * Counts the visits of each version, so that a replaced version ends after its last one. Every minute it
 * ends visits of people who no longer have access.
 */
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { PublishId } from "../../../domain/publishing/ids.ts"
import type { Ports } from "../../frame/ports.ts"

const CHECK_INTERVAL_MS = 60_000

export interface Visit {
  readonly companyId: CompanyId
  readonly publishId: PublishId
  /** Whether the visitor still has access. */
  readonly isAllowed: () => Promise<boolean>
  readonly end: () => void
}

interface OpenVisits {
  readonly open: Map<PublishId, Set<Visit>>
  /** Callbacks for the end of a version's last visit. */
  readonly waiting: Map<PublishId, (() => void)[]>
  /** Aborted when the last visit ends; null if there are no visits. */
  watcher: AbortController | null
}

const visitsByProcess = new WeakMap<Ports["counters"], OpenVisits>()

function openVisitsOf({ counters }: Pick<Ports, "counters">): OpenVisits {
  const known = visitsByProcess.get(counters) ?? {
    open: new Map(),
    waiting: new Map(),
    watcher: null,
  }
  visitsByProcess.set(counters, known)
  return known
}

/** The number of visits of a version in this process. */
export function visitCount(ports: Pick<Ports, "counters">, publishId: PublishId): number {
  return openVisitsOf(ports).open.get(publishId)?.size ?? 0
}

/** Resolves when a version has no visits in this process, or when the signal aborts. */
export async function waitUntilDrained(
  ports: Pick<Ports, "counters">,
  publishId: PublishId,
  signal: AbortSignal,
): Promise<void> {
  const { open, waiting } = openVisitsOf(ports)
  if (!open.has(publishId) || signal.aborted) return
  const { promise, resolve } = Promise.withResolvers<void>()
  waiting.set(publishId, [...(waiting.get(publishId) ?? []), resolve])
  signal.addEventListener("abort", () => resolve(), { once: true })
  await promise
}

/** Records a visit; returns the function that ends the record. */
export function enterVisit(
  ports: Pick<Ports, "counters" | "log" | "pacer">,
  visit: Visit,
): () => void {
  const versions = openVisitsOf(ports)
  const { open, waiting } = versions
  const { publishId } = visit
  const visits = open.get(publishId) ?? new Set<Visit>()
  open.set(publishId, visits)
  visits.add(visit)
  if (versions.watcher === null) {
    versions.watcher = new AbortController()
    void watchVisits(ports, versions, versions.watcher.signal)
  }
  return () => {
    visits.delete(visit)
    if (visits.size > 0 || open.get(publishId) !== visits) return
    open.delete(publishId)
    for (const notify of waiting.get(publishId) ?? []) notify()
    waiting.delete(publishId)
    if (open.size > 0) return
    versions.watcher?.abort()
    versions.watcher = null
  }
}

/** Checks all visits every minute while there are any. */
async function watchVisits(
  ports: Pick<Ports, "log" | "pacer">,
  { open }: OpenVisits,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    await ports.pacer.pause(CHECK_INTERVAL_MS, signal)
    if (signal.aborted) return
    for (const visit of [...open.values()].flatMap((visits) => [...visits])) {
      try {
        if (!(await visit.isAllowed())) visit.end()
      } catch (error) {
        // The next check tries again; an error ends no visit.
        ports.log.warn(
          "a preview visitor's access could not be checked; it stays until the next check",
          error,
        )
      }
    }
  }
}
