/** Commands for installed apps, their releases, and the affiliate programme. */
import type { CommandSpec } from "../../frame/operator/cli/command.ts"
import { COMPANY } from "../../frame/operator/cli/command.ts"
import { someText } from "../../frame/operator/cli/option-values.ts"

const joinAffiliate: CommandSpec = {
  does: "operation",
  name: "affiliate join",
  summary: "let a company earn by those it brings",
  example: "affiliate join --company acme",
  changes: true,
  options: [COMPANY],
}

const VERSION = {
  flags: "--version <version>",
  description: "the version, such as 2.1.0",
  isRequired: true,
  parse: someText,
} as const

const publish: CommandSpec = {
  does: "operation",
  name: "release publish",
  summary: "publish a version of the app in a channel",
  notes: ["A company's apps are updated from its channel, stable unless company change says so."],
  example: 'release publish --version 2.1.0 --notes "Faster lists" --channel stable',
  changes: true,
  options: [
    VERSION,
    { flags: "--notes <notes>", description: "what is new", isRequired: true, parse: someText },
    { flags: "--channel <channel>", description: "the channel", isRequired: true },
    { flags: "--required", description: "an app must not go on without it" },
  ],
}

const seal: CommandSpec = {
  does: "operation",
  name: "release seal",
  summary: "say what the protected core of a version is known by",
  example: "release seal --version 2.1.0 --tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904",
  changes: true,
  options: [
    VERSION,
    { flags: "--tree <hash>", description: "the hash of its tree", isRequired: true },
  ],
}

const approve: CommandSpec = {
  does: "operation",
  name: "connect approve",
  summary: "connect an app that showed a code, as an owner of the company",
  notes: [
    "The app gets a key of that owner's, for its account, check-in and updates alone.",
    "A code stands for ten minutes.",
  ],
  example: "connect approve ABCD-EFGH-JKMN-PQRS --company acme --person per_4Zb0x7",
  changes: true,
  arguments: [{ name: "CODE", description: "the code that the app shows", field: "code" }],
  options: [
    COMPANY,
    { flags: "--person <person>", description: "the owner, by id", isRequired: true },
  ],
}

const list: CommandSpec = {
  does: "operation",
  name: "app list",
  summary: "list a company's installed apps and how their updates stand",
  example: "app list --company acme",
  options: [COMPANY],
}

/** Commands for installed apps. */
export const CONNECTION_COMMANDS: readonly CommandSpec[] = [
  joinAffiliate,
  publish,
  seal,
  approve,
  list,
]
