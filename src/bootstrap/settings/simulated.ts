/** What of the world outside is simulated, and what cannot stand beside what is real. */
import { z } from "zod"
import type { Provider, SimulatedProviders } from "../../frame/provider.ts"
import type { Environment } from "../../frame/settings.ts"
import { relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"

/** For tests alone: beside a real provider they would fake its time, or let anybody flood it. */
const TEST_ONLY_VALUES = { LEDGER_CLOCK: "test", RATE_LIMITS: "off" } as const

const isLocalProvider = ({ isLocal = false }: Provider, given: Environment): boolean =>
  typeof isLocal === "function" ? isLocal(given) : isLocal

const splitList = (text: string): readonly string[] => text.split(",").map((part) => part.trim())

const chosenBy = ({ chosenBy: choose }: Provider, given: Environment): string | null =>
  choose?.(given) ?? null

/** The setting that says which simulators may stand beside real money: their names, or `all`. */
export function simulatedSetting(providers: readonly Provider[]) {
  const names = providers.filter(({ isLocal }) => isLocal !== true).map(({ name }) => name)
  const words = `must be all, or names of ${names.join(", ")} with commas between them`
  const isOne = (name: string) => name === "all" || names.includes(name)
  return z.string().refine((text) => splitList(text).every(isOne), words)
}

/** What is simulated. */
export function simulatedProviders(
  providers: readonly Provider[],
  given: Environment,
): SimulatedProviders {
  const isReal = (one: Provider) => chosenBy(one, given) !== null
  return {
    names: providers
      .filter((one) => !isLocalProvider(one, given) && !isReal(one))
      .map(({ name }) => name),
    takesRealMoney: providers.some((one) => one.takesMoney === true && isReal(one)),
  }
}

/** What cannot be beside a real provider, a sentence each. */
export function realProviderConflicts(
  providers: readonly Provider[],
  given: Environment,
): readonly string[] {
  const real = providers.flatMap((one) => chosenBy(one, given) ?? [])
  const forTests = real.flatMap((setting) =>
    Object.entries(TEST_ONLY_VALUES)
      .filter(([name, value]) => given[name] === value)
      .map(([name, value]) => `${name} cannot be ${value} where ${setting} is set.`),
  )
  return [...forTests, ...realMoneyConflicts(providers, given)]
}

/** Who takes real money for what is only pretended must have said so. */
function realMoneyConflicts(providers: readonly Provider[], given: Environment): readonly string[] {
  const payments = providers.find((one) => one.takesMoney === true && chosenBy(one, given) !== null)
  if (payments === undefined) return []
  const meant = splitList(given["LEDGER_SIMULATED"] ?? "")
  const { names } = simulatedProviders(providers, given)
  const unsaid = meant.includes("all") ? [] : names.filter((name) => !meant.includes(name))
  if (unsaid.length === 0) return []
  const others = unsaid.length < names.length ? ", which LEDGER_SIMULATED does not name" : ""
  return [
    `${chosenBy(payments, given)} takes real money, and what it pays for is simulated: ` +
      `${unsaid.join(", ")}${others}. Set LEDGER_SIMULATED=${names.join(",")} where that is meant.`,
  ]
}

/** The program's file: a clone has no command of its name before somebody makes one. */
const PROGRAM_FILE = fileURLToPath(new URL("../../../bin/ledger.mjs", import.meta.url))

/**
 * What begins a line that calls this program on a data folder, from the shell that started it or, where
 * the folder is not the default, from any.
 *
 * @param folder where the shell stands
 */
export function programCommandLine(dataDir: string, folder = process.cwd()): string {
  if (dataDir !== resolve(folder, "data")) {
    return `LEDGER_DATA_DIR=${shellQuote(dataDir)} ${shellQuote(PROGRAM_FILE)}`
  }
  const near = relative(folder, PROGRAM_FILE)
  return shellQuote(near.startsWith("..") ? PROGRAM_FILE : near)
}

/** A word as a shell takes it. */
function shellQuote(word: string): string {
  return /^[\w/.@:+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
