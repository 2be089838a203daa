/** The failures that can be set on preview hosts. */
import { describe, expect, it } from "vitest"
import {
  ProviderOutcomeUnknown,
  ProviderUnavailable,
} from "../../adapters/providers/provider-errors.ts"
import { openSimulatedPreviews } from "../../adapters/sandbox/preview-host/simulator.ts"
import { simulatePreviewFaults } from "../../adapters/sandbox/preview-host/simulated-faults.ts"
import { memorySimulators } from "../boxhost/simulated-boxes.ts"
import { rejectionOf } from "../boxhost/sandbox-hosts.ts"
import { fetchPage, readArchive } from "./preview-client.ts"
import { newAppPlan, newBuildPlan } from "./plans.ts"

function openFailingHost() {
  const pauses: number[] = []
  const pacer = { elapsedMs: () => 0, pause: async (ms: number) => void pauses.push(ms) }
  const simulators = memorySimulators()
  let openCount = 0
  const host = simulatePreviewFaults(
    () => {
      openCount += 1
      return openSimulatedPreviews({ clock: { now: () => 0 }, hostId: "simulator:one" })
    },
    { simulators, pacer },
  )
  const setOutcome = (outcome: string, times: number | null = null) =>
    simulators.set({ name: "publish", outcome, times })
  return { host, setOutcome, pauses, openCount: () => openCount }
}

const FILES = { "dist/index.html": "one" }

describe("a preview host", () => {
  it("is opened at its first use", async () => {
    const { openCount, host } = openFailingHost()
    expect(openCount()).toBe(0)
    expect(host.hostId).toBe("simulator:one")
    expect(openCount()).toBe(1)
  })

  it("that is off cannot build, but still runs apps", async () => {
    const { host, setOutcome } = openFailingHost()
    await setOutcome("off")
    expect(await host.canBuild()).toBe(false)
    expect(await rejectionOf(host.start(newAppPlan("")))).toBeNull()
  })

  it("fails only builds, and as many of them as are set", async () => {
    const { host, setOutcome } = openFailingHost()
    await setOutcome("build-fails", 1)
    expect(await host.canBuild()).toBe(true)
    const failed = await host.build(newBuildPlan(FILES), readArchive)
    expect({ ...failed, log: failed.log.toString("utf8") }).toEqual({
      ok: false,
      reason: "The build is set to fail.",
      log: "The build is set to fail.\n",
    })
    expect(await host.build(newBuildPlan(FILES), readArchive)).toMatchObject({ ok: true })
  })

  it("is unavailable, silent or slow when it is set to be", async () => {
    const { host, pauses, setOutcome } = openFailingHost()
    const plan = newAppPlan("")
    await setOutcome("unavailable")
    expect(await rejectionOf(host.listRunning())).toBeInstanceOf(ProviderUnavailable)
    expect(await rejectionOf(host.readStatus(plan.companyId))).toBeInstanceOf(ProviderUnavailable)
    await setOutcome("silent")
    expect(await rejectionOf(host.start(plan))).toBeInstanceOf(ProviderOutcomeUnknown)
    await setOutcome("slow", 1)
    expect(await fetchPage(host, plan)).toBeNull()
    expect(pauses).toEqual([2_000])
  })
})
