/** Which host of previews a program has: one beside its boxes, of memory where those are. */
import { join, resolve } from "node:path"
import { describe, expect, it } from "vitest"
import { openSimulatedBoxHost } from "../../adapters/sandbox/boxhost/simulator.ts"
import type { Ports } from "../../src/frame/ports.ts"
import type { ProviderContext } from "../../src/frame/provider.ts"
import { settingsReader } from "../../src/frame/settings.ts"
import { previewHostProvider } from "../../src/publishing/providers/preview-host.ts"
import { resolvePreviewDir } from "../../src/publishing/settings.ts"
import { memorySimulators } from "../boxhost/simulated-boxes.ts"
import { readArchive } from "./preview-client.ts"
import { newBuildPlan } from "./plans.ts"
import { partialFake } from "../support/partial-fake.ts"

describe("the host of previews", () => {
  it("is of memory where boxes are, and has their host's name", async () => {
    const clock = { now: () => 0 }
    const pacer = { elapsedMs: () => 0, pause: async () => undefined }
    const boxHost = openSimulatedBoxHost({ clock, pacer, hostId: "simulator:one" })
    const withFailurePoints: ProviderContext["withFailurePoints"] = (port) => port
    const outside = { clock, pacer, simulators: memorySimulators(), settings: settingsReader({}) }
    let ports: Pick<Ports, "boxHost" | "boxMachine"> | null = null
    const { previewHost } = await previewHostProvider.open(
      partialFake<ProviderContext>({ ...outside, withFailurePoints, dataDir: "data" }),
      // Nobody may ask for the others before all of them are open.
      () => ports as Ports,
    )
    ports = { boxHost, boxMachine: null }
    expect(previewHost?.hostId).toBe("simulator:one")
    const built = await previewHost?.build(newBuildPlan({ "dist/a": "one" }), readArchive)
    expect(built).toMatchObject({ ok: true, stored: { a: "one" } })
  })

  it("keeps what companies have where it is told to, or in the data folder", () => {
    expect(resolvePreviewDir({ PREVIEW_DIR: "there" }, "data")).toBe(resolve("there"))
    expect(resolvePreviewDir({}, "data")).toBe(join(resolve("data"), "previews"))
  })
})
