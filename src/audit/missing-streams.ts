/** Streams that must be there: of every company, of everything that was paid, of every refusal. */
import { COMPANIES } from "../../domain/company/aggregates.ts"
import { ledgerOf } from "../../domain/charging/aggregates.ts"
import { accessOf } from "../../domain/access/aggregates.ts"
import type { Ledger } from "../../domain/charging/ledger-state.ts"
import { resourceOfOpen } from "../../domain/charging/ledger-views.ts"
import type { Fact } from "../../domain/kernel/decider.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { companyOf } from "../../domain/kernel/streams.ts"
import type { AdminPorts } from "../frame/operator/operation.ts"
import type { AnyFact } from "../../domain/kernel/facts.ts"
import type { Place } from "./findings.ts"

/** A stream that a fact promises, up to a revision. */
interface Promised {
  readonly stream: string
  readonly revision: number
  /** The fact that says so. */
  readonly by: string
}

/** What the facts say of other streams. */
export class MissingStreams {
  readonly #promised = new Map<string, Promised>()
  /** Companies whose opening may be under way. */
  readonly #companies = new Set<CompanyId>()

  readonly #streamOfIntent: AdminPorts["streamOfIntent"]

  /** @param companyId the only company that is looked at; null for all */
  constructor(streamOfIntent: AdminPorts["streamOfIntent"], companyId: CompanyId | null) {
    this.#streamOfIntent = streamOfIntent
    if (companyId !== null) this.#promiseCompany(companyId, "its registration")
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
    if (fact.type !== "ChargesClosed" || ledger === null) return
    for (const chargeId of fact.chargeIds) {
      const resource = resourceOfOpen(ledger, chargeId)
      const intent = resource === null ? null : this.#streamOfIntent(companyId, resource)
      if (intent !== null) this.#promise({ stream: intent, revision: 0, by })
    }
  }

  /**
   * Tells the first stream that is missing, or ends too early.
   *
   * @param last the last revision of a stream that was read; null where there was none
   */
  async check(
    ports: Pick<AdminPorts, "store"> & { readonly work: Pick<AdminPorts["work"], "names"> },
    last: (stream: string) => number | null,
    tell: (place: Place) => void,
  ): Promise<void> {
    const lacking = [...this.#promised.values()].filter(
      ({ stream, revision }) => (last(stream) ?? -1) < revision,
    )
    if (lacking.length === 0) return
    const opening = new Set(await ports.work.names("open-company"))
    for (const { stream, revision, by } of lacking) {
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
    const known = this.#promised.get(promised.stream)
    if (known !== undefined && known.revision >= promised.revision) return
    this.#promised.set(promised.stream, promised)
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

async function lastRevision({ store }: Pick<AdminPorts, "store">, stream: string): Promise<number> {
  const range = { direction: "backwards" as const, limit: 1 }
  for await (const [last] of store.read(stream, range)) {
    if (last !== undefined) return last.revision
  }
  return -1
}
