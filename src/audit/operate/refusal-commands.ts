/** Commands for the noes: those that were, and whether there would be one. */
import type { CommandSpec } from "../../frame/operator/cli/command.ts"
import { COMPANY } from "../../frame/operator/cli/command.ts"
import { countingNumber, revisionNumber, someText } from "../../frame/operator/cli/option-values.ts"
import {
  isRow,
  renderFields,
  renderResult,
  renderTable,
  rowsOf,
} from "../../frame/operator/cli/render.ts"

const list: CommandSpec = {
  does: "operation",
  name: "refusals list",
  summary: "list the charges that were refused, newest first, and what stopped each",
  notes: [
    "The first of a key, limit and window is kept in full; those like it are counted in its times.",
  ],
  example: "refusals list --company acme --key key_2Wk9aQzT",
  options: [
    COMPANY,
    { flags: "--key <key>", description: "only of this key, by id", parse: someText },
    { flags: "--before <revision>", description: "only earlier ones", parse: revisionNumber },
    { flags: "--limit <number>", description: "at most so many", parse: countingNumber },
  ],
  render: (result, page) => {
    const rows = isRow(result) ? rowsOf(result["refusals"]) : null
    if (!isRow(result) || rows === null) return renderResult(result, page)
    const shown = rows.map(
      ({ at, code, item, amountMicros, keyId, limit, times, revision: r }) => ({
        ...{ revision: r, at, code, item, amountMicros, keyId },
        limit: isRow(limit) ? `${String(limit["holder"])} a ${String(limit["period"])}` : null,
        resetsAt: isRow(limit) ? limit["resetsAt"] : null,
        times,
      }),
    )
    const { next } = result
    const more = typeof next === "number" ? `There are more: --before ${next}\n` : ""
    return renderTable(shown, page, "refusals") + more
  },
}

const ask: CommandSpec = {
  does: "operation",
  name: "ask",
  summary: "ask what would be decided of a charge; nothing is charged or stored",
  notes: [
    "Says whether it would fit, which limit stops it, and when it would fit if nothing else were spent.",
    "Without a key it is the company that spends. The exit code is 0 for either answer.",
    "POSITION is a Ledger-Position, or revision:N of the ledger: it is decided right behind it.",
  ],
  example: "ask --company acme --key key_2Wk9aQzT --item text --quantity 3",
  options: [
    COMPANY,
    { flags: "--key <key>", description: "the key that would spend, by id", parse: someText },
    {
      flags: "--item <item>",
      description: "what is bought, by its name in the price book",
      isRequired: true,
      parse: someText,
    },
    {
      flags: "--quantity <number>",
      description: "how many of it",
      isRequired: true,
      parse: countingNumber,
    },
    { flags: "--at <position>", description: "a former place; default now", parse: someText },
  ],
  render: (result) => {
    if (!isRow(result)) return ""
    const { fits, limit, ...others } = result
    const verdict = fits === true ? "It fits" : "It does not fit"
    const fields = Object.entries(others)
    const stop = isRow(limit)
      ? `The limit that stops it:\n${renderFields(Object.entries(limit))}`
      : ""
    return `${verdict}.\n${renderFields(fields)}${stop}`
  },
}

/** Commands for refusals. */
export const REFUSAL_COMMANDS: readonly CommandSpec[] = [list, ask]
