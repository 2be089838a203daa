import { PROGRAM } from "../../src/slices.ts"
import { afterAll, expect, it } from "vitest"
import { buildApp } from "../../src/frame/http/app.ts"
import { MESSAGES_PATH, newPhoneNumber } from "../phone/text-requests.ts"
import type { Company } from "../support/world.ts"
import { callApp, makeCompany, makeKey, setLimit, sharedWorld } from "../support/world.ts"
import type { KeyId } from "../../domain/kernel/ids.ts"

const world = await sharedWorld({ calls: "free" })
/** The process's own time stands still, so that no window of a rate limit ends meanwhile. */
const pacer = { ...world.ports.pacer, elapsedMs: () => 0 }
const app = await buildApp({ ...world.ports, pacer }, PROGRAM.entries, PROGRAM.retiredPaths)
afterAll(() => app.close())

/** A text to send. The fault of a check makes it fail that check. */
interface Attempt {
  readonly company: Company
  keyId: KeyId
  key: string
  operations: readonly string[]
  role: "manager" | "user"
  url: string
  method: "POST" | "PUT"
  payload: string | undefined
  text: Record<string, unknown>
}

/** The checks in the order of docs/api.md, each with its answer and a fault that makes it fail. */
const CHECKS: readonly {
  readonly name: string
  readonly answer: readonly [number, string]
  readonly fail: (attempt: Attempt) => Promise<void> | void
}[] = [
  {
    name: "unknown path",
    answer: [404, "not_found"],
    fail: (attempt) => {
      attempt.url = "/api/v1/phone/messages/all"
    },
  },
  {
    name: "retired",
    answer: [410, "gone"],
    fail: (attempt) => {
      attempt.url = "/api/v1/leads/intake"
    },
  },
  {
    name: "verb",
    answer: [405, "method_not_allowed"],
    fail: (attempt) => {
      attempt.method = "PUT"
    },
  },
  {
    name: "key",
    answer: [401, "invalid_key"],
    fail: async ({ keyId }) => world.operate("key pause", { keyId }),
  },
  {
    name: "key's own limit used up",
    answer: [401, "invalid_key"],
    fail: async ({ company, keyId: key }) =>
      setLimit(world, company, { key, period: "day", dollars: "0" }),
  },
  {
    name: "account locked",
    answer: [402, "payment_required"],
    fail: async ({ company: { companyId: company } }) => world.operate("company lock", { company }),
  },
  {
    name: "account not managed",
    answer: [402, "needs_managed_plan"],
    fail: async ({ company: { companyId: company } }) => world.operate("card remove", { company }),
  },
  {
    name: "general limit used up",
    answer: [429, "spend_limit_reached"],
    fail: ({ company }) => setLimit(world, company, { dollars: "0" }),
  },
  {
    name: "rate",
    answer: [429, "rate_limited"],
    fail: async ({ key }) => {
      const calls = Array.from({ length: 120 }, () => callApp(app, key, "POST", MESSAGES_PATH))
      await Promise.all(calls)
    },
  },
  {
    name: "operation",
    answer: [403, "operation_not_granted"],
    fail: (attempt) => {
      attempt.operations = ["phone.messages.read"]
    },
  },
  {
    name: "person",
    answer: [403, "not_allowed"],
    fail: (attempt) => {
      attempt.role = "user"
    },
  },
  {
    name: "size of the body",
    answer: [413, "too_large"],
    fail: (attempt) => {
      attempt.payload = `"${"x".repeat(1024 * 1024)}"`
    },
  },
  {
    name: "validation",
    answer: [400, "validation"],
    fail: (attempt) => {
      attempt.payload ??= '{"to":'
    },
  },
  {
    name: "number of the recipient",
    answer: [400, "bad_number"],
    fail: ({ text }) => {
      text["to"] = "+1415555"
    },
  },
  {
    name: "number of the company",
    answer: [409, "no_number"],
    fail: ({ text }) => {
      text["from"] = "+14155550000"
    },
  },
  {
    name: "opted out",
    answer: [409, "opted_out"],
    fail: async ({ company, text }) => {
      const body = { phone: text["to"] }
      await world.call(company.key, "POST", "/api/v1/phone/opt-outs", { body })
    },
  },
  {
    name: "limit that does not suffice",
    answer: [429, "spend_limit_reached"],
    fail: ({ company }) => setLimit(world, company, { dollars: "0.008999" }),
  },
  {
    name: "funds",
    answer: [402, "payment_required"],
    fail: ({ text }) => {
      // Four segments cost more than the company's funds.
      text["body"] = "x".repeat(600)
    },
  },
]

/** Pairs of checks that cannot fail together, because both concern the same number, limit or path. */
const APART: readonly (readonly [string, string])[] = [
  ["unknown path", "retired"],
  ["retired", "verb"],
  ["general limit used up", "limit that does not suffice"],
  ["number of the recipient", "opted out"],
]

/** Checks of the whole body; if one fails, the fields of the text are not read. */
const OF_THE_BODY = ["size of the body", "validation"]
const OF_THE_TEXT = ["number of the recipient", "number of the company", "opted out", "funds"]

const isPair = (pairs: readonly (readonly [string, string])[], a: string, b: string) =>
  pairs.some((pair) => pair.includes(a) && pair.includes(b))

/** Pairs that can fail together, but in which the first hides the second from a group. */
const UNSEEN = OF_THE_BODY.flatMap((body) => OF_THE_TEXT.map((text) => [body, text] as const))

/**
 * All later checks that can fail together with a check, in groups that can fail together. If a request that fails
 * the check and a whole group gets the check's answer, the check precedes each check of the group.
 */
function groupsAfter(i: number): readonly (readonly string[])[] {
  const first = CHECKS[i]?.name ?? ""
  const groups: string[][] = []
  for (const { name } of CHECKS.slice(i + 1)) {
    if (isPair(APART, first, name)) continue
    const group = groups.find((others) =>
      others.every((other) => !isPair([...APART, ...UNSEEN], other, name)),
    )
    if (group === undefined) groups.push([name])
    else group.push(name)
  }
  return groups
}

/** Checks whose fault needs the attempt's key. Later checks fail first, while the earlier ones still pass. */
const NEEDS_KEY = [
  "key",
  "key's own limit used up",
  "account locked",
  "account not managed",
  "general limit used up",
  "rate",
]

/** Sends a text that fails these checks. */
async function attemptWith(names: readonly string[]): Promise<readonly [number, string]> {
  const company = await makeCompany(world, { funds: "0.009" })
  const attempt: Attempt = {
    company,
    keyId: company.keyId,
    key: company.key,
    operations: ["phone.messages.send"],
    role: "manager",
    url: MESSAGES_PATH,
    method: "POST",
    payload: undefined,
    text: { to: newPhoneNumber(), body: "Hello" },
  }
  const faults = CHECKS.filter(({ name }) => names.includes(name)).toReversed()
  const deferred = (name: string) => NEEDS_KEY.includes(name)
  for (const fault of faults.filter(({ name }) => !deferred(name))) await fault.fail(attempt)
  const { role, operations } = attempt
  const made = await makeKey(world, company, { role, operations })
  Object.assign(attempt, made)
  for (const fault of faults.filter(({ name }) => deferred(name))) await fault.fail(attempt)
  const { key, method, url, payload } = attempt
  const { status, body } = await callApp(app, key, method, url, {
    body: payload ?? JSON.stringify(attempt.text),
    headers: { "content-type": "application/json" },
  })
  return [status, body.error]
}

it.for(CHECKS.map(({ name }) => name))("the check of %s rejects a request alone", async (name) => {
  const expected = CHECKS.find((check) => check.name === name)?.answer
  expect(await attemptWith([name])).toEqual(expected)
})

it.for(CHECKS.flatMap(({ name }, i) => groupsAfter(i).map((group) => [name, group] as const)))(
  "the check of %s comes before %s",
  async ([first, later]) => {
    const expected = CHECKS.find((check) => check.name === first)?.answer
    expect(await attemptWith([first, ...later])).toEqual(expected)
  },
)

it("a request that passes every check is accepted", async () => {
  expect(await attemptWith([])).toEqual([200, undefined])
})
