/** Commands for limits and funds. */
import type { CommandSpec, Input, OptionSpec } from "../../frame/operator/cli/command.ts"
import { COMPANY, DOLLARS_NOTE } from "../../frame/operator/cli/command.ts"
import { changeText, dollarsText, someText } from "../../frame/operator/cli/option-values.ts"

const HOLDER: readonly OptionSpec[] = [
  COMPANY,
  { flags: "--person <person>", description: "the limit of this person, by id" },
  { flags: "--key <key>", description: "the limit of this key, by id" },
  {
    flags: "--class <class>",
    description: "which spending it limits, for a company or person",
    choices: ["ai", "general"],
  },
]

const HOLDER_NOTE =
  "Without --person and --key it is the company's own limit. A company's and a person's limit is " +
  "for a class and a week or month; a key's limit is for everything and a day, week or month."

function checkHolder({ person, key, class: limited }: Input): string | null {
  if (person !== undefined && key !== undefined) {
    return "a limit is for a --person or for a --key, not for both"
  }
  if (key !== undefined && limited !== undefined) {
    return "a key's limit counts every class: leave --class out"
  }
  if (key === undefined && limited === undefined) {
    return "the limit of a company or person needs --class ai or --class general"
  }
  return null
}

function checkLimit(input: Input): string | null {
  const { person, key, period, leaveKeysOut } = input
  const fault = checkHolder(input)
  if (fault !== null) return fault
  if (key === undefined && period === "day") {
    return "the limit of a company or person is for a week or month; only a key's is for a day"
  }
  if (leaveKeysOut !== undefined && person === undefined) {
    return "--leave-keys-out is for the limit of a --person"
  }
  return null
}

const setLimit: CommandSpec = {
  does: "operation",
  name: "limit set",
  summary: "set a spending limit",
  notes: [
    HOLDER_NOTE,
    "It replaces the holder's limit of this class whole: say --remind and --leave-keys-out again.",
    DOLLARS_NOTE,
    "Windows begin at midnight UTC; weeks on Monday.",
  ],
  example: "limit set --company acme --class general --period month --dollars 200 --remind 150 190",
  changes: true,
  options: [
    ...HOLDER,
    {
      flags: "--period <period>",
      description: "the window it is for",
      isRequired: true,
      choices: ["day", "week", "month"],
    },
    {
      flags: "--dollars <dollars>",
      description: "how much may be spent in a window",
      isRequired: true,
      parse: dollarsText,
    },
    { flags: "--leave-keys-out", description: "what the person's keys spend does not count" },
    {
      flags: "--remind <dollars...>",
      description: "remind when so much is spent",
      field: "reminders",
      parse: dollarsText,
    },
  ],
  check: checkLimit,
}

const removeLimit: CommandSpec = {
  does: "operation",
  name: "limit remove",
  summary: "remove a spending limit",
  notes: [HOLDER_NOTE],
  example: "limit remove --company acme --class ai",
  changes: true,
  options: HOLDER,
  check: checkHolder,
}

const listLimits: CommandSpec = {
  does: "operation",
  name: "limit list",
  summary: "list a company's limits with what is used, what remains and when it resets",
  notes: ["Amounts are US dollars; with --json micros, millionths of a dollar. Times are UTC."],
  example: "limit list --company acme --json",
  options: [COMPANY],
}

const addFunds: CommandSpec = {
  does: "operation",
  name: "funds add",
  summary: "give a company funds: an operator's credit",
  notes: [DOLLARS_NOTE, "The same reference again adds nothing."],
  example: "funds add --company acme --dollars 25 --reference invoice-1042",
  changes: true,
  options: [
    COMPANY,
    {
      flags: "--dollars <dollars>",
      description: "how much",
      isRequired: true,
      parse: dollarsText,
    },
    {
      flags: "--reference <reference>",
      description: "names this credit, so that it is added once",
      parse: someText,
    },
  ],
}

const correctFunds: CommandSpec = {
  does: "operation",
  name: "funds correct",
  summary: "correct a company's funds, up or down, also below zero",
  notes: ["--reason is required: it is part of the fact, for auditors.", DOLLARS_NOTE],
  example: 'funds correct --company acme --dollars -12.50 --reason "chargeback of invoice 1042"',
  changes: true,
  options: [
    COMPANY,
    {
      flags: "--dollars <dollars>",
      description: "by how much; below zero takes away",
      isRequired: true,
      parse: changeText,
    },
  ],
  needsReason: true,
}

/** Commands for limits and funds. */
export const MONEY_COMMANDS: readonly CommandSpec[] = [
  setLimit,
  removeLimit,
  listLimits,
  addFunds,
  correctFunds,
]
