import { readFile } from "node:fs/promises"
import { expect, it } from "vitest"
import { parseLine as parse } from "./fake-host.ts"

it.each(["--version", "-V"])("%s prints the release of the package", async (word) => {
  const { version } = JSON.parse(await readFile("package.json", "utf8"))
  expect(parse(word)).toEqual({ kind: "help", text: `${version}\n` })
})

it("leaves a command's own --version alone", () => {
  const words = 'release publish --version 2.1.0 --notes "Faster lists" --channel stable'
  expect(parse(words)).toMatchObject({
    kind: "command",
    invocation: { input: { version: "2.1.0" } },
  })
})
