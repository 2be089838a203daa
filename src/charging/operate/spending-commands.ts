/** Commands for charges, API calls and prices. */
import { PRICED_ITEMS } from "../../../domain/charging/price-book.ts"
import type { CommandSpec, Input, OptionSpec } from "../../frame/operator/cli/command.ts"
import { COMPANY, DOLLARS_NOTE } from "../../frame/operator/cli/command.ts"
import { chargeId, dayText, dollarsText, someText } from "../../frame/operator/cli/option-values.ts"

/** The same as `COMPANY` for commands that see to it themselves, or can do without. */
const MAYBE_COMPANY: OptionSpec = { ...COMPANY, isRequired: false }

const NEEDED = ["company", "class", "dollars", "item"] as const

function checkCharge(input: Input): string | null {
  const missing = NEEDED.filter((name) => input[name] === undefined).map((name) => `--${name}`)
  return missing.length === 0 ? null : `a charge needs ${missing.join(", ")}`
}

const charge: CommandSpec = {
  does: "operation",
  name: "charge",
  summary: "charge spending made outside the API: dashboard, app, AI models",
  notes: [
    "It passes the same limits and funds as a call of the API, or is refused as one.",
    "--company, --class, --dollars and --item are required. With --id, the same id again charges nothing.",
    DOLLARS_NOTE,
  ],
  example: 'charge --company acme --class ai --dollars 0.42 --item "chat completion" --id run-1042',
  changes: true,
  options: [
    MAYBE_COMPANY,
    { flags: "--person <person>", description: "who spent it, by id; else the company alone" },
    { flags: "--class <class>", description: "what kind it is", choices: ["ai", "general"] },
    { flags: "--dollars <dollars>", description: "how much", parse: dollarsText },
    { flags: "--item <text>", description: "what was bought", parse: someText },
    { flags: "--id <id>", description: "names it, so that it is charged once", parse: chargeId },
  ],
  check: checkCharge,
}

const giveBack: CommandSpec = {
  does: "operation",
  name: "charge give-back",
  summary: "give a charge back, whole or in part, once: an operator's correction",
  notes: ["--reason is required: it is part of the fact, for auditors.", DOLLARS_NOTE],
  example: 'charge give-back chg_5cW1 --reason "charged for a test"',
  changes: true,
  arguments: [{ name: "CHARGE_ID", description: "the charge, by id", field: "chargeId" }],
  options: [
    { flags: "--dollars <dollars>", description: "only so much of it", parse: dollarsText },
    { ...MAYBE_COMPANY, description: "the company, where several have such a charge" },
  ],
  needsReason: true,
}

const open: CommandSpec = {
  does: "operation",
  name: "charges open",
  summary: "list charges whose work is not known to have ended, oldest first",
  example: "charges open --company acme",
  options: [MAYBE_COMPANY],
}

const listCalls: CommandSpec = {
  does: "operation",
  name: "calls list",
  summary: "list the API calls counted per UTC day, key and person",
  notes: ["Calls are charged the night after their day."],
  example: "calls list --company acme --day 2026-11-21",
  options: [
    COMPANY,
    { flags: "--day <day>", description: "of this UTC day only, YYYY-MM-DD", parse: dayText },
  ],
}

const listPrices: CommandSpec = {
  does: "operation",
  name: "price list",
  summary: "list what things cost, and the version of the price book",
  example: "price list --json",
}

const setPrice: CommandSpec = {
  does: "operation",
  name: "price set",
  summary: "change a price: a new version of the price book, never an edit",
  notes: ["What runs already keeps the price it began with.", DOLLARS_NOTE],
  example: "price set text_segment --dollars 0.009",
  changes: true,
  arguments: [
    { name: "ITEM", description: "what is priced", field: "item", choices: PRICED_ITEMS },
  ],
  options: [
    {
      flags: "--dollars <dollars>",
      description: "what one of it costs",
      isRequired: true,
      parse: dollarsText,
    },
  ],
}

/** Commands for charges, API calls and prices. */
export const SPENDING_COMMANDS: readonly CommandSpec[] = [
  charge,
  giveBack,
  open,
  listCalls,
  listPrices,
  setPrice,
]
