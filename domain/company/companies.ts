/**
 * Which companies there are: their names are unique, because a name is the git user and what an
 * operator calls a company by; so are their tags, because a tag routes a key.
 *
 * Stream `companies`: one fact a company, and one when it was erased.
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
  /** Whether it gets one built-in test number. */
  withNumber: flag,
  /** The owner the company begins with. */
  owner: record({ personId: id.person, name: sealedText, email: sealedText, emailTag: asciiText }),
}

/** How a company is to begin. A reaction opens its streams from this, once, whatever crashes. */
export type CompanyRegistration = ValuesOf<typeof plan>

/** Everything that can happen to the list of companies. */
export const companiesFormats = {
  /** A company was registered. */
  CompanyRegistered: { version: 1, fields: { at: instant, ...plan } },
  /**
   * What was personal of a company is erased: its keys are destroyed, so nothing that was sealed for
   * it can be read again. Its name is free for another.
   */
  CompanyErased: { version: 1, fields: { at: instant, companyId: id.company } },
} satisfies EventFormats

/** Everything that can happen to the list of companies. */
export type CompaniesEvent = FactOf<typeof companiesFormats>

/** Writes and reads the facts of the list. */
export const companiesCodec = codecOf(companiesFormats)

/** Registers a company. The same id again: nothing new. */
export interface RegisterCompany extends CompanyRegistration {
  readonly type: "RegisterCompany"
}

/** Strikes a company whose keys are destroyed off the list of names. Again: nothing new. */
export interface EraseCompany {
  readonly type: "EraseCompany"
  readonly companyId: CompanyId
}

/** Everything that can be asked of the list of companies. */
export type CompaniesCommand = RegisterCompany | EraseCompany

/** A registration was refused. */
export interface CompanyRefused {
  readonly type: "CompanyRefused"
  readonly at: number
  readonly code: "name_taken" | "id_taken" | "no_such_company"
  readonly message: string
}

interface CompaniesState {
  /** Each by the revision of its registration. */
  readonly ids: Map<CompanyId, number>
  /** When each erased one was. */
  readonly erased: Map<CompanyId, number>
  readonly byNameTag: Map<string, CompanyId>
}

/** The companies there are. Only the functions of this file look inside. */
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
    for (const [tag, named] of state.byNameTag) {
      if (named === companyId) state.byNameTag.delete(tag)
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

/** The company whose name has this tag; null where there is none. */
export function companyByNameTag(state: Companies, nameTag: string): CompanyId | null {
  return state.byNameTag.get(nameTag) ?? null
}

/** Whether a company of this id is registered. */
export function isCompanyRegistered(state: Companies, companyId: CompanyId): boolean {
  return state.ids.has(companyId)
}

/**
 * The revision at which a company was registered: its place, which nobody else ever has. Null where
 * there is no such company.
 */
export function registrationRevisionOf(state: Companies, companyId: CompanyId): number | null {
  return state.ids.get(companyId) ?? null
}

/** When the keys of a company were destroyed, UTC milliseconds; null where they were not. */
export function companyErasedAt(state: Companies, companyId: CompanyId): number | null {
  return state.erased.get(companyId) ?? null
}

/** How many companies were ever registered. */
export function companyCount(state: Companies): number {
  return state.ids.size
}
