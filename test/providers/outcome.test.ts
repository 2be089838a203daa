/** The rule for every provider: which answers mean done, rejected, not done, and unknown. */
import { describe, expect, it } from "vitest"
import type { RequestOutcome } from "../../adapters/providers/request-outcome.ts"
import {
  brokenExchangeError,
  httpOutcome,
  isNeverSentCode,
  smtpOutcome,
} from "../../adapters/providers/request-outcome.ts"
import {
  ProviderOutcomeUnknown,
  ProviderUnavailable,
} from "../../adapters/providers/provider-errors.ts"
import { readTree } from "../conventions/source-tree.ts"

const STATUSES = Array.from({ length: 500 }, (_, i) => i + 100)

/** The rule for requests that change something, written independently of the source. */
function expectedOf(status: number): RequestOutcome {
  if (status >= 200 && status <= 299) return "done"
  if (status === 429) return "not done"
  if ([408, 409, 425].includes(status)) return "unknown"
  return status >= 400 && status <= 499 ? "rejected" : "unknown"
}

describe("the outcome of an HTTP request", () => {
  it.each(["POST", "PUT", "PATCH", "DELETE"])("of %s follows the rule at each status", (method) => {
    const found = STATUSES.map((status) => [status, httpOutcome(method, status)])
    expect(found).toEqual(STATUSES.map((status) => [status, expectedOf(status)]))
  })

  it.each<[number, RequestOutcome]>([
    [201, "done"],
    [204, "done"],
    [307, "unknown"],
    [400, "rejected"],
    [401, "rejected"],
    [402, "rejected"],
    [403, "rejected"],
    [404, "rejected"],
    [408, "unknown"],
    [409, "unknown"],
    [422, "rejected"],
    [425, "unknown"],
    [429, "not done"],
    [500, "unknown"],
    [502, "unknown"],
    [503, "unknown"],
    [504, "unknown"],
    [529, "unknown"],
  ])("of POST answered %i is %s", (status, outcome) => {
    expect(httpOutcome("POST", status)).toBe(outcome)
  })

  it.each(["GET", "HEAD"])(
    "of %s is never unknown, and is `not done` if the provider is busy",
    (method) => {
      const found = STATUSES.map((status) => httpOutcome(method, status))
      expect(found).not.toContain("unknown")
      const later = STATUSES.filter((status) => httpOutcome(method, status) === "not done")
      const busy = STATUSES.filter((status) => status >= 500)
      expect(later).toEqual([408, 425, 429, ...busy])
      expect([httpOutcome(method, 200), httpOutcome(method, 404)]).toEqual(["done", "rejected"])
    },
  )
})

describe("the outcome of a command to a mail server", () => {
  it.each<[number, RequestOutcome]>([
    [250, "done"],
    [354, "unknown"],
    [421, "not done"],
    [451, "not done"],
    [499, "not done"],
    [500, "rejected"],
    [554, "rejected"],
    [599, "rejected"],
    [600, "unknown"],
    [0, "unknown"],
  ])("with reply code %i is %s", (replyCode, outcome) => {
    expect(smtpOutcome(replyCode)).toBe(outcome)
  })
})

describe("a broken exchange", () => {
  it.each(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"])("with %s was never sent", (code) => {
    expect(isNeverSentCode(code)).toBe(true)
    const error = new TypeError("fetch failed", { cause: { code } })
    expect(brokenExchangeError("Telnyx", error)).toBeInstanceOf(ProviderUnavailable)
  })

  it.each(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET", undefined])(
    "with %s has an unknown outcome",
    (code) => {
      expect(isNeverSentCode(code)).toBe(false)
      const error = new TypeError("fetch failed", { cause: { code } })
      expect(brokenExchangeError("Telnyx", error)).toBeInstanceOf(ProviderOutcomeUnknown)
    },
  )
})

describe("the provider clients", () => {
  const clients = readTree(["adapters"], [".ts"]).filter(({ path }) =>
    path.startsWith("adapters/providers/"),
  )

  it("send requests through `json-request.ts`, which applies the rule", () => {
    const fetching = clients.filter(({ text }) => /\bfetch\(/.test(text)).map(({ path }) => path)
    // The second file downloads recordings.
    expect(fetching).toEqual([
      "adapters/providers/json-request.ts",
      "adapters/providers/voice/telnyx-recordings.ts",
    ])
  })

  it("do not decide by themselves which statuses mean not done or unknown", () => {
    const judging = clients
      .filter(({ text }) => /status (>=|===|<|>) (408|409|425|429|5\d\d)\b/.test(text))
      .map(({ path }) => path)
    expect(judging).toEqual(["adapters/providers/request-outcome.ts"])
  })
})
