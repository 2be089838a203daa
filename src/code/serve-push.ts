/** Receives pushes: checks the caller's key again and the rules of a push. */
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
    readonly pushes: "said"
  }
}

/** Permissions that a push needs. */
export const PUSH_RULES = { operation: "code.push", additionalOperations: ["code.pull"] } as const

/** The fields of a route that say who may push. */
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
 * Receives a caller's push by any way, and has it checked.
 *
 * @param take calls `judge` when the push has arrived
 * @throws the errors of `take`
 */
export async function withPushCheck<T>(
  ports: Pick<Ports, "counters" | "log" | "repositories" | "runner" | "sealing" | "secretScan">,
  caller: Caller,
  rules: PushRules,
  take: (judge: (push: IncomingPush) => Promise<PushVerdict>) => Promise<T>,
): Promise<T> {
  const pusher = { companyId: caller.companyId, cause: causeOf(caller) }
  // Before git reads its base objects. If it cannot be read, the person gets the error at the end.
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
    // Also if git failed after the acceptance: the refs show the result.
    if (accepted !== null) await completePush(ports, pusher, accepted)
  }
}

type PushResult = "yes" | "no" | "fault" | "left"

/** Decides about a push without throwing, so that the person at the terminal gets a message. */
async function decisionOn(
  ports: Pick<Ports, "log" | "runner">,
  caller: Caller,
  rules: PushRules,
  callerGone: AbortSignal,
  judge: () => Promise<PushDecision>,
): Promise<{ readonly verdict: PushDecision; readonly said: PushResult }> {
  try {
    const revoked = await revokedAccess(ports, caller, rules)
    const verdict =
      revoked === null ? await judge() : { ok: false as const, lines: [refusalLine(revoked)] }
    return { verdict, said: verdict.ok ? "yes" : "no" }
  } catch (error) {
    // The client left: no error occurred, and nothing can be answered.
    if (callerGone.aborted) return { verdict: { ok: false, lines: [] }, said: "left" }
    ports.log.warn(`the push of request ${caller.requestId} could not be checked`, error)
    const message = "The push could not be checked. Nothing was changed. Push again in a minute."
    const verdict = { ok: false as const, lines: [refusalLine({ error: "unavailable", message })] }
    return { verdict, said: "fault" }
  }
}

const findPersonOf = (state: AccessState, key: ApiKey | null) =>
  key === null || key.personId === null ? null : findPerson(state, key.personId)

/** Checks the caller again: access may have changed while the push was sent. */
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
  const current = { ...caller, key: now.key, person: now.person }
  return (
    (await deletedCompanyRefusal(ports, current, true)) ??
    operationRefusal(current, rules) ??
    personRefusal(current, { ...rules, isPersonKeyOnly: true })
  )
}

/**
 * Removes an object of any kind and records the end, also after an error, so that pushes are accepted again.
 *
 * @throws RepositoryNotFound, GitUnavailable, GitFailed, and the errors of `Runner.execute`
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
    await end(found.outcome !== "reachable")
    return found
  } catch (error) {
    await end(false)
    throw error
  }
}
