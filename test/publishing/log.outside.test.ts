/** What an operator is shown of a publish: what its build, its release and its app wrote. */
import { describe, expect, it, vi } from "vitest"
import { AppFailed } from "../../adapters/providers/preview-host/port.ts"
import { PROGRAM } from "../../src/slices.ts"
import { companyFile, makePublisher, publishWorld, published, push } from "./publish-world.ts"

const one = await publishWorld()
const { world } = one

const log = (publishId: string) => world.operate("publish log", { publishId })
const wait = () => world.operate("wait")
const BUILT = "Nothing was run: builds are simulated here.\n"

/** The words of the command for an answer of it. */
function shown(answer: object): string {
  const operation = PROGRAM.operations.find(({ name }) => name === "publish log")
  return operation?.render?.(answer, { width: 80, isTerminal: false } as never) ?? ""
}

describe("the log of a publish", () => {
  it("has what its start wrote, whether it came up or not, for thirty days", async () => {
    const company = await makePublisher(one)
    const app = companyFile(company.name, { start: "serve" })
    const commit = await push(world, company, { "company.json": app })
    const start = vi.spyOn(world.ports.previewHost, "start")
    start.mockRejectedValueOnce(new AppFailed("The release ended with 4.", "no table\u001b[2J\n"))
    const publishId = await published(world, company, commit)
    const failed = { status: "failed", build: BUILT, start: "no table\\x1b[2J\n", app: null }
    expect(await log(publishId)).toMatchObject(failed)
    start.mockResolvedValueOnce("migrated\n")
    await world.operate("publish retry", { publishId })
    await wait()
    expect(await log(publishId)).toMatchObject({ status: "live", start: "migrated\n" })
    await world.operate("clock advance", { duration: "31d" })
    await wait()
    expect(await log(publishId)).toMatchObject({ build: null, start: null })
    start.mockRestore()
  })

  it("has no words of a start where nothing was released", async () => {
    const company = await makePublisher(one)
    expect(await log(await published(world, company, company.first))).toMatchObject({ start: null })
  })

  const answer = { publishId: "pub_1", error: null, build: null, start: null, app: null }
  it.each([
    ["queued", "It waits to be built."],
    [
      "building",
      "It is being built: its log is there once that has ended, in 10 minutes at the latest.",
    ],
    ["replaced", "No log of its build is kept."],
  ])("says of one that is %s why there is none", (status, words) => {
    expect(shown({ ...answer, status })).toBe(`pub_1 ${status}\n${words}\n`)
  })

  it("is one part behind another, and says of the silent that they are", () => {
    const app = { status: "running", log: "listening\n" }
    expect(shown({ ...answer, status: "live", build: "\n", start: "migrated\n", app })).toBe(
      "pub_1 live\nIts build wrote nothing.\n\nIts start:\nmigrated\n\nIts app (running):\nlistening\n",
    )
  })

  it("does not say the end of one that did not come up twice", () => {
    const app = { status: "down", log: "no module\n" }
    const failed = { ...answer, status: "failed", error: "The app ended.\nno module", app }
    expect(shown({ ...failed, build: "", start: "no module\n" })).toBe(
      "pub_1 failed\nThe app ended.\nIts build wrote nothing.\n\nIts start:\nno module\n",
    )
  })
})
