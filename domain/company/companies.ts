/**
 * The registered companies. Names are unique, because a name is the git user and operators use it to refer to a
 * company; ids are unique, because their tag routes a key.
 *
 * Stream `companies`: one event per registration and one per erasure.
 */
import type { Decider } from "../kernel/decider.ts"
import type { FactOf, EventFormats, ValuesOf } from "../kernel/event-format.ts"
import {
  codecOf,
  flag,
  micros,
  enumOf,
  asciiText,
  record,
  instant,
} from "../kernel/event-format.ts"
import { id, sealedText } from "../kernel/id-field-types.ts"
import type { CompanyId } from "../kernel/ids.ts"

const plan = {
  companyId: id.company,
  name: sealedText,
  /** Keyed hash of the name without case: equal names have equal tags. */
  nameTag: asciiText,
  plan: enumOf("payg", "29", "79", "197", "329"),
  pays: enumOf("prepaid", "card"),
  fundsMicros: micros,
  /** Whether the company gets one simulated test number. */
  withNumber: flag,
  owner: record({ personId: id.person, name: sealedText, email: sealedText, emailTag: asciiText }),
}

/** The initial state of a company. A reaction opens its streams from it, exactly once. */
export type CompanyRegistration = ValuesOf<typeof plan>

/** The stored formats of the events about companies. */
export const companiesFormats = {
  CompanyRegistered: { version: 1, fields: { at: instant, ...plan } },
  /**
   * The company's keys were destroyed, so its sealed text can never be read again. Its name may be used by another
   * company.
   */
  CompanyErased: { version: 1, fields: { at: instant, companyId: id.company } },
} satisfies EventFormats

export type CompaniesEvent = FactOf<typeof companiesFormats>

export const companiesCodec = codecOf(companiesFormats)

/** Registers a company. Idempotent for the same id. */
export interface RegisterCompany extends CompanyRegistration {
  readonly type: "RegisterCompany"
}

/** Releases the name of a company whose keys are destroyed. Idempotent. */
export interface EraseCompany {
  readonly type: "EraseCompany"
  readonly companyId: CompanyId
}

export type CompaniesCommand = RegisterCompany | EraseCompany

export interface CompanyRefused {
  readonly type: "CompanyRefused"
  readonly at: number
  readonly code: "name_taken" | "id_taken" | "no_such_company"
  readonly message: string
}

interface CompaniesState {
  readonly ids: Map<CompanyId, number>
  readonly erased: Map<CompanyId, number>
  readonly byNameTag: Map<string, CompanyId>
}

/** The registered companies. Only the functions of this file access the fields. */
export type Companies = CompaniesState

/** The rules of registration. */
export const companiesDecider: Decider<
  CompaniesCommand,
  Companies,
  CompaniesEvent,
  CompanyRefused
> = {
  initial: () => ({ ids: new Map(), erased: new Map(), byNameTag: new Map() }),
  decide: (command, state, { at }) =>
    command.type === "RegisterCompany" ? register(command, state, at) : erase(command, state, at),
  evolve: (state, event) => {
    const { companyId } = event
    if (event.type === "CompanyRegistered") {
      state.ids.set(companyId, state.ids.size + state.erased.size)
      state.byNameTag.set(event.nameTag, companyId)
      return state
    }
    state.erased.set(companyId, event.at)
    for (const [tag, owner] of state.byNameTag) {
      if (owner === companyId) state.byNameTag.delete(tag)
    }
    return state
  },
}

function register(
  command: RegisterCompany,
  state: Companies,
  at: number,
): readonly CompaniesEvent[] | CompanyRefused {
  const { companyId, nameTag } = command
  const owner = state.byNameTag.get(nameTag)
  if (owner !== undefined && owner === companyId) return []
  if (owner !== undefined) {
    const message = "A company of this name exists already; choose another name."
    return { type: "CompanyRefused", at, code: "name_taken", message }
  }
  if (state.ids.has(companyId)) {
    const message = "This company id is taken; send the command again with another id."
    return { type: "CompanyRefused", at, code: "id_taken", message }
  }
  return [{ ...command, type: "CompanyRegistered", at }]
}

function erase(
  { companyId }: EraseCompany,
  state: Companies,
  at: number,
): readonly CompaniesEvent[] | CompanyRefused {
  if (state.erased.has(companyId)) return []
  if (state.ids.has(companyId)) return [{ type: "CompanyErased", at, companyId }]
  const message = "There is no such company."
  return { type: "CompanyRefused", at, code: "no_such_company", message }
}

/** Finds the company whose name has this tag; null if there is none. */
export function companyByNameTag(state: Companies, nameTag: string): CompanyId | null {
  return state.byNameTag.get(nameTag) ?? null
}

/** Whether a company with this id is registered. */
export function isCompanyRegistered(state: Companies, companyId: CompanyId): boolean {
  return state.ids.has(companyId)
}

/**
 * Returns the revision at which a company was registered, which is unique to it; null if there is no such company.
 */
export function registrationRevisionOf(state: Companies, companyId: CompanyId): number | null {
  return state.ids.get(companyId) ?? null
}

/** Returns when a company's keys were destroyed, UTC milliseconds; null if they were not. */
export function companyErasedAt(state: Companies, companyId: CompanyId): number | null {
  return state.erased.get(companyId) ?? null
}

/** Returns the number of companies that were ever registered. */
export function companyCount(state: Companies): number {
  return state.ids.size
}
