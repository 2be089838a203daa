/**
 * The names on a statement: those that stood in the company's access stream when its month was
 * closed, by the global order of the facts. A later change of a name changes no closed statement.
 * They are opened with the company's keys: once these are destroyed, ids stand in their place.
 */
import { accessOf } from "../../domain/access/aggregates.ts"
import type { Position } from "../../adapters/eventstore/port.ts"
import { comparePositions } from "../../adapters/eventstore/port.ts"
import type { CompanyId, KeyId, PersonId, Sealed } from "../../domain/kernel/ids.ts"
import { CHAIN_START, nextHash } from "../frame/writer/chain.ts"
import type { BillPorts } from "./open-bill.ts"

/** Names as a statement shows them; null where only the id is left. */
export interface StatementNames {
  readonly company: string | null
  readonly person: (personId: string) => string | null
  /** What a key is labelled; null also where it has no label. */
  readonly key: (keyId: string) => string | null
}

/** Reads the names that stood at a place of the global order; null for those that stand now. */
export async function statementNames(
  { store, sealing, streams }: Pick<BillPorts, "store" | "sealing" | "streams">,
  companyId: CompanyId,
  at: Position | null,
): Promise<StatementNames> {
  let company: Sealed | null = null
  const sealed = new Map<PersonId | KeyId, Sealed>()
  let end = CHAIN_START
  for await (const page of store.read(accessOf(companyId).stream)) {
    for (const stored of page) {
      end = { revision: stored.revision, hash: nextHash(stored, end) }
      if (at !== null && comparePositions(stored.position, at) > 0) continue
      const { fact } = streams.recorded(stored)
      if (fact.type === "CompanyOpened") company = fact.name
      const isNamed = fact.type === "PersonAdded" || fact.type === "PersonChanged"
      if (isNamed && fact.name !== null) sealed.set(fact.personId, fact.name)
      if (fact.type === "KeyCreated" && fact.label !== null) sealed.set(fact.keyId, fact.label)
    }
  }
  const open = (name: Sealed) => sealing.open(companyId, name)
  const named = await Promise.all(
    [...sealed].map(async ([id, name]) => [id, await open(name)] as const),
  )
  // An id says whose it is, so that people and keys need not be told apart.
  const names = new Map<string, string | null>(named)
  return {
    company: company === null ? null : await open(company),
    person: (personId) => names.get(personId) ?? null,
    key: (keyId) => names.get(keyId) ?? null,
  }
}
