/** Takes a push, once its key still may and it holds to what pushes must. */
import type { Conversation, Push, Verdict, Scrubbed } from "../../adapters/git/port.ts"
import type { Access, Key } from "../../domain/access/access.ts"
import { findKey, findPerson, keyWorks } from "../../domain/access/access.ts"
import { accessOf } from "../../domain/access/aggregates.ts"
import type { PushId } from "../../domain/code/code-events.ts"
import { checkCompany } from "../frame/routes/checks/2-account.ts"
import { causeOf } from "../frame/routes/call.ts"
import { badKey } from "../frame/routes/checks/1-caller.ts"
import { operationRefusal, personRefusal } from "../frame/routes/checks/4-5-rate-and-permissions.ts"
import type { Refusal } from "../frame/routes/answers/refusal.ts"
import type { Caller, Route } from "../frame/routes/declare/route.ts"
import type { Ports } from "../frame/ports.ts"
import { lineOf } from "./git-client.ts"
import type { Judged } from "./push-checks.ts"
import { cleanings, judgePush, landed } from "./push-checks.ts"
import { codeOf } from "../../domain/code/aggregates.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Cause } from "../frame/kernel/envelope.ts"

declare module "../frame/counts.ts" {
  interface Counted {
    /** Pushes, by what was said to them. */
    readonly pushes: "said"
  }
}

/** What who pushes must be granted. */
export const PUSH_RULES = { operation: "code.push", also: ["code.pull"] } as const

/** What of a route says who may push by it. */
export type PushRules = Pick<Route, "operation" | "also" | "permissions">

/** Serves a push to its end. */
export async function takePush(
  ports: Pick<Ports, "counts" | "log" | "repositories" | "runner" | "sealing" | "secretScan">,
  caller: Caller,
  conversation: Conversation,
): Promise<void> {
  await judgedFor(ports, caller, PUSH_RULES, (judge) =>
    ports.repositories.receive(conversation, judge),
  )
}

/**
 * Takes what a caller pushes, whatever way it comes.
 *
 * @param take has what comes judged, once it is there
 * @throws what `take` throws
 */
export async function judgedFor<T>(
  ports: Pick<Ports, "counts" | "log" | "repositories" | "runner" | "sealing" | "secretScan">,
  caller: Caller,
  rules: PushRules,
  take: (judge: (push: Push) => Promise<Verdict>) => Promise<T>,
): Promise<T> {
  const pusher = { companyId: caller.companyId, cause: causeOf(caller) }
  // Before git looks for what it builds on; where it cannot be read, the person is told at the end.
  const [before] = await Promise.allSettled([cleanings(ports, pusher)])
  let accepted: PushId | null = null
  try {
    return await take(async (push) => {
      const { verdict, said } = await verdictOn(ports, caller, rules, push.left, async () => {
        if (before.status === "rejected") throw before.reason
        return judgePush(ports, pusher, push, before.value)
      })
      if ("pushId" in verdict) accepted = verdict.pushId
      ports.counts.add("pushes", { said })
      return verdict
    })
  } finally {
    // Whatever became of git after the yes: the refs say so.
    if (accepted !== null) await landed(ports, pusher, accepted)
  }
}

type Said = "yes" | "no" | "fault" | "left"

/** Nothing is thrown: whoever waits at a terminal is told. */
async function verdictOn(
  ports: Pick<Ports, "log" | "runner">,
  caller: Caller,
  rules: PushRules,
  left: AbortSignal,
  judge: () => Promise<Judged>,
): Promise<{ readonly verdict: Judged; readonly said: Said }> {
  try {
    const barred = await noLonger(ports, caller, rules)
    const verdict =
      barred === null ? await judge() : { ok: false as const, lines: [lineOf(barred)] }
    return { verdict, said: verdict.ok ? "yes" : "no" }
  } catch (error) {
    // Nobody is there to be told, and nothing went wrong.
    if (left.aborted) return { verdict: { ok: false, lines: [] }, said: "left" }
    ports.log.warn(`the push of request ${caller.requestId} could not be judged`, error)
    const message = "The push could not be checked, and nothing was changed. Push again later."
    const verdict = { ok: false as const, lines: [lineOf({ error: "unavailable", message })] }
    return { verdict, said: "fault" }
  }
}

const findPersonOf = (state: Access, key: Key | null) =>
  key === null || key.personId === null ? null : findPerson(state, key.personId)

/** Why the caller may not push any more: much may have changed while so much was sent. */
async function noLonger(
  ports: Pick<Ports, "runner">,
  caller: Caller,
  rules: PushRules,
): Promise<Refusal | null> {
  const { companyId, key } = caller
  if (key === null) return null
  const now = await ports.runner.readLatest(accessOf(companyId), (state: Access) => {
    const found = findKey(state, key.keyId)
    const person = findPersonOf(state, found)
    return { key: found, person }
  })
  if (now.key === null || !keyWorks(now.key)) return badKey()
  const own = { ...caller, key: now.key, person: now.person }
  return (
    (await checkCompany(ports, own, true)) ??
    operationRefusal(own, rules) ??
    personRefusal(own, { ...rules, personKey: true })
  )
}

/**
 * Takes an object (a blob or any other) out and says so; pushes are taken again from then on, also where git has failed.
 *
 * @throws NoRepository, GitUnavailable, GitFailed, and as `Runner.execute` does
 */
export async function endScrub(
  { repositories, runner }: Pick<Ports, "repositories" | "runner">,
  companyId: CompanyId,
  blob: string,
  cause: Cause,
): Promise<Scrubbed> {
  const end = (isGone: boolean) =>
    runner.execute(codeOf(companyId), { type: "EndScrub", blob, isGone }, cause)
  try {
    const found = await repositories.scrub(companyId, blob)
    await end(found.is !== "reached")
    return found
  } catch (error) {
    await end(false)
    throw error
  }
}
