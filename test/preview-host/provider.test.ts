/** The choice of the preview host: it uses the box host's sandboxes, or is simulated if boxes are. */
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

describe("the preview host", () => {
  it("is simulated if boxes are, and has the id of their host", async () => {
    const clock = { now: () => 0 }
    const pacer = { elapsedMs: () => 0, pause: async () => undefined }
    const boxHost = openSimulatedBoxHost({ clock, pacer, hostId: "simulator:one" })
    const withFailurePoints: ProviderContext["withFailurePoints"] = (port) => port
    const context = { clock, pacer, simulators: memorySimulators(), settings: settingsReader({}) }
    let ports: Pick<Ports, "boxHost" | "boxMachine"> | null = null
    const { previewHost } = await previewHostProvider.open(
      partialFake<ProviderContext>({ ...context, withFailurePoints, dataDir: "data" }),
      // Other providers may be used only after all are open.
      () => ports as Ports,
    )
    ports = { boxHost, boxMachine: null }
    expect(previewHost?.hostId).toBe("simulator:one")
    const built = await previewHost?.build(newBuildPlan({ "dist/a": "one" }), readArchive)
    expect(built).toMatchObject({ ok: true, stored: { a: "one" } })
  })

  it("stores volumes in PREVIEW_DIR, or in the data folder", () => {
    expect(resolvePreviewDir({ PREVIEW_DIR: "there" }, "data")).toBe(resolve("there"))
    expect(resolvePreviewDir({}, "data")).toBe(join(resolve("data"), "previews"))
  })
})
