/** Takes a push, once its key still may and it holds to what pushes must. */
import type { GitSession, IncomingPush, PushVerdict, ScrubResult } from "../../adapters/git/port.ts"
import type { AccessState, ApiKey } from "../../domain/access/access.ts"
import { findKey, findPerson, isKeyUsable } from "../../domain/access/access.ts"
import { accessStreamOf } from "../../domain/access/aggregates.ts"
import type { PushId } from "../../domain/code/code-events.ts"
import { deletedCompanyRefusal } from "../frame/routes/checks/2-account.ts"
import { causeOf } from "../frame/routes/api-call.ts"
import { invalidKeyRefusal } from "../frame/routes/checks/1-caller.ts"
import { operationRefusal, personRefusal } from "../frame/routes/checks/4-5-rate-and-permissions.ts"
import type { Refusal } from "../frame/routes/answers/refusal.ts"
import type { Caller, Route } from "../frame/routes/declare/route.ts"
import type { Ports } from "../frame/ports.ts"
import { refusalLine } from "./git-client.ts"
import type { PushDecision } from "./push-checks.ts"
import { scrubCount, checkPush, completePush } from "./push-checks.ts"
import { codeStreamOf } from "../../domain/code/aggregates.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Cause } from "../frame/kernel/envelope.ts"

declare module "../frame/counters.ts" {
  interface CounterLabels {
    /** Pushes, by what was said to them. */
    readonly pushes: "said"
  }
}

/** What who pushes must be granted. */
export const PUSH_RULES = { operation: "code.push", additionalOperations: ["code.pull"] } as const

/** What of a route says who may push by it. */
export type PushRules = Pick<Route, "operation" | "additionalOperations" | "permissions">

/** Serves a push to its end. */
export async function servePush(
  ports: Pick<Ports, "counters" | "log" | "repositories" | "runner" | "sealing" | "secretScan">,
  caller: Caller,
  conversation: GitSession,
): Promise<void> {
  await withPushCheck(ports, caller, PUSH_RULES, (judge) =>
    ports.repositories.receivePush(conversation, judge),
  )
}

/**
 * Takes what a caller pushes, whatever way it comes.
 *
 * @param take has what comes judged, once it is there
 * @throws what `take` throws
 */
export async function withPushCheck<T>(
  ports: Pick<Ports, "counters" | "log" | "repositories" | "runner" | "sealing" | "secretScan">,
  caller: Caller,
  rules: PushRules,
  take: (judge: (push: IncomingPush) => Promise<PushVerdict>) => Promise<T>,
): Promise<T> {
  const pusher = { companyId: caller.companyId, cause: causeOf(caller) }
  // Before git looks for what it builds on; where it cannot be read, the person is told at the end.
  const [before] = await Promise.allSettled([scrubCount(ports, pusher)])
  let accepted: PushId | null = null
  try {
    return await take(async (push) => {
      const { verdict, said } = await decisionOn(ports, caller, rules, push.signal, async () => {
        if (before.status === "rejected") throw before.reason
        return checkPush(ports, pusher, push, before.value)
      })
      if ("pushId" in verdict) accepted = verdict.pushId
      ports.counters.increment("pushes", { said })
      return verdict
    })
  } finally {
    // Whatever became of git after the yes: the refs say so.
    if (accepted !== null) await completePush(ports, pusher, accepted)
  }
}

type PushResult = "yes" | "no" | "fault" | "left"

/** Nothing is thrown: whoever waits at a terminal is told. */
async function decisionOn(
  ports: Pick<Ports, "log" | "runner">,
  caller: Caller,
  rules: PushRules,
  left: AbortSignal,
  judge: () => Promise<PushDecision>,
): Promise<{ readonly verdict: PushDecision; readonly said: PushResult }> {
  try {
    const barred = await revokedAccess(ports, caller, rules)
    const verdict =
      barred === null ? await judge() : { ok: false as const, lines: [refusalLine(barred)] }
    return { verdict, said: verdict.ok ? "yes" : "no" }
  } catch (error) {
    // Nobody is there to be told, and nothing went wrong.
    if (left.aborted) return { verdict: { ok: false, lines: [] }, said: "left" }
    ports.log.warn(`the push of request ${caller.requestId} could not be judged`, error)
    const message = "The push could not be checked, and nothing was changed. Push again later."
    const verdict = { ok: false as const, lines: [refusalLine({ error: "unavailable", message })] }
    return { verdict, said: "fault" }
  }
}

const findPersonOf = (state: AccessState, key: ApiKey | null) =>
  key === null || key.personId === null ? null : findPerson(state, key.personId)

/** Why the caller may not push any more: much may have changed while so much was sent. */
async function revokedAccess(
  ports: Pick<Ports, "runner">,
  caller: Caller,
  rules: PushRules,
): Promise<Refusal | null> {
  const { companyId, key } = caller
  if (key === null) return null
  const now = await ports.runner.readLatest(accessStreamOf(companyId), (state: AccessState) => {
    const found = findKey(state, key.keyId)
    const person = findPersonOf(state, found)
    return { key: found, person }
  })
  if (now.key === null || !isKeyUsable(now.key)) return invalidKeyRefusal()
  const own = { ...caller, key: now.key, person: now.person }
  return (
    (await deletedCompanyRefusal(ports, own, true)) ??
    operationRefusal(own, rules) ??
    personRefusal(own, { ...rules, isPersonKeyOnly: true })
  )
}

/**
 * Takes an object (a blob or any other) out and says so; pushes are taken again from then on, also where git has failed.
 *
 * @throws RepositoryNotFound, GitUnavailable, GitFailed, and as `Runner.execute` does
 */
export async function scrubObject(
  { repositories, runner }: Pick<Ports, "repositories" | "runner">,
  companyId: CompanyId,
  blob: string,
  cause: Cause,
): Promise<ScrubResult> {
  const end = (isGone: boolean) =>
    runner.execute(codeStreamOf(companyId), { type: "FinishScrub", blob, isGone }, cause)
  try {
    const found = await repositories.scrub(companyId, blob)
    await end(found.outcome !== "reached")
    return found
  } catch (error) {
    await end(false)
    throw error
  }
}
