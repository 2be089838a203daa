/**
 * The ledger of a company: every charge is decided here, against the funds and against each limit
 * that applies, and the yes is the reservation (decisions.md §4).
 *
 * Stream `ledger-<companyId>`. It grows with every charge and is never cut: a checkpoint bounds the
 * time to load it. The state is bounded by the company's people, keys and open charges.
 *
 * The law: no charge was ever accepted at a revision where it did not fit the funds and every limit
 * then in force. A charge with `exempt: "funds"` is not asked for funds and says so in its fact.
 */
import type { CheckpointForm, Decider, Stamped } from "../kernel/decider.ts"
import { unreachable } from "../kernel/decider.ts"
import type { ChargeId, CompanyId } from "../kernel/ids.ts"
import type { Micros } from "../kernel/money.ts"
import { isMicros } from "../kernel/money.ts"
import type { Windows } from "../kernel/window.ts"
import { windowEnd, windowsAt } from "../kernel/window.ts"
import type {
  ChargeGivenBack,
  ChargeRefusalCode,
  ChargeRefused,
  ChargeRequest,
  Charged,
  LedgerEvent,
} from "./ledger-events.ts"
import type { Limit, LimitName, LimitReading, SpendingClass, Spender } from "./limits.ts"
import { fits, isUsedUp, limitFault } from "./limits.ts"
import type { SavedTallies, Tallies, TallyIndex } from "./tallies.ts"
import {
  addToTally,
  emptyTallies,
  knownTallies,
  loadTallies,
  moveWindows,
  saveTallies,
  takeFromTally,
  tallyOfLimit,
  touchedTallies,
  usedAt,
} from "./tallies.ts"

/** The stream of a company's ledger. */
export function ledgerStream(companyId: CompanyId): string {
  return `ledger-${companyId}`
}

/** No company may have more charges open than this: the next is refused until some end. */
export const MAX_OPEN_CHARGES = 10_000

/** Begins a ledger. Again: nothing new. */
export interface OpenLedger {
  readonly type: "OpenLedger"
  readonly prepaidOnly: boolean
  readonly creditLineMicros: Micros
}

/** Raises the funds. The same reference again: nothing new. */
export interface AddFunds {
  readonly type: "AddFunds"
  readonly amountMicros: Micros
  readonly reference: string | null
}

/** Sets or replaces the holder's limit of this class. The same again: nothing new. */
export interface SetLimit extends Limit {
  readonly type: "SetLimit"
}

/** Takes a limit away. */
export interface RemoveLimit extends LimitName {
  readonly type: "RemoveLimit"
}

/** Spends. An open charge's id again: nothing new, and the first answer stands. */
export interface Charge extends ChargeRequest {
  readonly type: "Charge"
  readonly open: boolean
  readonly exempt: "funds" | null
}

/** Says that the work of these charges succeeded. Those that are not open are passed over. */
export interface CloseCharges {
  readonly type: "CloseCharges"
  readonly chargeIds: readonly ChargeId[]
}

/** Gives an open charge back, whole or in part. A charge that is not open: nothing new. */
export interface GiveBack {
  readonly type: "GiveBack"
  readonly chargeId: ChargeId
  /** Null for the whole; else more than 0 and at most what was charged. */
  readonly amountMicros: Micros | null
  readonly reason: string
}

/** Stops all charges after a missed payment. */
export interface LockAccount {
  readonly type: "LockAccount"
}

/** Makes charges possible again. */
export interface UnlockAccount {
  readonly type: "UnlockAccount"
}

/** Everything a ledger can be asked to do. */
export type LedgerCommand =
  | OpenLedger
  | AddFunds
  | SetLimit
  | RemoveLimit
  | Charge
  | CloseCharges
  | GiveBack
  | LockAccount
  | UnlockAccount

/** A command that is no charge was refused. */
export interface LedgerRefused {
  readonly type: "LedgerRefused"
  readonly at: number
  readonly code: "bad_limit" | "no_such_limit" | "bad_amount"
  /** One sentence for the person who asked. */
  readonly message: string
}

/** Every no of the ledger. */
export type LedgerRefusal = ChargeRefused | LedgerRefused

interface OpenCharge {
  readonly at: number
  readonly amountMicros: Micros
  readonly spender: Spender
  readonly class: SpendingClass
  readonly item: string
  readonly resource: string | null
}

interface LedgerState {
  /** Facts folded so far, so the last one's revision is one less. */
  facts: number
  opened: boolean
  locked: boolean
  prepaidOnly: boolean
  creditLineMicros: Micros
  fundsMicros: Micros
  readonly references: Set<string>
  readonly open: Map<ChargeId, OpenCharge>
  readonly limits: Map<TallyIndex, Limit>
  tallies: Tallies
}

/** A ledger's state. Only the functions of this file look inside. */
export type Ledger = LedgerState

/** The rules of the ledger. */
export const ledger: Decider<LedgerCommand, Ledger, LedgerEvent, LedgerRefusal> = {
  initial: () => ({
    facts: 0,
    opened: false,
    locked: false,
    prepaidOnly: false,
    creditLineMicros: 0,
    fundsMicros: 0,
    references: new Set(),
    open: new Map(),
    limits: new Map(),
    tallies: emptyTallies(),
  }),
  decide,
  evolve,
}

function decide(
  command: LedgerCommand & Stamped,
  state: Ledger,
): readonly LedgerEvent[] | LedgerRefusal {
  const { at } = command
  switch (command.type) {
    case "OpenLedger": {
      if (state.opened) return []
      const { prepaidOnly, creditLineMicros } = command
      if (creditLineMicros < 0 || !isMicros(creditLineMicros)) {
        const message = "A credit line is 0 or more, at most nine thousand million dollars."
        return { type: "LedgerRefused", at, code: "bad_amount", message }
      }
      return [{ type: "LedgerOpened", at, prepaidOnly, creditLineMicros }]
    }
    case "AddFunds": {
      const { amountMicros, reference } = command
      if (reference !== null && state.references.has(reference)) return []
      const isAmount = amountMicros > 0 && isMicros(amountMicros)
      if (!isAmount || !isMicros(state.fundsMicros + amountMicros)) {
        const message = "Funds are more than 0, and at most nine thousand million dollars in all."
        return { type: "LedgerRefused", at, code: "bad_amount", message }
      }
      return [{ type: "FundsAdded", at, amountMicros, reference }]
    }
    case "SetLimit":
      return setLimit(command, state)
    case "RemoveLimit": {
      const { holder, holderId, class: limited } = command
      if (findLimit(state, command) === null) {
        const message = "There is no such limit."
        return { type: "LedgerRefused", at, code: "no_such_limit", message }
      }
      return [{ type: "LimitRemoved", at, holder, holderId, class: limited }]
    }
    case "Charge":
      return charge(command, state)
    case "CloseCharges": {
      const chargeIds = [...new Set(command.chargeIds)].filter((id) => state.open.has(id))
      return chargeIds.length === 0 ? [] : [{ type: "ChargesClosed", at, chargeIds }]
    }
    case "GiveBack":
      return giveBack(command, state)
    case "LockAccount":
      return state.locked ? [] : [{ type: "AccountLocked", at }]
    case "UnlockAccount":
      return state.locked ? [{ type: "AccountUnlocked", at }] : []
    default:
      return unreachable(command)
  }
}

function evolve(state: Ledger, event: LedgerEvent): Ledger {
  state.facts += 1
  moveWindows(state.tallies, event.at)
  switch (event.type) {
    case "LedgerOpened":
      state.opened = true
      state.prepaidOnly = event.prepaidOnly
      state.creditLineMicros = event.creditLineMicros
      return state
    case "FundsAdded":
      state.fundsMicros += event.amountMicros
      if (event.reference !== null) state.references.add(event.reference)
      return state
    case "LimitSet": {
      dropLimit(state, event)
      const { type: _type, at: _at, ...limit } = event
      state.limits.set(tallyOfLimit(state.tallies, limit), limit)
      return state
    }
    case "LimitRemoved":
      dropLimit(state, event)
      return state
    case "Charged":
      return evolveCharged(state, event)
    case "ChargesClosed":
      for (const id of event.chargeIds) state.open.delete(id)
      return state
    case "ChargeGivenBack":
      return evolveGivenBack(state, event)
    case "AccountLocked":
      state.locked = true
      return state
    case "AccountUnlocked":
      state.locked = false
      return state
    default:
      return unreachable(event)
  }
}

function setLimit(
  command: SetLimit & Stamped,
  state: Ledger,
): readonly LedgerEvent[] | LedgerRefusal {
  const { type: _type, at, ...limit } = command
  const message = limitFault(limit)
  if (message !== null) return { type: "LedgerRefused", at, code: "bad_limit", message }
  const former = findLimit(state, limit)
  if (former !== null && sameLimit(former, limit)) return []
  return [{ type: "LimitSet", at, ...limit }]
}

function charge(command: Charge & Stamped, state: Ledger): readonly LedgerEvent[] | LedgerRefusal {
  if (state.open.has(command.chargeId)) return []
  const { amountMicros, quantity, unitPriceMicros } = command
  if (amountMicros < 0 || amountMicros !== quantity * unitPriceMicros) {
    // Below zero it would add to the funds; else the bill's line would not multiply out.
    const message = "A charge is 0 or more, and its quantity times its unit price."
    return { type: "LedgerRefused", at: command.at, code: "bad_amount", message }
  }
  const code = refusalCode(command, state)
  if (code !== null) return refuse(command, state, code)
  const { type: _type, ...facts } = command
  return [{ ...facts, type: "Charged" }]
}

/** The first rule that stands against a charge, in the order of decisions.md §1. */
function refusalCode(command: Charge & Stamped, state: Ledger): ChargeRefusalCode | null {
  const asked = command.amountMicros
  if (state.locked) return "account_locked"
  const windows = windowsOf(state, command.at)
  for (const tally of knownTallies(state.tallies, spenderOf(command), command.class)) {
    const limit = state.limits.get(tally)
    if (limit === undefined) continue
    const used = usedAt(state.tallies, tally, limit.period, windows)
    if (!fits({ usedMicros: used, amountMicros: limit.amountMicros, askedMicros: asked })) {
      return "spend_limit_reached"
    }
  }
  if (command.exempt !== "funds" && asked > state.fundsMicros + state.creditLineMicros) {
    return "payment_required"
  }
  if (command.open && state.open.size >= MAX_OPEN_CHARGES) return "too_many_open_charges"
  return staysExact(command, state, windows) ? null : "amount_too_large"
}

/** Whether funds and sums stay within exact arithmetic once this is charged. */
function staysExact(command: Charge & Stamped, state: Ledger, windows: Windows): boolean {
  if (!isMicros(state.fundsMicros - command.amountMicros)) return false
  return knownTallies(state.tallies, spenderOf(command), command.class).every(
    (tally) =>
      isMicros(usedAt(state.tallies, tally, "month", windows) + command.amountMicros) &&
      isMicros(usedAt(state.tallies, tally, "week", windows) + command.amountMicros),
  )
}

function refuse(command: Charge & Stamped, state: Ledger, code: ChargeRefusalCode): ChargeRefused {
  const { type: _type, open: _open, exempt: _exempt, ...request } = command
  const limits = readApplying(
    state,
    command.at,
    spenderOf(command),
    command.class,
    command.amountMicros,
  )
  const first = code === "spend_limit_reached" ? limits.findIndex((limit) => !fits(limit)) : null
  return {
    type: "ChargeRefused",
    ...request,
    code,
    ledgerRevision: state.facts - 1,
    fundsMicros: state.fundsMicros,
    creditLineMicros: state.creditLineMicros,
    prepaidOnly: state.prepaidOnly,
    pendingMicros: 0,
    limits,
    refusedBy: first,
  }
}

function giveBack(
  command: GiveBack & Stamped,
  state: Ledger,
): readonly LedgerEvent[] | LedgerRefused {
  const { at, chargeId, reason } = command
  const charged = state.open.get(chargeId)
  if (charged === undefined) return []
  const amountMicros = command.amountMicros ?? charged.amountMicros
  const isPart = amountMicros > 0 && amountMicros <= charged.amountMicros && isMicros(amountMicros)
  if (command.amountMicros !== null && !isPart) {
    const message = "What is given back is more than 0 and at most what was charged."
    return { type: "LedgerRefused", at, code: "bad_amount", message }
  }
  const { spender, at: chargedAt, class: charging, item, resource } = charged
  const fact: ChargeGivenBack = {
    type: "ChargeGivenBack",
    at,
    chargeId,
    amountMicros,
    chargedAt,
    via: spender.via,
    keyId: spender.keyId,
    personId: spender.personId,
    class: charging,
    item,
    resource,
    reason,
  }
  return [fact]
}

function evolveCharged(state: Ledger, event: Charged): Ledger {
  const spender = spenderOf(event)
  state.fundsMicros -= event.amountMicros
  for (const tally of touchedTallies(state.tallies, spender, event.class)) {
    addToTally(state.tallies, tally, event.amountMicros)
  }
  if (event.open) {
    const { at, amountMicros, class: charging, item, resource } = event
    state.open.set(event.chargeId, { at, amountMicros, spender, class: charging, item, resource })
  }
  return state
}

function evolveGivenBack(state: Ledger, event: ChargeGivenBack): Ledger {
  state.open.delete(event.chargeId)
  state.fundsMicros += event.amountMicros
  for (const tally of touchedTallies(state.tallies, spenderOf(event), event.class)) {
    takeFromTally(state.tallies, tally, event.amountMicros, event.chargedAt)
  }
  return state
}

/** The spender of a request or fact, as the union whose cases say what may be null. */
function spenderOf(request: Pick<ChargeRequest, "via" | "keyId" | "personId">): Spender {
  return { via: request.via, keyId: request.keyId, personId: request.personId } as Spender
}

/**
 * The limit that refuses any general call by this spender up front because it is used up, first of
 * key, person, company; null where there is room. Changes nothing.
 */
export function usedUpLimit(state: Ledger, spender: Spender, at: number): LimitReading | null {
  return readApplying(state, at, spender, "general", 0).find(isUsedUp) ?? null
}

/** Funds and standing of an account, as a decision would find them. */
export interface Account {
  readonly opened: boolean
  readonly locked: boolean
  readonly prepaidOnly: boolean
  readonly fundsMicros: Micros
  readonly creditLineMicros: Micros
}

/** The account as it stands. */
export function accountOf(state: Ledger): Account {
  const { opened, locked, prepaidOnly, fundsMicros, creditLineMicros } = state
  return { opened, locked, prepaidOnly, fundsMicros, creditLineMicros }
}

/** Every limit that is set, with what is used of it in the windows around `at`. */
export function readLimits(state: Ledger, at: number): readonly LimitReading[] {
  return [...state.limits].map(([tally, limit]) => read(state, tally, limit, at, 0))
}

/** The ids of all charges whose work is not known to have ended. */
export function openCharges(state: Ledger): readonly ChargeId[] {
  return [...state.open.keys()]
}

function readApplying(
  state: Ledger,
  at: number,
  spender: Spender,
  charging: SpendingClass,
  askedMicros: Micros,
): readonly LimitReading[] {
  return knownTallies(state.tallies, spender, charging).flatMap((tally) => {
    const limit = state.limits.get(tally)
    return limit === undefined ? [] : [read(state, tally, limit, at, askedMicros)]
  })
}

function read(
  state: Ledger,
  tally: TallyIndex,
  limit: Limit,
  at: number,
  askedMicros: Micros,
): LimitReading {
  const windows = windowsOf(state, at)
  const usedMicros = usedAt(state.tallies, tally, limit.period, windows)
  const { holder, holderId, class: limited, period, amountMicros } = limit
  return {
    holder,
    holderId,
    class: limited,
    period,
    amountMicros,
    usedMicros,
    remainingMicros: Math.max(0, amountMicros - usedMicros),
    askedMicros,
    windowStart: windows[period],
    resetsAt: windowEnd(windows, period),
  }
}

/** The windows around `at`: those kept, unless a day has ended since the last fact. */
function windowsOf(state: Ledger, at: number): Windows {
  const { windows } = state.tallies
  return at < windows.dayEnd ? windows : windowsAt(at)
}

function findLimit(state: Ledger, name: LimitName): Limit | null {
  for (const limit of state.limits.values()) if (isNamed(limit, name)) return limit
  return null
}

function dropLimit(state: Ledger, name: LimitName): void {
  for (const [tally, limit] of state.limits) if (isNamed(limit, name)) state.limits.delete(tally)
}

function isNamed(limit: Limit, name: LimitName): boolean {
  return (
    limit.holder === name.holder && limit.holderId === name.holderId && limit.class === name.class
  )
}

function sameLimit(a: Limit, b: Limit): boolean {
  return (
    a.period === b.period &&
    a.amountMicros === b.amountMicros &&
    a.leaveKeysOut === b.leaveKeysOut &&
    a.remindersMicros.length === b.remindersMicros.length &&
    a.remindersMicros.every((amount, i) => amount === b.remindersMicros[i])
  )
}

interface SavedLedger extends Omit<LedgerState, "references" | "open" | "limits" | "tallies"> {
  readonly references: readonly string[]
  readonly open: readonly (readonly [ChargeId, OpenCharge])[]
  readonly limits: readonly Limit[]
  readonly tallies: SavedTallies
}

/** How a ledger's state is kept beside its stream. */
export const ledgerCheckpoint: CheckpointForm<Ledger> = {
  shape: 1,
  save: (state): SavedLedger => ({
    ...state,
    references: [...state.references],
    open: [...state.open],
    limits: [...state.limits.values()],
    tallies: saveTallies(state.tallies),
  }),
  load: (saved) => {
    const { references, open, limits, tallies, ...rest } = saved as SavedLedger
    const state: Ledger = {
      ...rest,
      references: new Set(references),
      open: new Map(open),
      limits: new Map(),
      tallies: loadTallies(tallies),
    }
    for (const limit of limits) state.limits.set(tallyOfLimit(state.tallies, limit), limit)
    return state
  },
}
