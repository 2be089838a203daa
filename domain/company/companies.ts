/**
 * Which companies there are: their names are unique, because a name is the git user and what an
 * operator calls a company by; so are their tags, because a tag routes a key.
 *
 * Stream `companies`: one fact a company.
 */
import type { Decider, Stamped } from "../kernel/decider.ts"
import type { Formats } from "../kernel/format.ts"
import { codecOf, flag, micros, oneOf, plain, record, time } from "../kernel/format.ts"
import type { CompanyId, PersonId, Sealed } from "../kernel/ids.ts"
import type { Micros } from "../kernel/money.ts"

/** The one stream of all companies. */
export const COMPANIES_STREAM = "companies"

/** The owner a company begins with. */
export interface FirstOwner {
  readonly personId: PersonId
  readonly name: Sealed
  readonly email: Sealed
  readonly emailTag: string
}

/** How a company is to begin. A reaction opens its streams from this, once, whatever crashes. */
export interface CompanyPlan {
  readonly companyId: CompanyId
  readonly name: Sealed
  /** Keyed hash of the name without case: equal names have equal tags. */
  readonly nameTag: string
  readonly plan: "payg" | "29" | "79" | "197" | "329"
  readonly pays: "prepaid" | "card"
  readonly fundsMicros: Micros
  /** Whether it gets one built-in test number. */
  readonly withNumber: boolean
  readonly owner: FirstOwner
}

/** A company was registered. */
export interface CompanyRegistered extends CompanyPlan {
  readonly type: "CompanyRegistered"
  readonly at: number
}

/** Everything that can happen to the list of companies. */
export type CompaniesEvent = CompanyRegistered

/** Registers a company. The same id again: nothing new. */
export interface RegisterCompany extends CompanyPlan {
  readonly type: "RegisterCompany"
}

/** A registration was refused. */
export interface CompanyRefused {
  readonly type: "CompanyRefused"
  readonly at: number
  readonly code: "name_taken" | "id_taken"
  readonly message: string
}

interface CompaniesState {
  readonly ids: Set<CompanyId>
  readonly byNameTag: Map<string, CompanyId>
}

/** The companies there are. Only the functions of this file look inside. */
export type Companies = CompaniesState

/** The rules of registration. */
export const companies: Decider<RegisterCompany, Companies, CompaniesEvent, CompanyRefused> = {
  initial: () => ({ ids: new Set(), byNameTag: new Map() }),
  decide: (command: RegisterCompany & Stamped, state) => {
    const { at, companyId, nameTag } = command
    const named = state.byNameTag.get(nameTag)
    if (named !== undefined && named === companyId) return []
    if (named !== undefined) {
      const message = "A company of this name exists already; choose another name."
      return { type: "CompanyRefused", at, code: "name_taken", message }
    }
    if (state.ids.has(companyId)) {
      const message = "This company id is taken; send the command again with another id."
      return { type: "CompanyRefused", at, code: "id_taken", message }
    }
    return [{ ...command, type: "CompanyRegistered" }]
  },
  evolve: (state, event) => {
    state.ids.add(event.companyId)
    state.byNameTag.set(event.nameTag, event.companyId)
    return state
  },
}

/** The company whose name has this tag; null where there is none. */
export function companyByNameTag(state: Companies, nameTag: string): CompanyId | null {
  return state.byNameTag.get(nameTag) ?? null
}

/** Whether a company of this id is registered. */
export function isRegistered(state: Companies, companyId: CompanyId): boolean {
  return state.ids.has(companyId)
}

/** How many companies are registered. */
export function companyCount(state: Companies): number {
  return state.ids.size
}

/** The stored form of each fact. */
export const companiesFormats: Formats<CompaniesEvent> = {
  CompanyRegistered: {
    version: 1,
    fields: {
      at: time,
      companyId: plain,
      name: plain,
      nameTag: plain,
      plan: oneOf("payg", "29", "79", "197", "329"),
      pays: oneOf("prepaid", "card"),
      fundsMicros: micros,
      withNumber: flag,
      owner: record<FirstOwner>({ personId: plain, name: plain, email: plain, emailTag: plain }),
    },
  },
}

/** Writes and reads the facts of registration. */
export const companiesCodec = codecOf<CompaniesEvent>(companiesFormats)
