/** Parses words into a command, with a parser that is built from the catalogue. */
import { Argument, Command, CommanderError, Option } from "commander"
import type {
  ArgumentSpec,
  Catalogue,
  CommandSpec,
  OperationInput,
  OptionSpec,
} from "./command-spec.ts"
import { RELEASE, VALUE_PARSERS } from "./command-spec.ts"

/** Follows each usage error. */
export const HELP_HINT = "(--help says more)"

/** The program's name, as installed. */
export const PROGRAM_NAME = "company-ledger"

export interface Invocation {
  readonly command: CommandSpec
  readonly input: OperationInput
  readonly json: boolean
  /** The actor, if given. */
  readonly actor: string | null
  readonly reason: string | null
  /** Whether `--yes` confirms an irreversible command. */
  readonly isConfirmed: boolean
  /** Path of the output file; null for commands without one. */
  readonly out: string | null
}

/** Result of parsing: a command, or help or an error to print. */
export type ParsedCommandLine =
  | { readonly kind: "command"; readonly invocation: Invocation }
  | { readonly kind: "help"; readonly text: string }
  /** Wrong usage: `text` has a hint for people, `reason` is the message alone. */
  | { readonly kind: "usage"; readonly text: string; readonly reason: string }

/**
 * Parses the words after the program's name.
 *
 * @param columns line width of the help text, characters
 */
export function parseCommandLine(
  catalogue: Catalogue,
  words: readonly string[],
  columns: number,
): ParsedCommandLine {
  let invocation: Invocation | undefined
  const printed = { out: "", err: "" }
  const program = buildCommandParser(
    catalogue,
    columns,
    printed,
    (parsed) => (invocation = parsed),
    words,
  )
  try {
    program.parse([...words], { from: "user" })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode === 0) return { kind: "help", text: printed.out }
    const reason = error.message.replace(/^error: /, "").replaceAll(/\s*\n\s*/g, " ")
    // An incomplete command prints the help text of its topic.
    const isUnfinished = error.code === "commander.help"
    return {
      kind: "usage",
      text: printed.err,
      reason: isUnfinished ? "name a command; --help lists them" : reason,
    }
  }
  if (invocation === undefined) throw new Error("no command took the words")
  return { kind: "command", invocation }
}

/**
 * Builds a parser for a catalogue's commands.
 *
 * @param printed receives output instead of the terminal
 * @param words the words to parse: topics they do not name are built without their commands
 */
export function buildCommandParser(
  { commands, topics }: Catalogue,
  columns: number,
  printed: { out: string; err: string },
  take: (given: Invocation) => void,
  words?: readonly string[],
): Command {
  const program = new Command(PROGRAM_NAME)
    .description("Operates the ledger: keys, limits, funds, audits and exports.")
    .version(RELEASE, "-V, --version", "print the release")
    // `charge` is a command and the topic of `charge refund`, so options belong to the word before them.
    .enablePositionalOptions()
    .exitOverride()
    .showHelpAfterError(HELP_HINT)
    .configureHelp({ helpWidth: columns })
    .configureOutput({
      writeOut: (text) => (printed.out += text),
      writeErr: (text) => (printed.err += text),
    })
  for (const command of commands) {
    const isTopic = commands.some(({ name }) => name.startsWith(`${command.name} `))
    const [topic = "", ...others] = command.name.split(" ")
    const about = topics[topic] ?? null
    const isNamed = words?.includes(topic) ?? true
    if (isNamed || others.length === 0)
      addCommand(program, { ...command, isTopic, about }, columns, take)
    else topicOf(program, topic, about)
  }
  return program
}

interface ListedCommand extends CommandSpec {
  /** Whether its name is also the topic of other commands. */
  readonly isTopic: boolean
  /** Description of its topic; null if it has none. */
  readonly about: string | null
}

function addCommand(
  program: Command,
  spec: ListedCommand,
  columns: number,
  take: (given: Invocation) => void,
): void {
  const words = spec.name.split(" ")
  const parent = words.length === 1 ? program : topicOf(program, words[0] ?? "", spec.about)
  const command = parent.command(words.at(-1) ?? "").description(`${spec.summary}.`)
  command.enablePositionalOptions()
  for (const argument of argumentsOf(spec)) command.addArgument(argumentOf(argument))
  for (const option of optionsOf(spec)) command.addOption(optionOf(option))
  const help = Object.assign(command.createHelp(), { minWidthToWrap: 0 })
  const notes = spec.notes.map((note) => `${help.boxWrap(note, columns)}\n`).join("")
  command.addHelpText("after", `\n${notes}Example:\n  ${PROGRAM_NAME} ${spec.example}`)
  command.action(() => {
    const given = invocationOf(spec, command)
    const isReasonMissing = spec.needsReason === true && given.reason === null
    const fault = missingOf(spec, given) ?? (isReasonMissing ? "give a reason with --reason" : null)
    if (fault !== null) command.error(`error: ${fault}`)
    take(given)
  })
}

/**
 * Returns which required options are missing; null if none. Checked last, so that a misspelt option is reported
 * by its own name.
 */
function missingOf(spec: ListedCommand, { input, out }: Invocation): string | null {
  const { isTopic, name } = spec
  const missing = optionsOf(spec).filter((option) => {
    const given = option === OUT_OPTION ? (out ?? undefined) : input[fieldOf(option)]
    return option.isRequired === true && given === undefined
  })
  const [first] = missing
  if (first === undefined) return null
  if (!isTopic) return `required option '${first.flags}' not specified`
  return `a ${name} needs ${missing.map(({ flags }) => flags.split(" ")[0]).join(", ")}`
}

/** Returns the command-line name of an input field: `--operation`, or `KEY_ID` for an argument. */
export function commandWordOf(spec: CommandSpec, field: string): string {
  const argument = spec.arguments.find((one) => one.field === field)
  const option = spec.options.find((one) => fieldOf(one) === field)
  return argument?.name ?? option?.flags.split(" ")[0] ?? field
}

const fieldOf = ({ field, flags }: OptionSpec): string => field ?? new Option(flags).attributeName()

function topicOf(program: Command, name: string, about: string | null): Command {
  const found = program.commands.find((command) => command.name() === name)
  return found ?? program.command(name).description(about ?? name)
}

const JSON_OPTION: OptionSpec = {
  flags: "--json",
  description: "print one JSON document on standard output, and nothing else there",
}

const CHANGE_OPTIONS: readonly OptionSpec[] = [
  {
    flags: "--as <actor>",
    description: "who makes the change; default the system user",
    form: "actor",
  },
  { flags: "--reason <reason>", description: "why, for auditors", form: "reason" },
]

const YES_OPTION: OptionSpec = {
  flags: "--yes",
  description: "confirm without a prompt",
}

const OUT_OPTION: OptionSpec = {
  flags: "--out <file>",
  description: "where to write; - for standard output",
  isRequired: true,
  form: "text",
}

const SECRET_FILE: ArgumentSpec = {
  name: "FILE",
  description: "where to write; - for standard output",
  field: "out",
  form: "text",
}

/** Returns the positional arguments of a command; the path of a secret file is the first. */
function argumentsOf(spec: CommandSpec): readonly ArgumentSpec[] {
  return spec.hasSecretFile === true ? [SECRET_FILE, ...spec.arguments] : spec.arguments
}

/** Returns the options of a command, its own before the common ones. */
function optionsOf(spec: CommandSpec): readonly OptionSpec[] {
  // These commands define `--json` and `--out` themselves or have none.
  if (["start", "bench", "completion"].includes(spec.does)) return spec.options
  return [
    ...spec.options,
    ...(spec.hasFile === true ? [OUT_OPTION] : []),
    ...(spec.irreversible === undefined ? [] : [YES_OPTION]),
    ...(spec.changes === true ? CHANGE_OPTIONS : []),
    JSON_OPTION,
  ]
}

function argumentOf(spec: ArgumentSpec): Argument {
  const { name, description, isOptional, isVariadic } = spec
  const shown = isVariadic === true ? `${name}...` : name
  return withParser(
    spec,
    new Argument(isOptional === true ? `[${shown}]` : `<${shown}>`, description),
  )
}

function optionOf(spec: OptionSpec): Option {
  const { flags, description, isRequired } = spec
  const needed = isRequired === true ? " (required)" : ""
  return withParser(spec, new Option(flags, `${description}${needed}`))
}

/** Parses values by their form, each value of a repeated option separately. */
function withParser<W extends Argument | Option>(
  { form, choices }: ArgumentSpec | OptionSpec,
  word: W,
): W {
  if (choices !== undefined) word.choices(choices)
  const parse: ((text: string) => unknown) | undefined = form && VALUE_PARSERS[form]
  if (parse === undefined) return word
  word.argParser<unknown>((text, before) =>
    word.variadic ? [...(Array.isArray(before) ? before : []), parse(text)] : parse(text),
  )
  return word
}

/** Collects the parsed values. Fields that were not given are left out. */
function invocationOf(spec: CommandSpec, command: Command): Invocation {
  const options = command.opts<Record<string, unknown>>()
  const input: Record<string, unknown> = {}
  for (const [index, { field }] of argumentsOf(spec).entries()) {
    const value: unknown = command.processedArgs[index]
    if (value !== undefined) input[field] = value
  }
  for (const option of spec.options) {
    const value = options[new Option(option.flags).attributeName()]
    if (value !== undefined) input[fieldOf(option)] = value
  }
  const { out: named, ...rest } = input
  const text = (name: string) => (typeof options[name] === "string" ? options[name] : null)
  const out = typeof named === "string" ? named : text("out")
  if (out === "-" && options["json"] === true) {
    command.error("error: --json and - as the file both write to standard output; choose one")
  }
  return {
    command: spec,
    input: rest,
    json: options["json"] === true,
    actor: spec.changes === true ? text("as") : null,
    reason: spec.changes === true ? text("reason") : null,
    isConfirmed: options["yes"] === true,
    out,
  }
}
