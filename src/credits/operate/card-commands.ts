/** Commands for the cards on companies' accounts. */
import { CARD_OUTCOMES } from "../../../adapters/providers/cards/port.ts"
import type { CommandSpec } from "../../frame/operator/cli/command.ts"
import { COMPANY } from "../../frame/operator/cli/command.ts"

const setCard: CommandSpec = {
  does: "operation",
  name: "card set",
  summary: "put a card of the built-in test processor on a company's account",
  notes: [
    "Each call says all of the card: what is left out is not so. Without --outcome its payments are " +
      "paid, those of a failing card fail.",
  ],
  example: "card set --company acme --verified --outcome declined",
  changes: true,
  options: [
    COMPANY,
    { flags: "--verified", description: "the card is verified" },
    { flags: "--failing", description: "its payments fail" },
    {
      flags: "--outcome <outcome>",
      description: "what payments from it come to",
      choices: CARD_OUTCOMES,
    },
  ],
}

const removeCard: CommandSpec = {
  does: "operation",
  name: "card remove",
  summary: "take a company's card off its account",
  example: "card remove --company acme",
  changes: true,
  options: [COMPANY],
}

/** Commands for cards. */
export const CARD_COMMANDS: readonly CommandSpec[] = [setCard, removeCard]
