/** A program that runs as an ordinary user and builds and runs previews, on requests of its parent. */
import { join } from "node:path"
import { machinePacer } from "../../adapters/machine/clock/database-clock.ts"
import { openBubblewrap } from "../../adapters/sandbox/boxhost/bubblewrap/bubblewrap.ts"
import { readAndDeleteFile } from "../../adapters/sandbox/boxhost/code-scripts.ts"
import { openSandboxedPreviews } from "../../adapters/sandbox/preview-host/sandboxed-previews.ts"
import { fetchPage, readArchive } from "./preview-client.ts"
import { newAppPlan, newBuildPlan } from "./plans.ts"

/** A request of the parent; the answer has the same number. */
interface PreviewHostRequest {
  readonly number: number
  readonly what: string
  readonly script: string
}

const runDir = process.argv[2] ?? ""
const boxHost = await openBubblewrap({
  runDir,
  blockedNetworks: async () => [],
  pacer: machinePacer,
})
const host = openSandboxedPreviews({
  boxHost,
  pacer: machinePacer,
  readAndDelete: readAndDeleteFile,
  volumesFolder: join(runDir, "previews"),
})
const app = newAppPlan(`
import { createServer } from "node:http"
import { appendFileSync, readFileSync } from "node:fs"
createServer((request, answer) => {
  if (request.url === "/add") appendFileSync("/data/storage/calls", "x")
  answer.end(request.url === "/" ? "well" : readFileSync("/data/storage/calls"))
}).listen(Number(process.env.PORT), "127.0.0.1")`)

async function answer({ script, what }: PreviewHostRequest): Promise<unknown> {
  if (what === "build") {
    const built = await host.build(
      newBuildPlan({ "dist/a": "one" }, { build: script }),
      readArchive,
    )
    return { ...built, log: built.log.toString("utf8") }
  }
  if (what === "start") return host.start(app)
  if (what === "wake") return host.start({ ...app, isNew: false })
  if (what === "sleep") return host.sleep(app.companyId)
  if (what === "add") return fetchPage(host, app, "/add")
  if (what === "erase") return host.erase(app.companyId)
  return boxHost.listSandboxes()
}

process.on("message", (request: PreviewHostRequest) => {
  void answer(request).then(
    (answered) => process.send?.({ number: request.number, answered }),
    (error: unknown) => process.send?.({ number: request.number, failed: String(error) }),
  )
})
process.on("disconnect", () => process.exit())
process.send?.({ number: 0, answered: process.getuid?.() })
