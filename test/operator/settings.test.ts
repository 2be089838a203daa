/** How settings are read, and which are refused or warned of. */
import { describe, expect, it } from "vitest"
import { readConfig, listSettings } from "../../src/bootstrap/settings/config.ts"
import {
  realProviderConflicts,
  simulatedProviders,
} from "../../src/bootstrap/settings/simulated.ts"
import { unknownSettingWarnings } from "../../src/bootstrap/settings/parse-config.ts"
import type { Provider } from "../../src/frame/provider.ts"
import { PROGRAM } from "../../src/slices.ts"
import { readFileSync } from "node:fs"

const STRIPE = { CARDS_STRIPE_KEY: "sk_live_x" }

/** Those that can be simulated: boxes only where that is chosen. */
const ALL = PROGRAM.providers.filter((one) => one.isLocal !== true).map(({ name }) => name)
const byPlace = (a: string, b: string) => ALL.indexOf(a) - ALL.indexOf(b)

/** Boxes, and what is published in the same way. */
const OF_MACHINE = ["boxhost", "publish"]
const NAMES = ALL.filter((name) => !OF_MACHINE.includes(name))

describe("what is simulated", () => {
  it("is everything where nothing is chosen", () => {
    expect(readConfig({}).simulatedProviders).toEqual({ names: NAMES, takesRealMoney: false })
  })

  it("is refused beside real money, unless it is said to be meant", () => {
    const others = NAMES.filter((name) => name !== "cards")
    expect(others).toEqual(expect.arrayContaining(["carrier", "mailer"]))
    expect(() => readConfig(STRIPE)).toThrow(
      "CARDS_STRIPE_KEY takes real money, and what it pays for is simulated: " +
        `${others.join(", ")}. Set LEDGER_SIMULATED=${others.join(",")} where that is meant.`,
    )
    const wanted = { names: others, takesRealMoney: true }
    for (const meant of ["all", others.join(","), `${others.toReversed().join(" , ")},cards`]) {
      expect(readConfig({ ...STRIPE, LEDGER_SIMULATED: meant }).simulatedProviders).toEqual(wanted)
    }
    for (const meant of others) {
      const unsaid = others.filter((name) => name !== meant).join(", ")
      expect(() => readConfig({ ...STRIPE, LEDGER_SIMULATED: meant })).toThrow(
        `takes real money, and what it pays for is simulated: ${unsaid}, which LEDGER_SIMULATED does ` +
          `not name. Set LEDGER_SIMULATED=${others.join(",")} where that is meant.`,
      )
    }
  })

  it("can be said of what there is alone", () => {
    expect(() => readConfig({ LEDGER_SIMULATED: "carier" })).toThrow(
      `LEDGER_SIMULATED must be all, or names of ${ALL.join(", ")} with commas between them.`,
    )
  })

  it("is also what is of the machine, where its simulator is chosen", () => {
    const { simulatedProviders: simulated } = readConfig({ BOX_HOST: "simulator" })
    expect(simulated.names).toEqual([...NAMES, ...OF_MACHINE].toSorted(byPlace))
  })

  it("may stand beside what is real and takes no money", () => {
    const open = async () => ({})
    const from = import.meta.url
    const providers: readonly Provider[] = [
      {
        from,
        name: "texts",
        open,
        chosenBy: (given) => (given["TEXTS_KEY"] ? "TEXTS_KEY" : null),
      },
      { from, name: "mails", open },
    ]
    const given = { TEXTS_KEY: "x", LEDGER_CLOCK: "test" }
    expect(simulatedProviders(providers, given)).toEqual({
      names: ["mails"],
      takesRealMoney: false,
    })
    expect(realProviderConflicts(providers, given)).toEqual([
      "LEDGER_CLOCK cannot be test where TEXTS_KEY is set.",
    ])
  })
})

describe("a setting that nobody reads", () => {
  const known = new Set(["LEDGER_DATA_DIR", "BASE_URL", "PORT"])
  const said = (name: string) => unknownSettingWarnings({ [name]: "x" }, known)

  it.for([
    ["LEDGER_DATADIR", "did you mean LEDGER_DATA_DIR?"],
    ["BASE_ULR", "did you mean BASE_URL?"],
    ["BASEURL", "did you mean BASE_URL?"],
    ["CARRIER_URL", "company-ledger config lists the settings"],
    ["SMTP_HOST", "company-ledger config lists the settings"],
  ] as const)("is named: %s", ([name, meant]) => {
    expect(said(name)).toEqual([`Unknown setting ${name}: ${meant}`])
  })

  it.for([
    "PATH",
    "POST",
    "BASE",
    "DATABASE",
    "HOME",
    "npm_config_cache",
    "BASE_URL",
    "LEDGER_SEED",
  ])("is not taken for one: %s", (name) => {
    expect(said(name)).toEqual([])
  })

  it("is a warning, never a fault, and shows no value", () => {
    const { warnings } = readConfig({ LEDGER_MASTERKEY: "secret" })
    expect(warnings).toEqual(["Unknown setting LEDGER_MASTERKEY: did you mean LEDGER_MASTER_KEY?"])
  })
})

describe("settings", () => {
  it("are unset where they are blank", () => {
    const { port, logSampleRate: logRequests } = readConfig({})
    expect(readConfig({ PORT: " ", LOG_REQUESTS: "\t" })).toMatchObject({
      port,
      logSampleRate: logRequests,
    })
  })

  it.each([
    ["?sslmode=require", "?sslmode=verify-full"],
    ["?a=b&sslmode=prefer&c=d", "?a=b&sslmode=verify-full&c=d"],
    ["?sslmode=disable", "?sslmode=disable"],
    ["?sslmode=require&uselibpqcompat=true", "?sslmode=require&uselibpqcompat=true"],
  ])("take %s of a database for what the driver makes of it", (given, taken) => {
    const url = "postgres://a:b@db.test/ledger"
    expect(readConfig({ DATABASE_URL: `${url}${given}` }).databaseUrl).toBe(`${url}${taken}`)
  })
})

const EXAMPLE = readFileSync(new URL("../../.env.example", import.meta.url), "utf8")

/** The settings of the example: those in force, and those behind a `#` too. */
function settingsOf(form: RegExp): Record<string, string> {
  return Object.fromEntries(
    [...EXAMPLE.matchAll(form)].map(([, name = "", value = ""]) => [name, value]),
  )
}

describe("the example of an environment", () => {
  it("names every setting that there is, and no other", () => {
    const named = Object.keys(settingsOf(/^(?:# )?([A-Z_]+)=(.*)$/gm))
    expect(named.toSorted()).toEqual(
      listSettings({})
        .map(({ name }) => name)
        .toSorted(),
    )
  })

  it("sets what is the default anyway", () => {
    const { settings: _read, ...example } = readConfig(settingsOf(/^([A-Z_]+)=(.*)$/gm))
    expect(readConfig({})).toMatchObject(example)
  })
})
