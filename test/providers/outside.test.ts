import { describe, expect, it } from "vitest"
import type { Pacer } from "../../adapters/machine/clock/port.ts"
import {
  ProviderOutcomeUnknown,
  ProviderUnavailable,
  withProviderTimeout,
  providerResultOrNull,
} from "../../adapters/providers/provider-errors.ts"

/** A pacer whose pauses are over when the test says so, or when they are not needed any more. */
function heldPacer() {
  const pauses: { readonly ms: number; readonly signal: AbortSignal; readonly over: () => void }[] =
    []
  const pacer: Pacer = {
    elapsedMs: () => 0,
    pause: (ms, signal) =>
      new Promise((resolve) => {
        if (signal === undefined) throw new Error("nobody could end this pause")
        signal.addEventListener("abort", () => resolve())
        pauses.push({ ms, signal, over: resolve })
      }),
  }
  return { pacer, pauses }
}

const never = () => new Promise<never>(() => undefined)

describe("an answer from outside", () => {
  it("is given, and its timer ends with it", async () => {
    const { pacer, pauses } = heldPacer()
    expect(await withProviderTimeout(pacer, "the carrier", Promise.resolve("taken"))).toBe("taken")
    expect(pauses.map(({ ms, signal }) => [ms, signal.aborted])).toEqual([[10_000, true]])
  })

  it("that is a refusal is thrown as it is, and its timer ends", async () => {
    const { pacer, pauses } = heldPacer()
    const refused = new ProviderUnavailable("503")
    await expect(withProviderTimeout(pacer, "the carrier", Promise.reject(refused))).rejects.toBe(
      refused,
    )
    expect(pauses[0]?.signal.aborted).toBe(true)
  })

  it("that does not come in ten seconds is silence, by the provider's name", async () => {
    const { pacer, pauses } = heldPacer()
    const asked = withProviderTimeout(pacer, "the mailer", never())
    pauses[0]?.over()
    await expect(asked).rejects.toThrow(
      new ProviderOutcomeUnknown("the mailer did not answer within 10000 ms"),
    )
  })
})

describe("what is known outside", () => {
  it("is what it says", async () => {
    const said = providerResultOrNull(heldPacer().pacer, "the processor", Promise.resolve("paid"))
    expect(await said).toBe("paid")
  })

  it.for([
    ["is silent", new ProviderOutcomeUnknown("no answer")],
    ["is not available", new ProviderUnavailable("503")],
  ] as const)("is nothing where the provider %s", async ([, error]) => {
    const asked = providerResultOrNull(heldPacer().pacer, "the processor", Promise.reject(error))
    expect(await asked).toBeNull()
  })

  it("is nothing where the answer does not come in time", async () => {
    const { pacer, pauses } = heldPacer()
    const asked = providerResultOrNull(pacer, "the processor", never())
    pauses[0]?.over()
    expect(await asked).toBeNull()
  })

  it("is no other error: that is thrown", async () => {
    const broken = Promise.reject(new RangeError("broken"))
    await expect(providerResultOrNull(heldPacer().pacer, "the carrier", broken)).rejects.toThrow(
      "broken",
    )
  })
})
