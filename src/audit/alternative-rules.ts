/** Loads other ledger rules and judges stored decisions by them. */
import { execFile } from "node:child_process"
import { statSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { promisify } from "node:util"
import type { ChargeRefused, Charged, LedgerEvent } from "../../domain/charging/ledger-events.ts"
import { chargeCommandOf } from "../../domain/charging/replay.ts"
import type { Decider, Fact } from "../../domain/kernel/decider.ts"
import { isRefusal } from "../../domain/kernel/decider.ts"

/** Where a folder may have its ledger, in search order. */
const RULE_FILES = ["ledger.ts", "domain/charging/ledger.ts", "ledger.js", "ledger.mjs", "index.ts"]
/** The file next to the ledger that takes a refusal's buffered calls into account. */
const REPLAY_FILE = "replay.ts"

const execFileAsync = promisify(execFile)

/** A decider from outside the program; its answers are checked. */
type AnyDecider = Decider<object, unknown, Fact, Fact & { readonly code?: string }>
type WithPending = <T>(state: unknown, refused: ChargeRefused, work: () => T) => T

export interface LedgerRules {
  /** The file they were loaded from. */
  readonly path: string
  readonly decider: AnyDecider
  /** Runs work on a state that includes the pending calls of a refusal; null if the rules cannot do it. */
  readonly withPending: WithPending | null
}

/** The rules cannot be loaded or used. The message says why. */
class RulesFault extends Error {
  override readonly name = "RulesFault"
}

/** A charge that other rules decide differently. */
export interface AlternativeDecision {
  readonly company: string
  readonly chargeId: string
  readonly at: string
  /** Revision of the fact; of a refusal, the last ledger revision it was decided on. */
  readonly revision: number
  readonly item: string
  readonly amountMicros: number
  readonly keyId: string | null
  readonly personId: string | null
  /** `accepted`, or the code of the refusal. */
  readonly stored: string
  readonly decided: string
}

/** One ledger, judged by other rules. */
export class AlternativeRules {
  readonly #rules: LedgerRules
  readonly #company: string
  #state: unknown

  constructor(rules: LedgerRules, company: string) {
    this.#rules = rules
    this.#company = company
    this.#state = rules.decider.initial()
  }

  /** Folds a stored fact. @throws RulesFault if the rules cannot */
  apply(fact: LedgerEvent, revision: number): void {
    const fault = `These rules cannot take ${fact.type} of revision ${revision}`
    this.#state = withRulesFault(fault, () => this.#rules.decider.evolve(this.#state, fact))
  }

  /** Judges an accepted charge; null if the rules decide the same. */
  judgeFact(fact: LedgerEvent, revision: number): AlternativeDecision | null {
    if (fact.type !== "Charged" || fact.isAlreadyCounted) return null
    return this.#judge(fact, revision, "accepted")
  }

  /** Judges a refused charge; null if the rules decide the same. */
  judgeRefusal(refused: ChargeRefused): AlternativeDecision | "cannot be judged" | null {
    const judge = () => this.#judge(refused, refused.ledgerRevision, refused.code)
    const { withPending } = this.#rules
    const isPending =
      refused.unrecordedMicros > 0 ||
      refused.limits.some(({ unrecordedMicros }) => unrecordedMicros > 0)
    if (!isPending) return judge()
    return withPending === null ? "cannot be judged" : withPending(this.#state, refused, judge)
  }

  /** @throws RulesFault if the rules fail */
  #judge(
    charge: Charged | ChargeRefused,
    revision: number,
    stored: string,
  ): AlternativeDecision | null {
    const { at, chargeId, item, amountMicros, keyId, personId } = charge
    const { decider, path } = this.#rules
    const company = this.#company
    const fault = `The rules of ${path} cannot decide charge ${chargeId} of ${company} at revision ${revision}`
    // Rules of earlier commits read the time from the command.
    const command = { ...chargeCommandOf(charge), at }
    const outcome = withRulesFault(fault, () => decider.decide(command, this.#state, { at }))
    const decided = isRefusal(outcome)
      ? (outcome.code ?? outcome.type)
      : outcome.some(({ type }) => type === "Charged")
        ? "accepted"
        : "nothing"
    if (decided === stored) return null
    const source = { company, chargeId, at: new Date(at).toISOString(), revision }
    return { ...source, item, amountMicros, keyId, personId, stored, decided }
  }
}

/** Loaded rules, and a function that deletes their temporary folder. */
export interface LoadedLedgerRules {
  readonly rules: LedgerRules
  readonly close: () => Promise<void>
}

/**
 * Loads rules from a folder that exports a ledger decider, or from a commit of the checkout around
 * the working folder, by any name git accepts.
 *
 * @throws RulesFault if there are none
 */
export async function loadLedgerRules(named: string): Promise<LoadedLedgerRules> {
  const folder = resolve(named)
  if (fileExists(folder)) return { rules: await readRules(folder), close: async () => undefined }
  const temporary = await mkdtemp(join(tmpdir(), "ledger-rules-"))
  const close = () => rm(temporary, { recursive: true, force: true })
  try {
    await checkOut(named, temporary)
    return { rules: await readRules(temporary), close }
  } catch (error) {
    await close()
    throw error
  }
}

/**
 * Checks out a commit into a folder. The clone shares the objects, so the checkout here is
 * unchanged.
 */
async function checkOut(named: string, into: string): Promise<void> {
  try {
    const commit = `${named}^{commit}`
    const found = await execFileAsync("git", ["rev-parse", "--verify", "--end-of-options", commit])
    const top = await execFileAsync("git", ["rev-parse", "--show-toplevel"])
    const sha = found.stdout.trim()
    await execFileAsync("git", [
      "clone",
      "-q",
      "--shared",
      "--no-checkout",
      top.stdout.trim(),
      into,
    ])
    await execFileAsync("git", ["-C", into, "checkout", "-q", "--detach", sha])
  } catch (error) {
    const stderr = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : ""
    const detail = stderr === "" ? "" : ` git: ${stderr}`
    const message = `There is no folder ${named}, and git finds no commit of that name here.${detail}`
    throw new RulesFault(message, { cause: error })
  }
}

async function readRules(folder: string): Promise<LedgerRules> {
  for (const file of RULE_FILES) {
    const path = join(folder, file)
    if (!fileExists(path)) continue
    const found = await loadRulesModule(path)
    const decider = deciderFrom(found["ledgerDecider"]) ?? deciderFrom(found["default"])
    if (decider === null) {
      throw new RulesFault(`${path} does not export a decider named ledgerDecider.`)
    }
    const replayFile = join(path, "..", REPLAY_FILE)
    const withPending = fileExists(replayFile)
      ? (await loadRulesModule(replayFile))["withBufferedCalls"]
      : null
    return {
      path,
      decider,
      withPending: typeof withPending === "function" ? (withPending as WithPending) : null,
    }
  }
  throw new RulesFault(`${folder} has none of the files ${RULE_FILES.join(", ")}.`)
}

async function loadRulesModule(path: string): Promise<Record<string, unknown>> {
  return import(pathToFileURL(path).href).catch((error: unknown) => {
    throw rulesFault(`${path} cannot be loaded`, error)
  })
}

/**
 * Runs code from outside the program.
 *
 * @throws RulesFault if it throws
 */
function withRulesFault<T>(fault: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw rulesFault(fault, error)
  }
}

function rulesFault(fault: string, error: unknown): RulesFault {
  const why = error instanceof Error ? error.message : String(error)
  return new RulesFault(`${fault}: ${why}`, { cause: error })
}

function deciderFrom(value: unknown): AnyDecider | null {
  if (typeof value !== "object" || value === null) return null
  const parts = value as Record<string, unknown>
  const isDecider = ["initial", "decide", "evolve"].every(
    (name) => typeof parts[name] === "function",
  )
  return isDecider ? (value as AnyDecider) : null
}

const fileExists = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false }) !== undefined
