/**
 * A company's forms and the leads that they receive.
 *
 * Stream `leads-<companyId>`: one event per lead, and one for up to 500 leads that are collected together. The rate
 * per form is limited, because stored events stay. The state has the forms and the uncollected leads, whose number
 * is limited too; a checkpoint bounds the time to load it.
 */
import type { CheckpointFormat, Decider, DecisionStamp } from "../kernel/decider.ts"
import { unreachable } from "../kernel/decider.ts"
import type { FormId, LeadId, LeadEvent, LeadFact } from "./lead-events.ts"

/** Maximum number of leads of a form in a minute. */
export const MAX_LEADS_PER_MINUTE = 60
/** Maximum number of leads of a form in a UTC day. */
export const MAX_LEADS_PER_DAY = 2_000
/** Maximum number of uncollected leads of a company. */
export const MAX_UNCOLLECTED_LEADS = 100_000
/** The same content from the same address within this time is the same lead. */
export const DUPLICATE_LEAD_WINDOW_MS = 60_000

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
/** A lead's id derives from its minute; this leaves time for it to be decided. */
const LEAD_ID_WINDOW_MS = 3 * MINUTE_MS

type Command<T extends LeadEvent["type"], Type extends string> = { readonly type: Type } & Omit<
  LeadFact<T>,
  "type" | "at"
>

/** Opens a form. Idempotent for the same id. */
export type OpenLeadForm = Command<"FormOpened", "OpenLeadForm">
/** Closes a form. Idempotent. */
export type CloseLeadForm = Command<"FormClosed", "CloseLeadForm">
/** Records a lead. Idempotent within a minute. */
export type ReceiveLead = Command<"LeadReceived", "ReceiveLead"> & {
  /** The id that the same lead would have had in the minute before. */
  readonly formerId: LeadId
  /** False if rate limits are switched off; then the limits per minute and day do not apply. */
  readonly isLimited: boolean
}
/** Marks leads as collected. Unknown and collected leads are skipped. */
export type CollectLeads = Command<"LeadsCollected", "CollectLeads">
/** Erases a lead that the company is known to have. Idempotent. */
export type EraseLead = Command<"LeadErased", "EraseLead">

export type LeadCommand = OpenLeadForm | CloseLeadForm | ReceiveLead | CollectLeads | EraseLead

export interface LeadRefused {
  readonly type: "LeadRefused"
  readonly at: number
  readonly code: "no_form" | "minute_full" | "day_full" | "too_many_uncollected"
  readonly message: string
}

interface Form {
  isOpen: boolean
  /** The current minute and day, counted from 1970, and the number of leads in them. */
  minute: number
  inMinute: number
  day: number
  inDay: number
}

interface State {
  readonly forms: Map<FormId, Form>
  readonly uncollected: Set<LeadId>
  /** When the latest leads arrived, oldest first. */
  readonly recent: Map<LeadId, number>
  readonly erased: Set<LeadId>
}

/** The state of a company's forms and leads. Only the functions of this file access its fields. */
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
  // A double click succeeds, even if the first click reached the limit.
  if (code === "no_form") return refuse(code, at)
  if (findDuplicateLead(state, lead.leadId, formerId, at) !== null) return []
  return code === null ? [{ ...lead, type: "LeadReceived", at }] : refuse(code, at)
}

/** Returns why a form accepts no lead now; null if it does. */
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

/** Finds the earlier lead that equals a new one; null if there is none. */
export function findDuplicateLead(
  { recent, uncollected, erased }: LeadsState,
  leadId: LeadId,
  formerId: LeadId,
  at: number,
): LeadId | null {
  // An id is never used twice, however late the command is decided and even after erasure.
  if (recent.has(leadId) || uncollected.has(leadId) || erased.has(leadId)) return leadId
  const former = recent.get(formerId)
  return former !== undefined && at - former < DUPLICATE_LEAD_WINDOW_MS ? formerId : null
}

const MESSAGES: Readonly<Record<LeadRefused["code"], string>> = {
  no_form: "There is no such form.",
  minute_full: `This form received ${MAX_LEADS_PER_MINUTE} leads in this minute, the limit; try again in a minute.`,
  day_full: `This form received ${MAX_LEADS_PER_DAY} leads today, the limit; try again after midnight UTC.`,
  too_many_uncollected: `The company has ${MAX_UNCOLLECTED_LEADS} uncollected leads, the limit; collect them first.`,
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
  for (const [id, receivedAt] of state.recent) {
    if (at - receivedAt < LEAD_ID_WINDOW_MS) break
    state.recent.delete(id)
  }
  return state
}

/** The checkpoint format of forms and leads. */
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

/** Whether a lead was erased; its id is never used again. */
export function isLeadErased({ erased }: LeadsState, leadId: LeadId): boolean {
  return erased.has(leadId)
}

/** Estimates the memory of a company's forms and leads in bytes. */
export function leadsBytes({ forms, uncollected, recent, erased }: LeadsState): number {
  return 1_000 + forms.size * 200 + (uncollected.size + recent.size + erased.size) * 100
}
