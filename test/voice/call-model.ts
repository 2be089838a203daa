/**
 * A carrier, a ledger and callers as a model of theirs, played against a call's decider on a virtual clock:
 * what the carrier says comes late, twice, in another order or not at all, and a watchdog asks.
 */
import type { CallCommand } from "../../domain/voice/call-commands.ts"
import { callDeadlineOf, missedCommandsOf } from "../../domain/voice/call-commands.ts"
import type { CallEvent } from "../../domain/voice/call-events.ts"
import { callMinutesOf } from "../../domain/voice/call-minutes.ts"
import type { CallState } from "../../domain/voice/call-state.ts"
import type { callDecider } from "../../domain/voice/call.ts"
import type { CallInstruction } from "../../domain/voice/call-instructions.ts"
import { callInstructionsOf } from "../../domain/voice/call-instructions.ts"
import { isRefusal } from "../../domain/kernel/decider.ts"
import { CALL_ID, NOW, offerCallCommand, ringingSettings } from "./call-commands.ts"

/** Who decides. */
export type CallDecider = typeof callDecider

/** What somebody who is called does. */
export interface Callee {
  /** When they answer, milliseconds after it rings; null where never. */
  readonly answersAfterMs: number | null
  readonly presses: "1" | "2" | "nothing"
  readonly pressesAfterMs: number
  readonly hangsUpAfterMs: number
}

/** A call as it is to go. */
export interface CallPlan {
  readonly callees: readonly Callee[]
  readonly ringMode: "all" | "order"
  readonly ringSeconds: number
  readonly screenCalls: boolean
  readonly recordCalls: boolean
  readonly voicemail: boolean
  /** When the caller gives up, if nobody opened their leg. */
  readonly patienceMs: number
  /** How long the caller stays once their leg is open. */
  readonly hangsUpAfterMs: number
  /** The minute that the ledger refuses; null for none. */
  readonly refusedMinute: number | null
  /** How long the ledger takes to answer at most. */
  readonly ledgerDelayMs: number
  /** How many of a hundred events are lost. */
  readonly lostPercent: number
  readonly seed: number
}

/** A leg as it is, whoever knows. */
export interface ModelLeg {
  state: "ringing" | "open" | "gone"
  answeredAt: number | null
  goneAt: number | null
}

/** What came of a plan. */
export interface PlayedCall {
  readonly facts: readonly CallEvent[]
  readonly legs: ReadonlyMap<number, ModelLeg>
  readonly charges: ReadonlyMap<number, "open" | "kept" | "back">
  readonly state: CallState
  /** The outcome after each fact. */
  readonly outcomes: readonly (string | null)[]
}

const PROMPT_MS = 3_000
const MAX_DELAY_MS = 3_000
const WATCH_MS = 30_000
const LAST_MS = 6 * 3_600_000

/** Plays a plan to its end. */
export function playCallPlan(decider: CallDecider, plan: CallPlan): PlayedCall {
  return new CallModel(decider, plan).run()
}

class CallModel {
  readonly #decider: CallDecider
  readonly #plan: CallPlan
  #now = NOW
  #random: number
  #state: CallState
  readonly #queue: { readonly at: number; readonly act: () => void }[] = []
  readonly #facts: CallEvent[] = []
  readonly #outcomes: (string | null)[] = []
  readonly #legs = new Map<number, ModelLeg>()
  readonly #charges = new Map<number, "open" | "kept" | "back">()
  readonly #asked = new Set<number>()
  readonly #recorded = new Map<number, "call" | "voicemail">()
  /** Directions are carried out in their order. */
  #busyUntil = NOW

  constructor(decider: CallDecider, plan: CallPlan) {
    this.#decider = decider
    this.#plan = plan
    this.#random = plan.seed
    this.#state = decider.initial()
  }

  run(): PlayedCall {
    const { callees, patienceMs, ringMode, ringSeconds, screenCalls } = this.#plan
    const { recordCalls, voicemail } = this.#plan
    const others = { ringMode, ringSeconds, screenCalls, recordCalls, voicemail }
    const offer = offerCallCommand(ringingSettings(callees.length, others))
    this.#legs.set(0, { state: "ringing", answeredAt: null, goneAt: null })
    this.#at(this.#now + this.#chance(MAX_DELAY_MS), () => this.#tell(offer))
    this.#at(NOW + patienceMs, () => {
      if (this.#legs.get(0)?.state === "ringing") this.#end(0)
    })
    this.#at(NOW + WATCH_MS, () => this.#watch())
    while (this.#queue.length > 0 && this.#now < NOW + LAST_MS) this.#step()
    const { charges, state } = { charges: this.#charges, state: this.#state }
    return { facts: this.#facts, legs: this.#legs, charges, state, outcomes: this.#outcomes }
  }

  #step(): void {
    let first = 0
    for (let i = 1; i < this.#queue.length; i += 1) {
      if ((this.#queue[i]?.at ?? 0) < (this.#queue[first]?.at ?? 0)) first = i
    }
    const [next] = this.#queue.splice(first, 1)
    if (next === undefined) return
    this.#now = Math.max(this.#now, next.at)
    next.act()
  }

  #at(at: number, act: () => void): void {
    this.#queue.push({ at, act })
  }

  /** A number from 0 to below most. */
  #chance(most: number): number {
    // Mulberry32: quick, and the same for the same seed.
    this.#random = (this.#random + 0x6d2b79f5) | 0
    let t = Math.imul(this.#random ^ (this.#random >>> 15), 1 | this.#random)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 4_294_967_296) * most)
  }

  /** The carrier says something: late, perhaps twice, perhaps never. */
  #say(command: CallCommand): void {
    const times = this.#chance(3) === 0 ? 2 : 1
    for (let i = 0; i < times; i += 1) {
      if (this.#chance(100) < this.#plan.lostPercent) continue
      this.#at(this.#now + this.#chance(MAX_DELAY_MS), () => this.#tell(command))
    }
  }

  #tell(command: CallCommand): void {
    const answer = this.#decider.decide(command, this.#state, { at: this.#now })
    if (isRefusal(answer)) return
    for (const fact of answer) {
      this.#state = this.#decider.evolve(this.#state, fact)
      this.#facts.push(fact)
      this.#outcomes.push(this.#state.call?.outcome ?? null)
      for (const direction of callInstructionsOf(fact)) {
        this.#busyUntil = Math.max(this.#busyUntil, this.#now) + this.#chance(200)
        this.#at(this.#busyUntil, () => this.#carryOut(direction))
      }
      const deadline = callDeadlineOf(fact)
      if (deadline === null) continue
      const passed: CallCommand = { type: "ExpireDeadline", callId: CALL_ID, ...deadline }
      this.#at(deadline.deadlineAt + this.#chance(500), () => this.#tell(passed))
    }
    if (answer.length > 0) this.#pay()
  }

  #carryOut(direction: CallInstruction): void {
    const { word, leg } = direction
    if (word === "dial") return this.#dial(leg)
    const known = this.#legs.get(leg)
    if (known === undefined || known.state === "gone") return
    switch (word) {
      case "answer":
        if (known.state === "ringing") this.#open(leg)
        return
      case "ask":
        return this.#ask(leg)
      case "say":
        return this.#at(this.#now + PROMPT_MS, () => {
          if (known.state === "open") this.#say({ type: "FinishPlayback", callId: CALL_ID, leg })
        })
      case "record":
        this.#recorded.set(leg, direction.kind)
        return
      case "join":
        return
      case "hang_up":
      case "reject":
        return this.#end(leg)
    }
  }

  #dial(leg: number): void {
    this.#legs.set(leg, { state: "ringing", answeredAt: null, goneAt: null })
    const { answersAfterMs } = this.#plan.callees[leg - 1] as Callee
    if (answersAfterMs === null) return
    this.#at(this.#now + answersAfterMs, () => {
      if (this.#legs.get(leg)?.state === "ringing") this.#open(leg)
    })
  }

  #open(leg: number): void {
    const known = this.#legs.get(leg) as ModelLeg
    known.state = "open"
    known.answeredAt = this.#now
    this.#say({ type: "AnswerLeg", callId: CALL_ID, leg, answeredAt: this.#now, ref: `r${leg}` })
    const staysMs =
      leg === 0 ? this.#plan.hangsUpAfterMs : this.#plan.callees[leg - 1]?.hangsUpAfterMs
    this.#at(this.#now + (staysMs ?? 0), () => {
      if (known.state !== "gone") this.#end(leg)
    })
  }

  #ask(leg: number): void {
    const { presses, pressesAfterMs } = this.#plan.callees[leg - 1] as Callee
    this.#at(this.#now + pressesAfterMs, () => {
      if (this.#legs.get(leg)?.state !== "open") return
      if (presses === "nothing") this.#say({ type: "EndDigitPrompt", callId: CALL_ID, leg })
      else this.#say({ type: "PressDigits", callId: CALL_ID, leg, digits: presses })
    })
  }

  #end(leg: number): void {
    const known = this.#legs.get(leg) as ModelLeg
    Object.assign(known, { state: "gone", goneAt: this.#now })
    const { answeredAt } = known
    this.#say({ type: "EndLeg", callId: CALL_ID, leg, goneAt: this.#now, answeredAt })
    const kind = this.#recorded.get(leg)
    if (kind === undefined) return
    const seconds = this.#chance(30)
    this.#say({ type: "RecordAudioAvailable", callId: CALL_ID, kind, seconds, carrierRef: kind })
  }

  /** Asks the carrier about every leg, until the call has ended and it is known when the caller went. */
  #watch(): void {
    const { call } = this.#state
    if (call !== null && call.phase === "ended" && call.goneAt !== null) return
    for (const [leg, { state, answeredAt, goneAt }] of this.#legs) {
      const knowledge = { isAlive: state !== "gone", answeredAt, endedAt: goneAt }
      for (const one of missedCommandsOf(CALL_ID, leg, knowledge, this.#now)) this.#tell(one)
    }
    this.#at(this.#now + WATCH_MS, () => this.#watch())
  }

  /** What the program does with the ledger after each fact. */
  #pay(): void {
    const { call } = this.#state
    if (call === null) return
    const { owed, next, confirmed, isFinal } = callMinutesOf(call)
    if (owed !== null && !this.#asked.has(owed)) {
      this.#asked.add(owed)
      this.#at(this.#now + this.#chance(this.#plan.ledgerDelayMs), () => this.#charge(owed))
    }
    if (next !== null) this.#at(Math.max(next.dueAt, this.#now), () => this.#begin(next.minute))
    for (let minute = 1; minute <= call.paid; minute += 1) {
      if (minute <= confirmed) this.#charges.set(minute, "kept")
      else if (isFinal) this.#charges.set(minute, "back")
    }
  }

  #charge(minute: number): void {
    const isRefused = this.#plan.refusedMinute === minute
    if (!isRefused) this.#charges.set(minute, "open")
    this.#tell({ type: isRefused ? "RefuseMinute" : "PayMinute", callId: CALL_ID, minute })
  }

  #begin(minute: number): void {
    const { state, answeredAt, goneAt } = this.#legs.get(0) as ModelLeg
    const knowledge = { isAlive: state !== "gone", answeredAt, endedAt: goneAt }
    for (const one of missedCommandsOf(CALL_ID, 0, knowledge, this.#now)) this.#tell(one)
    this.#tell({ type: "StartMinute", callId: CALL_ID, minute, isCallerPresent: state === "open" })
  }
}
