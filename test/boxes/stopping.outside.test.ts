/** A command that runs in a box while its server stops: it is answered, and known to have begun. */
import { expect, it } from "vitest"
import { BOXES, makeBoxCompany, openBoxWorld, running } from "./boxes-world.ts"
import { callerAt } from "../support/caller.ts"

const KIND = { slice: "boxes", kind: "activity", most: 200 }

it("a command that outlives its server is 503, and in the box's activity", async () => {
  const one = await openBoxWorld()
  const { world } = one
  const { ports } = world
  const company = await makeBoxCompany(one)
  const boxId = await running(world, company)
  const noted = async () => {
    const entries = await ports.journal
      .of<{ readonly result: string }>(KIND)
      .newest(company.companyId, boxId, 1)
    return entries.map(({ content: { result } }) => result)
  }
  const call = callerAt(one.server)
  const body = { command: "sleep 600" }
  const answered = call(company.key, "POST", `${BOXES}/${boxId}/exec`, { body })
  await expect.poll(noted).toEqual(["began"])
  const closed = world.app.close()
  const { status, headers } = await answered
  expect([status, headers["retry-after"]]).toEqual([503, "60"])
  // Otherwise the server would wait until the connection is let go of, over a minute later.
  expect(headers["connection"]).toBe("close")
  expect(await noted()).toEqual(["no answer"])
  await closed
  await one.close()
})
