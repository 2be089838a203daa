/** Other rules of a ledger, and what they would have decided of the charges that really came. */
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

/** Where a folder may have its ledger, in the order of looking. */
const RULE_FILES = ["ledger.ts", "domain/charging/ledger.ts", "ledger.js", "ledger.mjs", "index.ts"]
/** Where the calls of a no are weighed, beside the ledger. */
const REPLAY_FILE = "replay.ts"

const execFileAsync = promisify(execFile)

/** A decider that others wrote: what it answers is looked at, never believed. */
type AnyDecider = Decider<object, unknown, Fact, Fact & { readonly code?: string }>
type WithPending = <T>(state: unknown, refused: ChargeRefused, work: () => T) => T

/** Other rules. */
export interface LedgerRules {
  /** Where they were found. */
  readonly path: string
  readonly decider: AnyDecider
  /** How their state is told of calls that a no was decided with; null where it cannot be. */
  readonly withPending: WithPending | null
}

/** There are no rules to decide by: the sentence says why. */
class RulesFault extends Error {
  override readonly name = "RulesFault"
}

/** A charge that other rules decide otherwise. */
export interface AlternativeDecision {
  readonly company: string
  readonly chargeId: string
  readonly at: string
  /** Of the fact, or of the ledger's last fact that a no knew. */
  readonly revision: number
  readonly item: string
  readonly amountMicros: number
  readonly keyId: string | null
  readonly personId: string | null
  /** `accepted`, or the code of the no. */
  readonly was: string
  readonly would: string
}

/** One ledger as other rules see it. */
export class AlternativeRules {
  readonly #rules: LedgerRules
  readonly #company: string
  #state: unknown

  constructor(rules: LedgerRules, company: string) {
    this.#rules = rules
    this.#company = company
    this.#state = rules.decider.initial()
  }

  /** Folds what happened. @throws RulesFault where the rules cannot */
  apply(fact: LedgerEvent, revision: number): void {
    const fault = `These rules cannot take ${fact.type} of revision ${revision}`
    this.#state = withRulesFault(fault, () => this.#rules.decider.evolve(this.#state, fact))
  }

  /** What they would have decided of an accepted charge; null where the same. */
  judgeFact(fact: LedgerEvent, revision: number): AlternativeDecision | null {
    if (fact.type !== "Charged" || fact.isAlreadyCounted) return null
    return this.#judge(fact, revision, "accepted")
  }

  /** What they would have decided of a refused one; null where the same. */
  judgeRefusal(refused: ChargeRefused): AlternativeDecision | "cannot be judged" | null {
    const judge = () => this.#judge(refused, refused.ledgerRevision, refused.code)
    const { withPending } = this.#rules
    const isPending =
      refused.unrecordedMicros > 0 ||
      refused.limits.some(({ unrecordedMicros }) => unrecordedMicros > 0)
    if (!isPending) return judge()
    return withPending === null ? "cannot be judged" : withPending(this.#state, refused, judge)
  }

  /** @throws RulesFault where the rules break at it */
  #judge(
    asked: Charged | ChargeRefused,
    revision: number,
    was: string,
  ): AlternativeDecision | null {
    const { at, chargeId, item, amountMicros, keyId, personId } = asked
    const { decider, path } = this.#rules
    const company = this.#company
    const fault = `The rules of ${path} cannot decide charge ${chargeId} of ${company} at revision ${revision}`
    // Rules of former commits look for the time in the command, where it stood then.
    const command = { ...chargeCommandOf(asked), at }
    const decided = withRulesFault(fault, () => decider.decide(command, this.#state, { at }))
    const would = isRefusal(decided)
      ? (decided.code ?? decided.type)
      : decided.some(({ type }) => type === "Charged")
        ? "accepted"
        : "nothing"
    if (would === was) return null
    const of = { company, chargeId, at: new Date(at).toISOString(), revision }
    return { ...of, item, amountMicros, keyId, personId, was, would }
  }
}

/** Rules, and how the place they were put in is cleared. */
export interface LoadedLedgerRules {
  readonly rules: LedgerRules
  readonly close: () => Promise<void>
}

/**
 * Loads rules from a folder that exports a ledger decider, or from a commit of the checkout around
 * the working folder, by any name that git knows it by.
 *
 * @throws RulesFault where there are none
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

/** Puts the files of a commit into a folder, by a clone that shares the objects: nothing here changes. */
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
    const said = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : ""
    const why = said === "" ? "" : ` git says: ${said}`
    const message = `There is no folder ${named}, and git gives no commit of that name here.${why}`
    throw new RulesFault(message, { cause: error })
  }
}

async function readRules(folder: string): Promise<LedgerRules> {
  for (const place of RULE_FILES) {
    const path = join(folder, place)
    if (!fileExists(path)) continue
    const found = await loadRulesModule(path)
    const decider = deciderFrom(found["ledgerDecider"]) ?? deciderFrom(found["default"])
    if (decider === null) throw new RulesFault(`${path} exports no decider named ledgerDecider.`)
    const beside = join(path, "..", REPLAY_FILE)
    const withPending = fileExists(beside) ? (await loadRulesModule(beside))["withBufferedCalls"] : null
    return {
      path,
      decider,
      withPending: typeof withPending === "function" ? (withPending as WithPending) : null,
    }
  }
  throw new RulesFault(`${folder} has no ${RULE_FILES.join(", no ")}.`)
}

async function loadRulesModule(path: string): Promise<Record<string, unknown>> {
  return import(pathToFileURL(path).href).catch((error: unknown) => {
    throw rulesFault(`${path} cannot be loaded`, error)
  })
}

/** The result of code that others wrote. @throws RulesFault where it throws */
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
