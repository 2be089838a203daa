/** What a shell completes once it has read our script. */
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import type { Catalogue } from "../../src/frame/operator/cli/command.ts"
import type { Shell } from "../../src/frame/operator/cli/completion.ts"
import { completionOf } from "../../src/frame/operator/cli/completion.ts"

const CATALOGUE = JSON.parse(
  readFileSync(new URL("../../src/catalogue.json", import.meta.url), "utf8"),
) as Catalogue

/** How each shell is asked, and how it calls functions that complete: zsh as its bashcompinit does. */
const SHELLS: Record<Shell, { readonly args: readonly string[]; readonly calls: string }> = {
  bash: { args: ["--norc", "-c"], calls: "_company_ledger" },
  zsh: {
    args: ["-f", "-c"],
    calls: "() { emulate -L sh; setopt kshglob noshglob braceexpand; _company_ledger }",
  },
}

/** What is offered for the last of these words; null where there is no such shell here. */
function offered(shell: Shell, words: readonly string[]): readonly string[] | null {
  const { args, calls } = SHELLS[shell]
  const line = words.map((word) => `'${word}'`).join(" ")
  const script = `${completionOf(CATALOGUE, shell)}
    COMP_WORDS=(company-ledger ${line})
    COMP_CWORD=${words.length}
    ${calls}
    printf '%s\\n' "\${COMPREPLY[@]}"`
  const { status, stdout, error } = spawnSync(shell, [...args, script], { encoding: "utf8" })
  if (error !== undefined) return null
  expect(status).toBe(0)
  return stdout.split("\n").filter((word) => word !== "")
}

describe.each(["bash", "zsh"] as const)("%s", (shell) => {
  it.for([
    [["comp"], ["completion", "company"]],
    [["company", "res"], ["restore"]],
    [["charge", "give"], ["give-back"]],
    [
      ["company", "create", "--p"],
      ["--plan", "--pays"],
    ],
    [
      ["limit", "set", "--class", ""],
      ["ai", "general"],
    ],
    [
      ["limit", "set", "--class", "ai", "--per"],
      ["--person", "--period"],
    ],
    [
      ["completion", ""],
      ["bash", "zsh", "--help"],
    ],
    [
      ["help", "comp"],
      ["completion", "company"],
    ],
    [["help", "company", ""], []],
    [
      ["key", "create", "--company", "acme", "--operation", "phone.messages.s"],
      ["phone.messages.send"],
    ],
    [
      ["projections", "rebuild", "char"],
      ["charge-days", "charges"],
    ],
    // A file may stand there, which the shell knows by itself.
    [["export", "billing", "--out", ""], []],
    [["no", "such", ""], []],
  ] as const)("offers behind %j: %j", ([words, wanted], context) => {
    const found = offered(shell, words)
    if (found === null) return context.skip(`no ${shell} on this machine`)
    return expect(found).toEqual(wanted)
  })
})

it("knows every command and every option that help shows", () => {
  const script = completionOf(CATALOGUE, "bash")
  for (const { name, options } of CATALOGUE.commands) {
    const offers = script.match(new RegExp(`^ +'${name}'\\) words='(.*)' ;;$`, "m"))?.[1] ?? ""
    const flags = options.map(({ flags: said }) => said.split(" ")[0])
    expect(offers.split(" ")).toEqual(expect.arrayContaining(flags))
  }
})

it("is registered in zsh for the file too, which stands behind an alias", (context) => {
  const script = `${completionOf(CATALOGUE, "zsh")}
    print -r -- "$_comps[company-ledger] / $_comps[ledger.mjs]"`
  const { status, stdout, error } = spawnSync("zsh", ["-f", "-c", script], { encoding: "utf8" })
  if (error !== undefined) return context.skip("no zsh on this machine")
  expect(status).toBe(0)
  const [one = "", other] = stdout.trim().split(" / ")
  expect(one).toContain("_company_ledger")
  return expect(other).toBe(one)
})

it("is registered in bash for the file too", () => {
  const script = `${completionOf(CATALOGUE, "bash")}
    complete -p company-ledger ledger.mjs`
  const { stdout } = spawnSync("bash", ["--norc", "-c", script], { encoding: "utf8" })
  expect(stdout).toBe(
    "complete -o default -F _company_ledger company-ledger\n" +
      "complete -o default -F _company_ledger ledger.mjs\n",
  )
})
