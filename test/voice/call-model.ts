/**
 * A model of a carrier, a ledger and callers, played against a call's decider on a virtual clock. Notifications
 * arrive late, twice, out of order or not at all, and a watchdog checks the status.
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

export type CallDecider = typeof callDecider

/** Behavior of a person whose phone rings. */
export interface Callee {
  /** Milliseconds of ringing before they answer; null for never. */
  readonly answersAfterMs: number | null
  readonly presses: "1" | "2" | "nothing"
  readonly pressesAfterMs: number
  readonly hangsUpAfterMs: number
}

export interface CallPlan {
  readonly callees: readonly Callee[]
  readonly ringMode: "all" | "order"
  readonly ringSeconds: number
  readonly screenCalls: boolean
  readonly recordCalls: boolean
  readonly voicemail: boolean
  /** When the caller hangs up if their leg is not answered. */
  readonly patienceMs: number
  /** How long the caller stays once their leg is answered. */
  readonly hangsUpAfterMs: number
  /** The minute that the ledger refuses; null for none. */
  readonly refusedMinute: number | null
  /** Maximum response time of the ledger. */
  readonly ledgerDelayMs: number
  /** Percentage of notifications that are lost. */
  readonly lostPercent: number
  readonly seed: number
}

/** The true state of a leg, whether or not it has been reported. */
export interface ModelLeg {
  state: "ringing" | "open" | "gone"
  answeredAt: number | null
  goneAt: number | null
}

/** Result of a plan. */
export interface PlayedCall {
  readonly facts: readonly CallEvent[]
  readonly legs: ReadonlyMap<number, ModelLeg>
  readonly charges: ReadonlyMap<number, "pending" | "kept" | "refunded">
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
  readonly #charges = new Map<number, "pending" | "kept" | "refunded">()
  readonly #requested = new Set<number>()
  readonly #recorded = new Map<number, "call" | "voicemail">()
  /** Instructions are executed in order. */
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
    this.#at(this.#now + this.#chance(MAX_DELAY_MS), () => this.#execute(offer))
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

  /** A random number from 0 to below `max`. */
  #chance(max: number): number {
    // Mulberry32: fast, and reproducible by its seed.
    this.#random = (this.#random + 0x6d2b79f5) | 0
    let t = Math.imul(this.#random ^ (this.#random >>> 15), 1 | this.#random)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 4_294_967_296) * max)
  }

  /** The carrier sends a notification: late, perhaps twice, perhaps never. */
  #notify(command: CallCommand): void {
    const times = this.#chance(3) === 0 ? 2 : 1
    for (let i = 0; i < times; i += 1) {
      if (this.#chance(100) < this.#plan.lostPercent) continue
      this.#at(this.#now + this.#chance(MAX_DELAY_MS), () => this.#execute(command))
    }
  }

  #execute(command: CallCommand): void {
    const answer = this.#decider.decide(command, this.#state, { at: this.#now })
    if (isRefusal(answer)) return
    for (const fact of answer) {
      this.#state = this.#decider.evolve(this.#state, fact)
      this.#facts.push(fact)
      this.#outcomes.push(this.#state.call?.outcome ?? null)
      for (const instruction of callInstructionsOf(fact)) {
        this.#busyUntil = Math.max(this.#busyUntil, this.#now) + this.#chance(200)
        this.#at(this.#busyUntil, () => this.#perform(instruction))
      }
      const deadline = callDeadlineOf(fact)
      if (deadline === null) continue
      const passed: CallCommand = { type: "ExpireDeadline", callId: CALL_ID, ...deadline }
      this.#at(deadline.deadlineAt + this.#chance(500), () => this.#execute(passed))
    }
    if (answer.length > 0) this.#pay()
  }

  #perform(instruction: CallInstruction): void {
    const { word, leg } = instruction
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
          if (known.state === "open") this.#notify({ type: "FinishPlayback", callId: CALL_ID, leg })
        })
      case "record":
        this.#recorded.set(leg, instruction.kind)
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
    this.#notify({ type: "AnswerLeg", callId: CALL_ID, leg, answeredAt: this.#now, ref: `r${leg}` })
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
      if (presses === "nothing") this.#notify({ type: "EndDigitPrompt", callId: CALL_ID, leg })
      else this.#notify({ type: "PressDigits", callId: CALL_ID, leg, digits: presses })
    })
  }

  #end(leg: number): void {
    const known = this.#legs.get(leg) as ModelLeg
    Object.assign(known, { state: "gone", goneAt: this.#now })
    const { answeredAt } = known
    this.#notify({ type: "EndLeg", callId: CALL_ID, leg, goneAt: this.#now, answeredAt })
    const kind = this.#recorded.get(leg)
    if (kind === undefined) return
    const seconds = this.#chance(30)
    this.#notify({ type: "RecordAudioAvailable", callId: CALL_ID, kind, seconds, carrierRef: kind })
  }

  /** Checks the status of every leg until the call has ended and the time of the caller's hang-up is known. */
  #watch(): void {
    const { call } = this.#state
    if (call !== null && call.phase === "ended" && call.goneAt !== null) return
    for (const [leg, { state, answeredAt, goneAt }] of this.#legs) {
      const status = { isAlive: state !== "gone", answeredAt, endedAt: goneAt }
      for (const one of missedCommandsOf(CALL_ID, leg, status, this.#now)) this.#execute(one)
    }
    this.#at(this.#now + WATCH_MS, () => this.#watch())
  }

  /** Requests payments after each fact, as the program does. */
  #pay(): void {
    const { call } = this.#state
    if (call === null) return
    const { owed, next, confirmed, isFinal } = callMinutesOf(call)
    if (owed !== null && !this.#requested.has(owed)) {
      this.#requested.add(owed)
      this.#at(this.#now + this.#chance(this.#plan.ledgerDelayMs), () => this.#charge(owed))
    }
    if (next !== null) this.#at(Math.max(next.dueAt, this.#now), () => this.#begin(next.minute))
    for (let minute = 1; minute <= call.paid; minute += 1) {
      if (minute <= confirmed) this.#charges.set(minute, "kept")
      else if (isFinal) this.#charges.set(minute, "refunded")
    }
  }

  #charge(minute: number): void {
    const isRefused = this.#plan.refusedMinute === minute
    if (!isRefused) this.#charges.set(minute, "pending")
    this.#execute({ type: isRefused ? "RefuseMinute" : "PayMinute", callId: CALL_ID, minute })
  }

  #begin(minute: number): void {
    const { state, answeredAt, goneAt } = this.#legs.get(0) as ModelLeg
    const status = { isAlive: state !== "gone", answeredAt, endedAt: goneAt }
    for (const one of missedCommandsOf(CALL_ID, 0, status, this.#now)) this.#execute(one)
    this.#execute({
      type: "StartMinute",
      callId: CALL_ID,
      minute,
      isCallerPresent: state === "open",
    })
  }
}
