/** Commands for companies. */
import { PLANS } from "../../../domain/access/access-events.ts"
import type { ArgumentSpec, CommandSpec } from "../../frame/operator/cli/command.ts"
import { DOLLARS_NOTE } from "../../frame/operator/cli/command.ts"
import { dollarsText, someText } from "../../frame/operator/cli/option-values.ts"

const COMPANY_ARGUMENT: ArgumentSpec = {
  name: "COMPANY",
  description: "the company, by id or name",
  field: "company",
}

const create: CommandSpec = {
  does: "operation",
  name: "company create",
  summary: "make a company with its owner and one built-in test number",
  notes: [DOLLARS_NOTE],
  example: "company create acme --plan payg --pays prepaid --funds 50",
  changes: true,
  arguments: [
    { name: "NAME", description: "its name, not yet taken", field: "name", parse: someText },
  ],
  options: [
    { flags: "--no-number", description: "without a phone number", field: "withNumber" },
    { flags: "--plan <plan>", description: "its plan, dollars a month", choices: PLANS },
    { flags: "--pays <how>", description: "what it pays from", choices: ["prepaid", "card"] },
    { flags: "--funds <dollars>", description: "funds to begin with", parse: dollarsText },
    { flags: "--owner-name <name>", description: "the owner's name", parse: someText },
    { flags: "--owner-email <email>", description: "the owner's email", parse: someText },
  ],
}

const show: CommandSpec = {
  does: "operation",
  name: "company show",
  summary: "show a company: plan, card, balance, lock",
  notes: ["The balance is US dollars; with --json it is micros, millionths of a dollar."],
  example: "company show acme",
  arguments: [COMPANY_ARGUMENT],
}

const list: CommandSpec = {
  does: "operation",
  name: "company list",
  summary: "list all companies",
  example: "company list --json",
}

const change: CommandSpec = {
  does: "operation",
  name: "company change",
  summary: "change a company's plan and how it pays",
  notes: [
    "A prepaid-only company spends nothing beyond its funds and is shown no way to pay.",
    "A credit line is for companies that pay by card.",
    DOLLARS_NOTE,
  ],
  example: "company change acme --plan 79 --pays card --credit-line 100",
  changes: true,
  arguments: [COMPANY_ARGUMENT],
  options: [
    { flags: "--plan <plan>", description: "its plan, dollars a month", choices: PLANS },
    { flags: "--pays <how>", description: "what it pays from", choices: ["prepaid", "card"] },
    {
      flags: "--prepaid-only <on|off>",
      description: "whether it may only spend prepaid funds",
      choices: ["on", "off"],
    },
    {
      flags: "--credit-line <dollars>",
      description: "how much it may spend beyond its funds",
      parse: dollarsText,
    },
    { flags: "--channel <channel>", description: "where its apps are updated from" },
  ],
  check: ({ plan, pays, prepaidOnly, creditLine, channel }) =>
    [plan, pays, prepaidOnly, creditLine, channel].every((word) => word === undefined)
      ? "say what to change: --plan, --pays, --prepaid-only, --credit-line or --channel"
      : null,
}

const lock: CommandSpec = {
  does: "operation",
  name: "company lock",
  summary: "lock a company's account: its keys can buy nothing until it is unlocked",
  example: 'company lock acme --reason "asked for by its owner"',
  changes: true,
  arguments: [COMPANY_ARGUMENT],
}

const unlock: CommandSpec = {
  does: "operation",
  name: "company unlock",
  summary: "unlock a company's account",
  example: "company unlock acme",
  changes: true,
  arguments: [COMPANY_ARGUMENT],
}

const remove: CommandSpec = {
  does: "operation",
  name: "company delete",
  summary: "delete a company: its keys stop at once, its data is erased after 14 days",
  notes: [
    'Until then "company restore" undoes it.',
    "What is erased cannot come back; amounts, times and hashes stay, and still verify.",
  ],
  example: 'company delete acme --reason "asked for by its owner"',
  changes: true,
  arguments: [COMPANY_ARGUMENT],
}

const restore: CommandSpec = {
  does: "operation",
  name: "company restore",
  summary: "undo the deletion of a company within 14 days",
  notes: ["The keys that it switched off work again; those that were paused before stay paused."],
  example: "company restore acme",
  changes: true,
  arguments: [COMPANY_ARGUMENT],
}

/** Commands for companies. */
export const COMPANY_COMMANDS: readonly CommandSpec[] = [
  create,
  show,
  change,
  list,
  lock,
  unlock,
  remove,
  restore,
]
