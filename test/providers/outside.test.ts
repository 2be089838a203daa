import { describe, expect, it } from "vitest"
import type { Pacer } from "../../adapters/machine/clock/port.ts"
import {
  ProviderOutcomeUnknown,
  ProviderUnavailable,
  withProviderTimeout,
  providerResultOrNull,
} from "../../adapters/providers/provider-errors.ts"

/** A pacer whose pauses end when the test ends them or their signal aborts. */
function manualPacer() {
  const pauses: { readonly ms: number; readonly signal: AbortSignal; readonly end: () => void }[] =
    []
  const pacer: Pacer = {
    elapsedMs: () => 0,
    pause: (ms, signal) =>
      new Promise((resolve) => {
        if (signal === undefined) throw new Error("this pause has no signal that could end it")
        signal.addEventListener("abort", () => resolve())
        pauses.push({ ms, signal, end: resolve })
      }),
  }
  return { pacer, pauses }
}

const never = () => new Promise<never>(() => undefined)

describe("a provider's answer", () => {
  it("is returned, and ends its timer", async () => {
    const { pacer, pauses } = manualPacer()
    expect(await withProviderTimeout(pacer, "the carrier", Promise.resolve("taken"))).toBe("taken")
    expect(pauses.map(({ ms, signal }) => [ms, signal.aborted])).toEqual([[10_000, true]])
  })

  it("that is an error is thrown unchanged, and ends its timer", async () => {
    const { pacer, pauses } = manualPacer()
    const refused = new ProviderUnavailable("503")
    await expect(withProviderTimeout(pacer, "the carrier", Promise.reject(refused))).rejects.toBe(
      refused,
    )
    expect(pauses[0]?.signal.aborted).toBe(true)
  })

  it("that takes over ten seconds has an unknown outcome, with the provider's name", async () => {
    const { pacer, pauses } = manualPacer()
    const answer = withProviderTimeout(pacer, "the mailer", never())
    pauses[0]?.end()
    await expect(answer).rejects.toThrow(
      new ProviderOutcomeUnknown("the mailer did not answer within 10000 ms"),
    )
  })
})

describe("the result of a status check", () => {
  it("is the provider's answer", async () => {
    const result = providerResultOrNull(
      manualPacer().pacer,
      "the processor",
      Promise.resolve("paid"),
    )
    expect(await result).toBe("paid")
  })

  it.for([
    ["does not answer", new ProviderOutcomeUnknown("no answer")],
    ["is unavailable", new ProviderUnavailable("503")],
  ] as const)("is null if the provider %s", async ([, error]) => {
    const result = providerResultOrNull(manualPacer().pacer, "the processor", Promise.reject(error))
    expect(await result).toBeNull()
  })

  it("is null if the answer is late", async () => {
    const { pacer, pauses } = manualPacer()
    const result = providerResultOrNull(pacer, "the processor", never())
    pauses[0]?.end()
    expect(await result).toBeNull()
  })

  it("throws any other error", async () => {
    const broken = Promise.reject(new RangeError("broken"))
    await expect(providerResultOrNull(manualPacer().pacer, "the carrier", broken)).rejects.toThrow(
      "broken",
    )
  })
})
