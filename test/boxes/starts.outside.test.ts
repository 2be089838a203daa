/** What a start needs: a commit to begin at, and a free slot. */
import { describe, expect, it } from "vitest"
import { boxStreamOf } from "../../domain/boxes/aggregates.ts"
import type { BoxId } from "../../domain/boxes/ids.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import { bundleOf, git, workingCopy } from "../code/git.ts"
import { makeCompany, spentOf } from "../support/world.ts"
import { BOXES, makeBoxCompany, sharedBoxWorld, running, start } from "./boxes-world.ts"

const one = await sharedBoxWorld()
const { world } = one

describe("a start", () => {
  it("begins a new branch where the default branch is, whatever its name is", async () => {
    const company = await makeCompany(world)
    const copy = workingCopy(one.folder, { "README.md": "# Trunk\n" })
    git(copy, "branch", "-m", "trunk")
    await world.operate("repository import", {
      company: company.companyId,
      file: bundleOf(copy),
    })
    for (const branch of ["trunk", "main"]) {
      const boxId = await running(world, company, { branch })
      const path = `${BOXES}/${boxId}/files/content?path=README.md`
      expect((await world.call(company.key, "GET", path)).body.content).toBe("# Trunk\n")
    }
  })

  it("without a commit in the repository is clone_failed, and costs nothing", async () => {
    const company = await makeCompany(world)
    await world.operate("repository create", { company: company.companyId })
    expect(await start(world, company)).toMatchObject({
      status: 502,
      body: { error: "clone_failed", message: expect.stringContaining("no commit") },
    })
    expect(await spentOf(world, company)).toBe(0)
    const { charges } = await world.operate("charge list", { company: company.companyId })
    expect(charges).toEqual([])
  })

  it("takes the slot of a box that has just been stopped, deleted or ended by itself", async () => {
    const company = await makeBoxCompany(one)
    const { companyId, key } = company
    const boxes = [await running(world, company), await running(world, company)] as const
    expect((await start(world, company)).status).toBe(429)
    const ends = [
      () => world.call(key, "POST", `${BOXES}/${boxes[0]}/stop`),
      () => world.call(key, "DELETE", `${BOXES}/${boxes[1]}`),
    ]
    const started: BoxId[] = []
    for (const end of ends) {
      expect((await end()).status).toBe(200)
      const next = await start(world, company)
      expect(next.status).toBe(201)
      started.push(next.body.id)
    }
    const [boxId] = started as [BoxId]
    const byItself = { type: "StopBox", boxId, reason: "time_cap" } as const
    const command = { ...byItself, keyId: null, personId: null }
    await world.ports.runner.execute(boxStreamOf(companyId, boxId), command, causedBy("test"))
    expect((await start(world, company)).status).toBe(201)
    expect((await start(world, company)).status).toBe(429)
  })
})
