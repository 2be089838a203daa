/** What hosts of previews can be told to do. */
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

function openFailing() {
  const pauses: number[] = []
  const pacer = { elapsedMs: () => 0, pause: async (ms: number) => void pauses.push(ms) }
  const simulators = memorySimulators()
  let chosen = 0
  const host = simulatePreviewFaults(
    () => {
      chosen += 1
      return openSimulatedPreviews({ clock: { now: () => 0 }, hostId: "simulator:one" })
    },
    { simulators, pacer },
  )
  const tell = (outcome: string, times: number | null = null) =>
    simulators.set({ name: "publish", outcome, times })
  return { host, tell, pauses, chosen: () => chosen }
}

const FILES = { "dist/index.html": "one" }

describe("a host of previews", () => {
  it("is not chosen before it is asked for something", async () => {
    const { chosen, host } = openFailing()
    expect(chosen()).toBe(0)
    expect(host.hostId).toBe("simulator:one")
    expect(chosen()).toBe(1)
  })

  it("that is off can build nothing, and runs what runs", async () => {
    const { host, tell } = openFailing()
    await tell("off")
    expect(await host.canBuild()).toBe(false)
    expect(await rejectionOf(host.start(newAppPlan("")))).toBeNull()
  })

  it("has a build fail as often as it is told to, and nothing else", async () => {
    const { host, tell } = openFailing()
    await tell("build-fails", 1)
    expect(await host.canBuild()).toBe(true)
    const failed = await host.build(newBuildPlan(FILES), readArchive)
    expect({ ...failed, log: failed.log.toString("utf8") }).toEqual({
      ok: false,
      reason: "The build is set to fail.",
      log: "The build is set to fail.\n",
    })
    expect(await host.build(newBuildPlan(FILES), readArchive)).toMatchObject({ ok: true })
  })

  it("is unavailable, silent or slow when it is told to be", async () => {
    const { host, pauses, tell } = openFailing()
    const plan = newAppPlan("")
    await tell("unavailable")
    expect(await rejectionOf(host.listRunning())).toBeInstanceOf(ProviderUnavailable)
    expect(await rejectionOf(host.readStatus(plan.companyId))).toBeInstanceOf(ProviderUnavailable)
    await tell("silent")
    expect(await rejectionOf(host.start(plan))).toBeInstanceOf(ProviderOutcomeUnknown)
    await tell("slow", 1)
    expect(await fetchPage(host, plan)).toBeNull()
    expect(pauses).toEqual([2_000])
  })
})
