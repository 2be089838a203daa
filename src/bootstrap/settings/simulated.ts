/** Determines which providers are simulated, and which settings conflict with real providers. */
import { z } from "zod"
import type { Provider, SimulatedProviders } from "../../frame/provider.ts"
import type { Environment } from "../../frame/settings.ts"
import { relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"

/** Values for tests only: with a real provider they would fake its time, or allow any request rate. */
const TEST_ONLY_VALUES = { LEDGER_CLOCK: "test", RATE_LIMITS: "off" } as const

const isLocalProvider = ({ isLocal = false }: Provider, given: Environment): boolean =>
  typeof isLocal === "function" ? isLocal(given) : isLocal

const splitList = (text: string): readonly string[] => text.split(",").map((part) => part.trim())

const chosenBy = ({ chosenBy: choose }: Provider, given: Environment): string | null =>
  choose?.(given) ?? null

/** The setting that allows simulators while real money is taken: their names, or `all`. */
export function simulatedSetting(providers: readonly Provider[]) {
  const names = providers.filter(({ isLocal }) => isLocal !== true).map(({ name }) => name)
  const words = `must be all, or a comma-separated list of ${names.join(", ")}`
  const isOne = (name: string) => name === "all" || names.includes(name)
  return z.string().refine((text) => splitList(text).every(isOne), words)
}

/** Returns the simulated providers. */
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

/** Returns the conflicts with real providers, one sentence each. */
export function realProviderConflicts(
  providers: readonly Provider[],
  given: Environment,
): readonly string[] {
  const real = providers.flatMap((one) => chosenBy(one, given) ?? [])
  const forTests = real.flatMap((setting) =>
    Object.entries(TEST_ONLY_VALUES)
      .filter(([name, value]) => given[name] === value)
      .map(([name, value]) => `${name} cannot be ${value} while ${setting} is set.`),
  )
  return [...forTests, ...realMoneyConflicts(providers, given)]
}

/** Taking real money for simulated services must be confirmed by LEDGER_SIMULATED. */
function realMoneyConflicts(providers: readonly Provider[], given: Environment): readonly string[] {
  const payments = providers.find((one) => one.takesMoney === true && chosenBy(one, given) !== null)
  if (payments === undefined) return []
  const confirmed = splitList(given["LEDGER_SIMULATED"] ?? "")
  const { names } = simulatedProviders(providers, given)
  const missing = confirmed.includes("all") ? [] : names.filter((name) => !confirmed.includes(name))
  if (missing.length === 0) return []
  const others = missing.length < names.length ? ", which LEDGER_SIMULATED does not name" : ""
  return [
    `${chosenBy(payments, given)} takes real money, but these providers are simulated: ` +
      `${missing.join(", ")}${others}. Configure them, or set LEDGER_SIMULATED=${names.join(",")} to allow it.`,
  ]
}

/** The program's file: a fresh clone has no `company-ledger` command. */
const PROGRAM_FILE = fileURLToPath(new URL("../../../bin/ledger.mjs", import.meta.url))

/**
 * Returns the command that runs this program on a data folder: relative to the shell's folder for the default data
 * folder, otherwise usable from any folder.
 *
 * @param folder the shell's current folder
 */
export function programCommandLine(dataDir: string, folder = process.cwd()): string {
  if (dataDir !== resolve(folder, "data")) {
    return `LEDGER_DATA_DIR=${shellQuote(dataDir)} ${shellQuote(PROGRAM_FILE)}`
  }
  const near = relative(folder, PROGRAM_FILE)
  return shellQuote(near.startsWith("..") ? PROGRAM_FILE : near)
}

function shellQuote(word: string): string {
  return /^[\w/.@:+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
