/**
 * Who is at which version: a version that is replaced ends once nobody is at it any more. Whoever stays for
 * long is looked at each minute: they leave where they are nobody of the company's by then.
 */
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { PublishId } from "../../../domain/publishing/ids.ts"
import type { Ports } from "../../frame/ports.ts"

const CHECK_INTERVAL_MS = 60_000

/** Somebody at a version. */
export interface Visit {
  readonly companyId: CompanyId
  readonly publishId: PublishId
  /** Whether they may still be here. */
  readonly isAllowed: () => Promise<boolean>
  /** Has them leave. */
  readonly end: () => void
}

interface OpenVisits {
  readonly open: Map<PublishId, Set<Visit>>
  /** Who waits until nobody is at one any more. */
  readonly waiting: Map<PublishId, (() => void)[]>
  /** Aborted when the last one leaves; null while nobody is there. */
  watcher: AbortController | null
}

/** Those of this process; of one machine it is one. */
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

/** How many are at a version, in this process. */
export function visitCount(ports: Pick<Ports, "counters">, publishId: PublishId): number {
  return openVisitsOf(ports).open.get(publishId)?.size ?? 0
}

/** Resolves once nobody is at a version, in this process, or as soon as the signal aborts. */
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

/** Notes that somebody is at a version; answers what is called once they are not. */
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
    for (const told of waiting.get(publishId) ?? []) told()
    waiting.delete(publishId)
    if (open.size > 0) return
    versions.watcher?.abort()
    versions.watcher = null
  }
}

/** Looks at all who are there, each minute, as long as anybody is. */
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
        // They are looked at again: what cannot be asked now sends nobody away.
        ports.log.warn("it cannot be looked at who visits a preview", error)
      }
    }
  }
}
