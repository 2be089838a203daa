/** Which host of previews a program has: one beside its boxes, of memory where those are. */
import { join, resolve } from "node:path"
import { describe, expect, it } from "vitest"
import { openBuiltInBoxHost } from "../../adapters/sandbox/boxhost/built-in.ts"
import type { Ports } from "../../src/frame/ports.ts"
import type { Outside } from "../../src/frame/provider.ts"
import { settingsIn } from "../../src/frame/settings.ts"
import { previewHostProvider } from "../../src/publishing/providers/preview-host.ts"
import { previewFolderIn } from "../../src/publishing/settings.ts"
import { memorySimulators } from "../boxhost/built-in-boxes.ts"
import { read } from "./asking.ts"
import { buildOf } from "./plans.ts"
import { partly } from "../support/partly.ts"

describe("the host of previews", () => {
  it("is of memory where boxes are, and has their host's name", async () => {
    const clock = { now: () => 0 }
    const pacer = { elapsedMs: () => 0, pause: async () => undefined }
    const boxHost = openBuiltInBoxHost({ clock, pacer, hostId: "simulator:one" })
    const failing: Outside["failing"] = (port) => port
    const outside = { clock, pacer, simulators: memorySimulators(), settings: settingsIn({}) }
    let ports: Pick<Ports, "boxHost" | "boxMachine"> | null = null
    const { previewHost } = await previewHostProvider.open(
      partly<Outside>({ ...outside, failing, dataDir: "data" }),
      // Nobody may ask for the others before all of them are open.
      () => ports as Ports,
    )
    ports = { boxHost, boxMachine: null }
    expect(previewHost?.hostId).toBe("simulator:one")
    const built = await previewHost?.build(buildOf({ "dist/a": "one" }), read)
    expect(built).toMatchObject({ ok: true, kept: { a: "one" } })
  })

  it("keeps what companies have where it is told to, or in the data folder", () => {
    expect(previewFolderIn({ PREVIEW_DIR: "there" }, "data")).toBe(resolve("there"))
    expect(previewFolderIn({}, "data")).toBe(join(resolve("data"), "previews"))
  })
})
