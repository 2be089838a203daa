/** What hosts of previews can be told to do. */
import { describe, expect, it } from "vitest"
import { ProviderSilent, ProviderUnavailable } from "../../adapters/providers/outside.ts"
import { openBuiltInPreviews } from "../../adapters/sandbox/preview-host/built-in.ts"
import { failingPreviews } from "../../adapters/sandbox/preview-host/failing.ts"
import { memorySimulators } from "../boxhost/built-in-boxes.ts"
import { errorOf } from "../boxhost/machine.ts"
import { page, read } from "./asking.ts"
import { appOf, buildOf } from "./plans.ts"

function openFailing() {
  const pauses: number[] = []
  const pacer = { elapsedMs: () => 0, pause: async (ms: number) => void pauses.push(ms) }
  const simulators = memorySimulators()
  let chosen = 0
  const host = failingPreviews(
    () => {
      chosen += 1
      return openBuiltInPreviews({ clock: { now: () => 0 }, hostId: "simulator:one" })
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
    expect(await host.isAble()).toBe(false)
    expect(await errorOf(host.start(appOf("")))).toBeNull()
  })

  it("has a build fail as often as it is told to, and nothing else", async () => {
    const { host, tell } = openFailing()
    await tell("build-fails", 1)
    expect(await host.isAble()).toBe(true)
    const failed = await host.build(buildOf(FILES), read)
    expect({ ...failed, log: failed.log.toString("utf8") }).toEqual({
      ok: false,
      why: "The build was told to fail.",
      log: "The build was told to fail.\n",
    })
    expect(await host.build(buildOf(FILES), read)).toMatchObject({ ok: true })
  })

  it("is unavailable, silent or slow when it is told to be", async () => {
    const { host, pauses, tell } = openFailing()
    const plan = appOf("")
    await tell("unavailable")
    expect(await errorOf(host.list())).toBeInstanceOf(ProviderUnavailable)
    expect(await errorOf(host.look(plan.companyId))).toBeInstanceOf(ProviderUnavailable)
    await tell("silent")
    expect(await errorOf(host.start(plan))).toBeInstanceOf(ProviderSilent)
    await tell("slow", 1)
    expect(await page(host, plan)).toBeNull()
    expect(pauses).toEqual([2_000])
  })
})
