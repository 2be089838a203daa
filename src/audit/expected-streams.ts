/** Streams that must be there: of every company, of everything that was paid, of every refusal. */
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

/** A stream that a fact promises, up to a revision. */
interface ExpectedStream {
  readonly stream: string
  readonly revision: number
  /** The fact that says so. */
  readonly evidence: string
}

/** What the facts say of other streams. Only those are kept that end too early, or are not there. */
export class ExpectedStreams {
  readonly #lacking = new Map<string, ExpectedStream>()
  /** Companies whose opening may be under way. */
  readonly #companies = new Set<CompanyId>()

  readonly #streamOfIntent: AdminPorts["streamOfIntent"]
  readonly #companyId: CompanyId | null
  readonly #lastOf: (stream: string) => number | null

  /**
   * @param companyId the only company that is looked at; null for all
   * @param lastOf the last revision of a stream that was read; null where there was none
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

  /** Takes a fact. @param ledger the state of its ledger before it; null where it is of none */
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

  /** Tells the first stream that is missing, or ends too early. */
  async reportMissing(
    ports: Pick<AdminPorts, "store"> & { readonly jobs: Pick<AdminPorts["jobs"], "listNames"> },
    tell: (place: Discrepancy) => void,
  ): Promise<void> {
    if (this.#companyId !== null) this.#promiseCompany(this.#companyId, "its registration")
    if (this.#lacking.size === 0) return
    const opening = new Set(await ports.jobs.listNames("open-company"))
    for (const { stream, revision, evidence } of this.#lacking.values()) {
      const companyId = companyOfStream(stream)
      const isOpening = companyId !== null && opening.has(companyId)
      if (isOpening && this.#companies.has(companyId)) continue
      // It may have come while this was reading.
      const found = await lastRevision(ports, stream)
      if (found >= revision) continue
      const expected = `revision ${revision}, of which ${evidence} says that it is there`
      const is = found === -1 ? "no such stream" : `its end at revision ${found}`
      tell({ stream, revision: found + 1, expected, found: is })
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

/** Whether a stream reaches this revision by now. @throws Unavailable where it cannot be read */
export async function hasRevision(
  ports: Pick<AdminPorts, "store">,
  stream: string,
  revision: number,
): Promise<boolean> {
  return (await lastRevision(ports, stream)) >= revision
}

/** The last revision that the store shows of a stream; -1 for none, also where it deleted the stream. */
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

/** Something that was not looked at. */
export interface SkippedCheck {
  readonly what: string
  /** How many there are; null where nobody counted. */
  readonly count: number | null
  readonly why: string
}

/** How much of the streams was looked at. */
export interface StreamAuditCounts {
  /** Streams whose chain is broken among all. */
  broken: number
  /** Facts of an earlier form of their type. */
  olderFormats: number
  /** Streams of a tree of which a head was signed, and the others. */
  withHead: number
  withoutHead: number
  /** Streams of which a checkpoint is kept, and those that have none yet. */
  withCheckpoint: number
  withoutCheckpoint: number
}

/** What of the streams was not looked at. @param companyId null where all were asked for */
export function skippedChecks(
  counts: StreamAuditCounts,
  companyId: CompanyId | null,
): readonly SkippedCheck[] {
  const all = [
    {
      of: "stream",
      what: "read alone",
      count: counts.broken,
      why: "their chain is broken among all",
    },
    {
      of: "fact",
      what: "written again",
      count: counts.olderFormats,
      why: "they are of an earlier form, and only read",
    },
    {
      of: "stream",
      what: "held against a signed head",
      count: counts.withoutHead,
      why: "none was signed yet: audit head signs them",
    },
    {
      of: "stream",
      what: "compared with a checkpoint",
      count: counts.withoutCheckpoint,
      why: "none is kept of them",
    },
  ]
  const others = {
    what: "streams of other companies and of the installation",
    count: null,
    why: "one company was asked for",
  }
  const found = all.filter(({ count: many }) => many !== 0)
  return [
    ...found.map(({ of, what, count: many, why }) => {
      return { what: `${of}${many === 1 ? "" : "s"} ${what}`, count: many, why }
    }),
    ...(companyId === null ? [] : [others]),
  ]
}

/** What was looked at by rules that do not look at every event, where they hold. */
export function coverageTexts({
  withHead,
  withCheckpoint,
}: Pick<StreamAuditCounts, "withHead" | "withCheckpoint">): Readonly<
  Partial<Record<AuditRule, string>>
> {
  const withOne = (what: string, none: string, count: number) =>
    count === 0 ? none : `${count} ${count === 1 ? "stream" : "streams"} with a ${what}`
  return {
    "signed heads are of this history": withOne("signed head", "no head is signed yet", withHead),
    "checkpoints are what folding gives": withOne(
      "checkpoint",
      "no checkpoint is kept yet",
      withCheckpoint,
    ),
  }
}

/** What never is: the rows of work come from facts and go once they are done. */
export const JOBS_SKIPPED: SkippedCheck = {
  what: "rows of work",
  count: null,
  why: "they go once they are done, so there is no rebuild to compare them with",
}

/** The same in lines for people. */
export function formatSkipped(skipped: readonly SkippedCheck[]): string {
  const lines = skipped.map(({ what, count, why }) => {
    return `  ${count === null ? "" : `${count} `}${what}: ${why}\n`
  })
  return lines.length === 0 ? "" : `Not looked at:\n${lines.join("")}`
}
