/** A program of an ordinary user that builds and runs previews, as its parent asks. */
import { join } from "node:path"
import { machinePacer } from "../../adapters/machine/clock/clock.ts"
import { openBubblewrap } from "../../adapters/sandbox/boxhost/bubblewrap/bubblewrap.ts"
import { piecesOf } from "../../adapters/sandbox/boxhost/code-scripts.ts"
import { openSandboxedPreviews } from "../../adapters/sandbox/preview-host/sandboxed.ts"
import { page, read } from "./asking.ts"
import { appOf, buildOf } from "./plans.ts"

/** A question of the parent; it is answered under its number. */
interface Asked {
  readonly number: number
  readonly what: string
  readonly script: string
}

const runDir = process.argv[2] ?? ""
const boxHost = await openBubblewrap({ runDir, blocked: async () => [], pacer: machinePacer })
const host = openSandboxedPreviews({
  boxHost,
  pacer: machinePacer,
  readOut: piecesOf,
  dir: join(runDir, "previews"),
})
const app = appOf(`
import { createServer } from "node:http"
import { appendFileSync, readFileSync } from "node:fs"
createServer((asked, answer) => {
  if (asked.url === "/add") appendFileSync("/data/storage/calls", "x")
  answer.end(asked.url === "/" ? "well" : readFileSync("/data/storage/calls"))
}).listen(Number(process.env.PORT), "127.0.0.1")`)

async function answer({ script, what }: Asked): Promise<unknown> {
  if (what === "build") {
    const built = await host.build(buildOf({ "dist/a": "one" }, { build: script }), read)
    return { ...built, log: built.log.toString("utf8") }
  }
  if (what === "start") return host.start(app)
  if (what === "wake") return host.start({ ...app, isNew: false })
  if (what === "sleep") return host.sleep(app.companyId)
  if (what === "add") return page(host, app, "/add")
  if (what === "erase") return host.erase(app.companyId)
  return boxHost.sandboxes()
}

process.on("message", (asked: Asked) => {
  void answer(asked).then(
    (answered) => process.send?.({ number: asked.number, answered }),
    (error: unknown) => process.send?.({ number: asked.number, failed: String(error) }),
  )
})
process.on("disconnect", () => process.exit())
process.send?.({ number: 0, answered: process.getuid?.() })
