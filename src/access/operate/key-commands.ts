/** Commands for API keys. */
import type { CommandSpec, Input } from "../../frame/operator/cli/command.ts"
import { COMPANY, DOLLARS_NOTE } from "../../frame/operator/cli/command.ts"
import { dollarsText, someText } from "../../frame/operator/cli/option-values.ts"
import type { Page } from "../../frame/operator/cli/render.ts"
import { isRow, renderFields, renderResult } from "../../frame/operator/cli/render.ts"

const create: CommandSpec = {
  does: "operation",
  name: "key create",
  summary: "make an API key and show it, once",
  notes: [
    "A key is for one person, or for the company's app.",
    DOLLARS_NOTE,
    "Only a hash of the key is kept: whoever loses it makes another one.",
  ],
  example: "key create --company acme --app --operation phone.messages.send phone.messages.read",
  changes: true,
  options: [
    COMPANY,
    { flags: "--person <person>", description: "whose key it is, by id" },
    { flags: "--app", description: "the key of the company's app" },
    {
      flags: "--operation <operation...>",
      description: "operations it may use",
      field: "operations",
    },
    { flags: "--all-operations", description: "it may use every operation" },
    { flags: "--label <label>", description: "what it is called", parse: someText },
    {
      flags: "--add-funds-per-purchase <dollars>",
      description: "it may add funds, so much at a time",
      parse: dollarsText,
    },
    {
      flags: "--add-funds-per-month <dollars>",
      description: "it may add funds, so much in a month",
      parse: dollarsText,
    },
  ],
  check: checkCreate,
  render: renderCreated,
}

function checkCreate(input: Input): string | null {
  const { person, app, operations, allOperations } = input
  if ((person !== undefined) === (app !== undefined)) {
    return "a key is for one --person or for the --app: give exactly one of them"
  }
  if ((operations !== undefined) === (allOperations !== undefined)) {
    return "name what the key may do with --operation, or give --all-operations"
  }
  const { addFundsPerPurchase, addFundsPerMonth } = input
  if ((addFundsPerPurchase === undefined) !== (addFundsPerMonth === undefined)) {
    return "--add-funds-per-purchase and --add-funds-per-month go together"
  }
  return null
}

function renderCreated(result: unknown, page: Page): string {
  if (!isRow(result)) return renderResult(result, page)
  const { key, appSecret, ...rest } = result
  const secret =
    appSecret === undefined ? "" : `\nThe app's secret, shown this once:\n${String(appSecret)}\n`
  const fields = renderFields(Object.entries(rest))
  return `${fields}\nThe key, shown this once; keep it now:\n${String(key)}\n${secret}`
}

const change = (verb: string, summary: string): CommandSpec => ({
  does: "operation",
  name: `key ${verb}`,
  summary,
  example: `key ${verb} key_4Zb0x7 --reason "asked for by its owner"`,
  changes: true,
  arguments: [{ name: "KEY_ID", description: "the key, by id", field: "keyId" }],
})

const changePurchases: CommandSpec = {
  does: "operation",
  name: "key change",
  summary: "change what a key may buy funds for",
  notes: ["review: every purchase waits for an owner.", DOLLARS_NOTE],
  example:
    "key change key_4Zb0x7 --purchases on --add-funds-per-purchase 20 --add-funds-per-month 100",
  changes: true,
  arguments: [{ name: "KEY_ID", description: "the key, by id", field: "keyId" }],
  options: [
    {
      flags: "--purchases <mode>",
      description: "whether it may add funds",
      choices: ["on", "off", "review"],
    },
    {
      flags: "--add-funds-per-purchase <dollars>",
      description: "so much at a time",
      parse: dollarsText,
    },
    {
      flags: "--add-funds-per-month <dollars>",
      description: "so much in a month",
      parse: dollarsText,
    },
  ],
  check: ({ purchases, addFundsPerPurchase, addFundsPerMonth }) =>
    [purchases, addFundsPerPurchase, addFundsPerMonth].every((word) => word === undefined)
      ? "say what to change: --purchases, --add-funds-per-purchase or --add-funds-per-month"
      : null,
}

const list: CommandSpec = {
  does: "operation",
  name: "key list",
  summary: "list a company's keys",
  example: "key list --company acme",
  options: [COMPANY],
}

/** Commands for API keys. */
export const KEY_COMMANDS: readonly CommandSpec[] = [
  create,
  changePurchases,
  change("pause", "pause a key: it is refused until it is resumed"),
  change("resume", "let a paused key work again"),
  change("delete", "delete a key for ever"),
  list,
]
