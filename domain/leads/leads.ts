/**
 * A company's forms and what comes in by them.
 *
 * Stream `leads-<companyId>`: a fact for each lead, one for up to 500 that are collected at once. How often
 * a form takes one is bounded here, because what is stored stays. The state is the forms and the leads
 * that nobody has collected yet, whose number is bounded too; a checkpoint bounds the time to load it.
 */
import type { CheckpointFormat, Decider, DecisionStamp } from "../kernel/decider.ts"
import { unreachable } from "../kernel/decider.ts"
import type { FormId, LeadId, LeadEvent, LeadFact } from "./lead-events.ts"

/** So many leads a form takes in a minute. */
export const MAX_LEADS_PER_MINUTE = 60
/** So many leads a form takes on a day in UTC. */
export const MAX_LEADS_PER_DAY = 2_000
/** So many leads of a company wait to be collected. */
export const MAX_UNCOLLECTED_LEADS = 100_000
/** The same from the same address within this is the same lead. */
export const DUPLICATE_LEAD_WINDOW_MS = 60_000

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
/** The name of a lead holds for the minute it is made of, and waits for its turn within this. */
const LEAD_ID_WINDOW_MS = 3 * MINUTE_MS

type Command<T extends LeadEvent["type"], Type extends string> = { readonly type: Type } & Omit<
  LeadFact<T>,
  "type" | "at"
>

/** Opens a form. The same id again: nothing new. */
export type OpenLeadForm = Command<"FormOpened", "OpenLeadForm">
/** Closes a form. One that is closed: nothing new. */
export type CloseLeadForm = Command<"FormClosed", "CloseLeadForm">
/** Takes a lead in. The same within a minute: nothing new. */
export type ReceiveLead = Command<"LeadReceived", "ReceiveLead"> & {
  /** The id that the same would have had if it had come in the minute before. */
  readonly formerId: LeadId
  /** Whether the form's bounds of a minute and a day hold: not where rate limits are switched off. */
  readonly isLimited: boolean
}
/** Marks leads as collected. Those that are not the company's, or are collected: nothing new. */
export type CollectLeads = Command<"LeadsCollected", "CollectLeads">
/** Erases a lead, whose id the company is known to have. One that is erased: nothing new. */
export type EraseLead = Command<"LeadErased", "EraseLead">

/** What can be asked of a company's forms. */
export type LeadCommand = OpenLeadForm | CloseLeadForm | ReceiveLead | CollectLeads | EraseLead

/** A command was refused. */
export interface LeadRefused {
  readonly type: "LeadRefused"
  readonly at: number
  readonly code: "no_form" | "minute_full" | "day_full" | "too_many_uncollected"
  readonly message: string
}

interface Form {
  isOpen: boolean
  /** The current minute and day, counted from 1970, and how many came in them. */
  minute: number
  inMinute: number
  day: number
  inDay: number
}

interface State {
  readonly forms: Map<FormId, Form>
  readonly uncollected: Set<LeadId>
  /** When the last ones came, the oldest first. */
  readonly recent: Map<LeadId, number>
  readonly erased: Set<LeadId>
}

/** A company's forms and leads. Only the functions of this file look inside. */
export type LeadsState = State

/** The rules of forms and leads. */
export const leadsDecider: Decider<LeadCommand, LeadsState, LeadEvent, LeadRefused> = {
  initial: () => ({
    forms: new Map(),
    uncollected: new Set(),
    recent: new Map(),
    erased: new Set(),
  }),
  decide,
  evolve,
}

function decide(
  command: LeadCommand,
  state: LeadsState,
  { at }: DecisionStamp,
): readonly LeadEvent[] | LeadRefused {
  switch (command.type) {
    case "OpenLeadForm":
      return state.forms.has(command.formId) ? [] : [{ ...command, type: "FormOpened", at }]
    case "CloseLeadForm": {
      const form = state.forms.get(command.formId)
      if (form === undefined) return refuse("no_form", at)
      return form.isOpen ? [{ ...command, type: "FormClosed", at }] : []
    }
    case "ReceiveLead":
      return receive(command, state, at)
    case "CollectLeads": {
      const leadIds = [...new Set(command.leadIds)].filter((id) => state.uncollected.has(id))
      return leadIds.length === 0 ? [] : [{ type: "LeadsCollected", at, leadIds }]
    }
    case "EraseLead":
      return state.erased.has(command.leadId) ? [] : [{ ...command, type: "LeadErased", at }]
    default:
      return unreachable(command)
  }
}

function receive(
  { type: _type, formerId, isLimited, ...lead }: ReceiveLead,
  state: LeadsState,
  at: number,
): readonly LeadEvent[] | LeadRefused {
  const code = leadRefusalCode(state, lead.formId, at, isLimited)
  // Whoever clicks twice is told yes, though their first click was the last that fitted.
  if (code === "no_form") return refuse(code, at)
  if (findDuplicateLead(state, lead.leadId, formerId, at) !== null) return []
  return code === null ? [{ ...lead, type: "LeadReceived", at }] : refuse(code, at)
}

/** Why a form takes no lead now; null where it does. */
export function leadRefusalCode(
  state: LeadsState,
  formId: FormId,
  at: number,
  isLimited: boolean,
): LeadRefused["code"] | null {
  const form = state.forms.get(formId)
  if (form?.isOpen !== true) return "no_form"
  if (isLimited) {
    const isThisMinute = form.minute === Math.floor(at / MINUTE_MS)
    if (isThisMinute && form.inMinute >= MAX_LEADS_PER_MINUTE) return "minute_full"
    if (form.day === Math.floor(at / DAY_MS) && form.inDay >= MAX_LEADS_PER_DAY) return "day_full"
  }
  return state.uncollected.size >= MAX_UNCOLLECTED_LEADS ? "too_many_uncollected" : null
}

/** The lead that came already, where what comes now is the same; null where it is a new one. */
export function findDuplicateLead(
  { recent, uncollected, erased }: LeadsState,
  leadId: LeadId,
  formerId: LeadId,
  at: number,
): LeadId | null {
  // One of this very id is the same however late it is decided: no id is given twice, also not when
  // it was erased since it was named.
  if (recent.has(leadId) || uncollected.has(leadId) || erased.has(leadId)) return leadId
  const former = recent.get(formerId)
  return former !== undefined && at - former < DUPLICATE_LEAD_WINDOW_MS ? formerId : null
}

const MESSAGES: Readonly<Record<LeadRefused["code"], string>> = {
  no_form: "There is no such form.",
  minute_full: `This form took ${MAX_LEADS_PER_MINUTE} in this minute; wait a minute.`,
  day_full: `This form took ${MAX_LEADS_PER_DAY} today; it takes more after midnight UTC.`,
  too_many_uncollected: "Too many leads wait to be collected; nothing can be taken in just now.",
}

function refuse(code: LeadRefused["code"], at: number): LeadRefused {
  return { type: "LeadRefused", at, code, message: MESSAGES[code] }
}

function evolve(state: LeadsState, event: LeadEvent): LeadsState {
  switch (event.type) {
    case "FormOpened":
      state.forms.set(event.formId, { isOpen: true, minute: 0, inMinute: 0, day: 0, inDay: 0 })
      return state
    case "FormClosed": {
      const form = state.forms.get(event.formId)
      if (form !== undefined) form.isOpen = false
      return state
    }
    case "LeadReceived":
      return received(state, event)
    case "LeadsCollected":
      for (const id of event.leadIds) state.uncollected.delete(id)
      return state
    case "LeadErased":
      // Nothing is left of it to collect.
      state.uncollected.delete(event.leadId)
      state.recent.delete(event.leadId)
      state.erased.add(event.leadId)
      return state
    default:
      return unreachable(event)
  }
}

function received(state: LeadsState, { formId, leadId, at }: LeadFact<"LeadReceived">): LeadsState {
  const form = state.forms.get(formId)
  if (form !== undefined) {
    const [minute, day] = [Math.floor(at / MINUTE_MS), Math.floor(at / DAY_MS)]
    form.inMinute = form.minute === minute ? form.inMinute + 1 : 1
    form.inDay = form.day === day ? form.inDay + 1 : 1
    Object.assign(form, { minute, day })
  }
  state.uncollected.add(leadId)
  state.recent.set(leadId, at)
  for (const [id, cameAt] of state.recent) {
    if (at - cameAt < LEAD_ID_WINDOW_MS) break
    state.recent.delete(id)
  }
  return state
}

/** How a company's forms and leads are kept beside their stream. */
export const leadsCheckpoint: CheckpointFormat<LeadsState> = {
  version: 1,
  save: ({ forms, uncollected, recent, erased }) => ({
    forms: [...forms],
    uncollected: [...uncollected],
    recent: [...recent],
    erased: [...erased],
  }),
  load: (saved) => {
    const { forms, uncollected, recent, erased } = saved as {
      readonly forms: readonly (readonly [FormId, Form])[]
      readonly uncollected: readonly LeadId[]
      readonly recent: readonly (readonly [LeadId, number])[]
      readonly erased: readonly LeadId[]
    }
    return {
      forms: new Map(forms.map(([id, form]) => [id, { ...form }])),
      uncollected: new Set(uncollected),
      recent: new Map(recent),
      erased: new Set(erased),
    }
  },
}

/** Whether a lead was erased: its id is never given again. */
export function isLeadErased({ erased }: LeadsState, leadId: LeadId): boolean {
  return erased.has(leadId)
}

/** What a company's forms and leads take in memory, in bytes, about. */
export function leadsBytes({ forms, uncollected, recent, erased }: LeadsState): number {
  return 1_000 + forms.size * 200 + (uncollected.size + recent.size + erased.size) * 100
}
