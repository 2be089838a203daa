/** Streams that other facts prove to exist: of every company, paid resource and refusal. */
import { CorruptStream } from "../../adapters/eventstore/port.ts"
import { COMPANIES_STREAM } from "../../domain/company/aggregates.ts"
import { ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import { accessStreamOf } from "../../domain/access/aggregates.ts"
import type { LedgerState } from "../../domain/charging/ledger-state.ts"
import { resourceOfPendingCharge } from "../../domain/charging/ledger-views.ts"
import type { Fact } from "../../domain/kernel/decider.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { companyOfStream } from "../../domain/kernel/aggregate.ts"
import type { AdminPorts } from "../frame/operator/operation.ts"
import type { AnyFact } from "../../domain/kernel/facts.ts"
import type { Discrepancy, AuditRule } from "./findings.ts"

/** A stream that a fact proves, up to a revision. */
interface ExpectedStream {
  readonly stream: string
  readonly revision: number
  /** The fact that proves it. */
  readonly evidence: string
}

/** Collects the streams that facts prove. Only missing and incomplete ones are kept. */
export class ExpectedStreams {
  readonly #lacking = new Map<string, ExpectedStream>()
  /** Companies that may still be opening. */
  readonly #companies = new Set<CompanyId>()

  readonly #streamOfIntent: AdminPorts["streamOfIntent"]
  readonly #companyId: CompanyId | null
  readonly #lastOf: (stream: string) => number | null

  /**
   * @param companyId the only company that is audited; null for all
   * @param lastOf the last revision of a stream that was read; null if there was none
   */
  constructor(
    streamOfIntent: AdminPorts["streamOfIntent"],
    companyId: CompanyId | null,
    lastOf: (stream: string) => number | null,
  ) {
    this.#streamOfIntent = streamOfIntent
    this.#companyId = companyId
    this.#lastOf = lastOf
  }

  /** Adds a fact. @param ledger the state of its ledger before it; null if it is in no ledger */
  apply(stream: string, revision: number, given: Fact, ledger: LedgerState | null): void {
    const fact = given as AnyFact
    if (fact.type === "CompanyRegistered") {
      this.#promiseCompany(fact.companyId, `${COMPANIES_STREAM.stream} revision ${revision}`)
    }
    const companyId = companyOfStream(stream)
    if (companyId === null) return
    const evidence = `${stream} revision ${revision}`
    if (fact.type === "ChargeRefused") {
      this.#promise({
        stream: ledgerStreamOf(companyId).stream,
        revision: fact.ledgerRevision,
        evidence,
      })
    }
    if (fact.type !== "ChargesSettled" || ledger === null) return
    for (const chargeId of fact.chargeIds) {
      const resource = resourceOfPendingCharge(ledger, chargeId)
      const intent = resource === null ? null : this.#streamOfIntent(companyId, resource)
      if (intent !== null) this.#promise({ stream: intent, revision: 0, evidence })
    }
  }

  /** Reports the first stream that is missing or incomplete. */
  async reportMissing(
    ports: Pick<AdminPorts, "store"> & { readonly jobs: Pick<AdminPorts["jobs"], "listNames"> },
    report: (discrepancy: Discrepancy) => void,
  ): Promise<void> {
    if (this.#companyId !== null) this.#promiseCompany(this.#companyId, "its registration")
    if (this.#lacking.size === 0) return
    const opening = new Set(await ports.jobs.listNames("open-company"))
    for (const { stream, revision, evidence } of this.#lacking.values()) {
      const companyId = companyOfStream(stream)
      const isOpening = companyId !== null && opening.has(companyId)
      if (isOpening && this.#companies.has(companyId)) continue
      // The event may have been stored since the read.
      const found = await lastRevision(ports, stream)
      if (found >= revision) continue
      const expected = `revision ${revision}, which ${evidence} proves`
      const end = found === -1 ? "no such stream" : `its end at revision ${found}`
      report({ stream, revision: found + 1, expected, found: end })
      return
    }
  }

  #promiseCompany(companyId: CompanyId, evidence: string): void {
    this.#companies.add(companyId)
    this.#promise({ stream: accessStreamOf(companyId).stream, revision: 0, evidence })
    this.#promise({ stream: ledgerStreamOf(companyId).stream, revision: 0, evidence })
  }

  #promise(promised: ExpectedStream): void {
    const { stream, revision } = promised
    if ((this.#lastOf(stream) ?? -1) >= revision) return
    const known = this.#lacking.get(stream)
    if (known === undefined || known.revision < revision) this.#lacking.set(stream, promised)
  }
}

/** Whether a stream has reached this revision. @throws Unavailable if it cannot be read */
export async function hasRevision(
  ports: Pick<AdminPorts, "store">,
  stream: string,
  revision: number,
): Promise<boolean> {
  return (await lastRevision(ports, stream)) >= revision
}

/** The last revision that the store shows of a stream; -1 for none or a deleted stream. */
async function lastRevision({ store }: Pick<AdminPorts, "store">, stream: string): Promise<number> {
  const range = { direction: "backwards" as const, limit: 1 }
  try {
    for await (const [last] of store.read(stream, range)) {
      if (last !== undefined) return last.revision
    }
  } catch (error) {
    if (!(error instanceof CorruptStream)) throw error
  }
  return -1
}

/** Something that an audit did not check. */
export interface SkippedCheck {
  readonly check: string
  /** How many there are; null if they are not counted. */
  readonly count: number | null
  readonly reason: string
}

export interface StreamAuditCounts {
  /** Streams whose chain is broken in global order. */
  broken: number
  /** Facts in an earlier format. */
  olderFormats: number
  /** Streams whose tree has a signed head, and streams whose tree has none. */
  withHead: number
  withoutHead: number
  /** Streams with a checkpoint, and without. */
  withCheckpoint: number
  withoutCheckpoint: number
}

/** Lists what the audit of the streams did not check. @param companyId null for all companies */
export function skippedChecks(
  counts: StreamAuditCounts,
  companyId: CompanyId | null,
): readonly SkippedCheck[] {
  const all = [
    {
      unit: "stream",
      notDone: "read alone",
      count: counts.broken,
      reason: "their chain is broken in global order",
    },
    {
      unit: "fact",
      notDone: "encoded again",
      count: counts.olderFormats,
      reason: "they have an earlier format and are only decoded",
    },
    {
      unit: "stream",
      notDone: "checked against a signed head",
      count: counts.withoutHead,
      reason: "no head is signed yet; audit head signs them",
    },
    {
      unit: "stream",
      notDone: "compared with a checkpoint",
      count: counts.withoutCheckpoint,
      reason: "they have no checkpoint",
    },
  ]
  const others = {
    check: "streams of other companies and of the installation",
    count: null,
    reason: "the audit is of one company",
  }
  const found = all.filter(({ count: many }) => many !== 0)
  return [
    ...found.map(({ unit, notDone, count: many, reason }) => {
      return { check: `${unit}${many === 1 ? "" : "s"} ${notDone}`, count: many, reason }
    }),
    ...(companyId === null ? [] : [others]),
  ]
}

/** Describes the coverage of rules that do not cover every event. */
export function coverageTexts({
  withHead,
  withCheckpoint,
}: Pick<StreamAuditCounts, "withHead" | "withCheckpoint">): Readonly<
  Partial<Record<AuditRule, string>>
> {
  const withOne = (what: string, none: string, count: number) =>
    count === 0 ? none : `${count} ${count === 1 ? "stream" : "streams"} with a ${what}`
  return {
    "signed heads belong to this history": withOne(
      "signed head",
      "no head is signed yet",
      withHead,
    ),
    "checkpoints match the folded state": withOne(
      "checkpoint",
      "there is no checkpoint yet",
      withCheckpoint,
    ),
  }
}

/** Jobs are never checked: they are deleted when they are done. */
export const JOBS_SKIPPED: SkippedCheck = {
  check: "jobs",
  count: null,
  reason: "they are deleted when they are done, so no rebuild can be compared with them",
}

/** Formats the skipped checks in lines. */
export function formatSkipped(skipped: readonly SkippedCheck[]): string {
  const lines = skipped.map(({ check, count, reason }) => {
    return `  ${count === null ? "" : `${count} `}${check}: ${reason}\n`
  })
  return lines.length === 0 ? "" : `Not checked:\n${lines.join("")}`
}
