/**
 * The checks every call passes, as one ordered list (decisions.md §1). What stands around it:
 *
 * 1. at the door: overloaded 503 · unknown path 404 · verb 405 · retired 410 (the router)
 * 2. this list; the replay of an idempotent request is looked up after its first check
 * 3. `Ledger-Position`, body and query: 413 · 415 · 400
 * 4. in the handler: the resource's own rules 404/409/502 · limits 429 · funds 402 · effect 503
 *
 * None of this list needs the body; it is read before only for an `Idempotency-Key` or a sign-in.
 */
import { checkAccount, checkGeneralLimit, checkKeyLimit, countCall } from "./account-checks.ts"
import type { Check } from "./call.ts"
import { checkKey } from "./key-check.ts"
import { operationRefusal, personRefusal } from "./person-checks.ts"
import { rateRefusal } from "./rate-check.ts"
import type { Caller } from "./route.ts"

/** The checks in their order. */
export const CHECKS: readonly Check[] = [
  { name: "key", refuse: ({ ports }, call) => checkKey(ports, call) },
  { name: "key's own limit", refuse: ({ ports }, call) => checkKeyLimit(ports, call) },
  { name: "account", refuse: ({ ports }, call) => checkAccount(ports, call) },
  { name: "general limit used up", refuse: ({ ports }, call) => checkGeneralLimit(ports, call) },
  { name: "the call is counted", refuse: ({ ports }, call) => countCall(ports, call) },
  {
    name: "rate",
    refuse: async ({ rates }, { caller, route }) => rateRefusal(rates, route, caller as Caller),
  },
  {
    name: "operation",
    refuse: async (_checking, { caller, route }) => operationRefusal(caller as Caller, route),
  },
  {
    name: "person",
    refuse: async (_checking, { caller, route }) => personRefusal(caller as Caller, route),
  },
]

/** How many of `CHECKS` stand before the replay look-up. */
export const CHECKS_BEFORE_REPLAY = 1
