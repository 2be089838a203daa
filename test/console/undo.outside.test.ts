/** What can be taken back, in a real browser: a paused key, a removed limit. */
import type { Locator } from "playwright-core"
import { expect, it } from "vitest"
import { openConsole } from "./in-chromium.ts"
import { setLimit } from "../support/company.ts"

const opened = await openConsole((place) =>
  setLimit(place.world, place, { dollars: "12.5", reminders: ["10"] }),
)
const { owner, company } = opened

const ask = (operation: string) => opened.world.operate(operation, { company })

async function takeBack(where: Locator, what: string, says: string, after: string): Promise<void> {
  await where.getByRole("button", { name: what, exact: true }).click()
  await owner.getByRole("dialog").getByRole("button", { name: what, exact: true }).click()
  await owner.getByText(says).waitFor()
  await owner.getByRole("button", { name: "Undo" }).click()
  await owner.getByText(after).waitFor()
  await owner.getByRole("button", { name: "Undo" }).waitFor({ state: "detached" })
}

it("a paused key works again", async () => {
  await owner.getByRole("link", { name: "Keys", exact: true }).click()
  await owner.getByRole("link", { name: "demo", exact: true }).click()
  await takeBack(owner.getByRole("main"), "Pause", "The key is paused.", "The key works again.")
  await owner.getByRole("button", { name: "Pause", exact: true }).waitFor()
  expect((await ask("key list")).keys).toMatchObject([{ label: "demo", status: "active" }])
})

it("a removed limit holds as it did", async () => {
  const before = (await ask("limit list")).limits
  await owner.getByRole("link", { name: "Limits", exact: true }).click()
  const row = owner.getByRole("row").filter({ hasText: "$12.50" })
  await takeBack(row, "Remove", "The limit was removed.", "The limit holds again.")
  expect((await ask("limit list")).limits).toEqual(before)
})
