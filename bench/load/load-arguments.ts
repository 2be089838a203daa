/** Parses the arguments of `npm run load`. */
import { Command, CommanderError, InvalidArgumentError, Option } from "commander"
import type { Terminal } from "../../src/frame/operator/cli/terminal.ts"
import type { CallMix } from "./call-mix.ts"
import { DEFAULT_MIX, parseCallMix } from "./call-mix.ts"

const DONE = 0
const WRONG_USAGE = 2
const UNITS = { s: 1_000, m: 60_000, h: 3_600_000 }

export interface LoadArguments {
  readonly forMs: number
  readonly connections: number
  readonly companies: number
  /** Number of keys of each company. */
  readonly keys: number
  readonly mix: CallMix
  /** Path of the figures; null for the terminal only. */
  readonly json: string | null
}

/** Parses the arguments; returns an exit code if there is nothing to do. */
export function parseLoadArguments(
  words: readonly string[],
  terminal: Terminal,
): LoadArguments | number {
  const program = new Command("npm run load --")
    .description(
      "Calls a running server as its callers would, then lets it audit itself. The server is the one " +
        "of the data folder (LEDGER_DATA_DIR, default ./data); it gets companies of its own, with " +
        "keys, for each run. Start it with RATE_LIMITS=off, or they are what is measured.",
    )
    .addOption(
      new Option("--for <time>", "how long, such as 5m").argParser(duration).default(30_000, "30s"),
    )
    .option("--connections <count>", "callers at a time", count(1, 4_096), 64)
    .option("--companies <count>", "companies that they are of", count(1, 1_000), 1)
    .option("--keys <count>", "API keys that each company has", count(1, 500), 20)
    .addOption(
      new Option("--mix <parts>", "what they ask for")
        .argParser(mixOf)
        .default(parseCallMix(DEFAULT_MIX), DEFAULT_MIX),
    )
    .option("--json <file>", "write the figures to this file as well")
    .addHelpText(
      "after",
      `\nA mix is such as ${DEFAULT_MIX} (the usual one): texts to fresh recipients, each with\n` +
        "an Idempotency-Key; reads; texts that a limit refuses; texts said again under their key.\n",
    )
    .exitOverride()
    .configureOutput({ writeOut: terminal.out, writeErr: terminal.err })
  try {
    program.parse([...words], { from: "user" })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    return error.exitCode === 0 ? DONE : WRONG_USAGE
  }
  const options = program.opts<{
    readonly for: number
    readonly connections: number
    readonly companies: number
    readonly keys: number
    readonly mix: CallMix
    readonly json?: string
  }>()
  const { for: forMs, json = null, ...others } = options
  return { ...others, forMs, json }
}

function duration(text: string): number {
  const [, amount, unit] = /^(\d{1,6})([smh])$/.exec(text) ?? []
  const ms = Number(amount) * UNITS[unit as keyof typeof UNITS]
  if (!(ms > 0)) throw new InvalidArgumentError("It must be a time such as 30s, 5m or 1h.")
  return ms
}

function count(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN
    if (value >= least && value <= most) return value
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`)
  }
}

function mixOf(text: string): CallMix {
  try {
    return parseCallMix(text)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new InvalidArgumentError(`${error.message}.`)
  }
}
