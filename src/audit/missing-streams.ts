/** Streams that must be there: of every company, of everything that was paid, of every refusal. */
import { DamagedStream } from "../../adapters/eventstore/port.ts"
import { COMPANIES } from "../../domain/company/aggregates.ts"
import { ledgerOf } from "../../domain/charging/aggregates.ts"
import { accessOf } from "../../domain/access/aggregates.ts"
import type { Ledger } from "../../domain/charging/ledger-state.ts"
import { resourceOfOpen } from "../../domain/charging/ledger-views.ts"
import type { Fact } from "../../domain/kernel/decider.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { companyOf } from "../../domain/kernel/aggregate.ts"
import type { AdminPorts } from "../frame/operator/operation.ts"
import type { AnyFact } from "../../domain/kernel/facts.ts"
import type { Place, Rule } from "./findings.ts"

/** A stream that a fact promises, up to a revision. */
interface Promised {
  readonly stream: string
  readonly revision: number
  /** The fact that says so. */
  readonly by: string
}

/** What the facts say of other streams. Only those are kept that end too early, or are not there. */
export class MissingStreams {
  readonly #lacking = new Map<string, Promised>()
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
  take(stream: string, revision: number, given: Fact, ledger: Ledger | null): void {
    const fact = given as AnyFact
    if (fact.type === "CompanyRegistered") {
      this.#promiseCompany(fact.companyId, `${COMPANIES.stream} revision ${revision}`)
    }
    const companyId = companyOf(stream)
    if (companyId === null) return
    const by = `${stream} revision ${revision}`
    if (fact.type === "ChargeRefused") {
      this.#promise({ stream: ledgerOf(companyId).stream, revision: fact.ledgerRevision, by })
    }
    if (fact.type !== "ChargesSettled" || ledger === null) return
    for (const chargeId of fact.chargeIds) {
      const resource = resourceOfOpen(ledger, chargeId)
      const intent = resource === null ? null : this.#streamOfIntent(companyId, resource)
      if (intent !== null) this.#promise({ stream: intent, revision: 0, by })
    }
  }

  /** Tells the first stream that is missing, or ends too early. */
  async check(
    ports: Pick<AdminPorts, "store"> & { readonly work: Pick<AdminPorts["work"], "names"> },
    tell: (place: Place) => void,
  ): Promise<void> {
    if (this.#companyId !== null) this.#promiseCompany(this.#companyId, "its registration")
    if (this.#lacking.size === 0) return
    const opening = new Set(await ports.work.names("open-company"))
    for (const { stream, revision, by } of this.#lacking.values()) {
      const companyId = companyOf(stream)
      const isOpening = companyId !== null && opening.has(companyId)
      if (isOpening && this.#companies.has(companyId)) continue
      // It may have come while this was reading.
      const found = await lastRevision(ports, stream)
      if (found >= revision) continue
      const expected = `revision ${revision}, of which ${by} says that it is there`
      const is = found === -1 ? "no such stream" : `its end at revision ${found}`
      tell({ stream, revision: found + 1, expected, found: is })
      return
    }
  }

  #promiseCompany(companyId: CompanyId, by: string): void {
    this.#companies.add(companyId)
    this.#promise({ stream: accessOf(companyId).stream, revision: 0, by })
    this.#promise({ stream: ledgerOf(companyId).stream, revision: 0, by })
  }

  #promise(promised: Promised): void {
    const { stream, revision } = promised
    if ((this.#lastOf(stream) ?? -1) >= revision) return
    const known = this.#lacking.get(stream)
    if (known === undefined || known.revision < revision) this.#lacking.set(stream, promised)
  }
}

/** Whether a stream reaches this revision by now. @throws Unavailable where it cannot be read */
export async function reaches(
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
    if (!(error instanceof DamagedStream)) throw error
  }
  return -1
}

/** Something that was not looked at. */
export interface Skipped {
  readonly what: string
  /** How many there are; null where nobody counted. */
  readonly count: number | null
  readonly why: string
}

/** How much of the streams was looked at. */
export interface StreamCounts {
  /** Streams whose chain is broken among all. */
  broken: number
  /** Facts of an earlier form of their type. */
  formerForms: number
  /** Streams of a tree of which a head was signed, and the others. */
  withHead: number
  withoutHead: number
  /** Streams of which a checkpoint is kept, and those that have none yet. */
  withCheckpoint: number
  withoutCheckpoint: number
}

/** What of the streams was not looked at. @param companyId null where all were asked for */
export function skippedIn(counts: StreamCounts, companyId: CompanyId | null): readonly Skipped[] {
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
      count: counts.formerForms,
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
export function lookedAt({
  withHead,
  withCheckpoint,
}: Pick<StreamCounts, "withHead" | "withCheckpoint">): Readonly<Partial<Record<Rule, string>>> {
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
export const WORK_ROWS: Skipped = {
  what: "rows of work",
  count: null,
  why: "they go once they are done, so there is no rebuild to compare them with",
}

/** The same in lines for people. */
export function skippedText(skipped: readonly Skipped[]): string {
  const lines = skipped.map(({ what, count, why }) => {
    return `  ${count === null ? "" : `${count} `}${what}: ${why}\n`
  })
  return lines.length === 0 ? "" : `Not looked at:\n${lines.join("")}`
}
