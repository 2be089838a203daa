/** Reading settings, and the errors and warnings about them. */
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

/** Providers that are simulated unless configured. Boxes are simulated only if that is set. */
const ALL = PROGRAM.providers.filter((one) => one.isLocal !== true).map(({ name }) => name)
const byIndex = (a: string, b: string) => ALL.indexOf(a) - ALL.indexOf(b)

/** Boxes, and publishing, which follows the same setting. */
const OF_MACHINE = ["boxhost", "publish"]
const NAMES = ALL.filter((name) => !OF_MACHINE.includes(name))

describe("the simulated providers", () => {
  it("are all of them by default", () => {
    expect(readConfig({}).simulatedProviders).toEqual({ names: NAMES, takesRealMoney: false })
  })

  it("are rejected with real payments, unless LEDGER_SIMULATED names them", () => {
    const others = NAMES.filter((name) => name !== "cards")
    expect(others).toEqual(expect.arrayContaining(["carrier", "mailer"]))
    expect(() => readConfig(STRIPE)).toThrow(
      "CARDS_STRIPE_KEY takes real money, but these providers are simulated: " +
        `${others.join(", ")}. Configure them, or set LEDGER_SIMULATED=${others.join(",")} to allow it.`,
    )
    const expected = { names: others, takesRealMoney: true }
    for (const meant of ["all", others.join(","), `${others.toReversed().join(" , ")},cards`]) {
      expect(readConfig({ ...STRIPE, LEDGER_SIMULATED: meant }).simulatedProviders).toEqual(
        expected,
      )
    }
    for (const meant of others) {
      const unnamed = others.filter((name) => name !== meant).join(", ")
      expect(() => readConfig({ ...STRIPE, LEDGER_SIMULATED: meant })).toThrow(
        `takes real money, but these providers are simulated: ${unnamed}, which LEDGER_SIMULATED does ` +
          `not name. Configure them, or set LEDGER_SIMULATED=${others.join(",")} to allow it.`,
      )
    }
  })

  it("must be known names in LEDGER_SIMULATED", () => {
    expect(() => readConfig({ LEDGER_SIMULATED: "carier" })).toThrow(
      `LEDGER_SIMULATED must be all, or a comma-separated list of ${ALL.join(", ")}.`,
    )
  })

  it("include boxes and publishing if BOX_HOST is simulator", () => {
    const { simulatedProviders: simulated } = readConfig({ BOX_HOST: "simulator" })
    expect(simulated.names).toEqual([...NAMES, ...OF_MACHINE].toSorted(byIndex))
  })

  it("can be combined with a real provider that takes no money", () => {
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
      "LEDGER_CLOCK cannot be test while TEXTS_KEY is set.",
    ])
  })
})

describe("an unknown setting", () => {
  const known = new Set(["LEDGER_DATA_DIR", "BASE_URL", "PORT"])
  const warningsFor = (name: string) => unknownSettingWarnings({ [name]: "x" }, known)

  it.for([
    ["LEDGER_DATADIR", "did you mean LEDGER_DATA_DIR?"],
    ["BASE_ULR", "did you mean BASE_URL?"],
    ["BASEURL", "did you mean BASE_URL?"],
    ["CARRIER_URL", "company-ledger config lists the settings"],
    ["SMTP_HOST", "company-ledger config lists the settings"],
  ] as const)("is named in a warning: %s", ([name, meant]) => {
    expect(warningsFor(name)).toEqual([`Unknown setting ${name}: ${meant}`])
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
  ])("is not reported if it may be another program's: %s", (name) => {
    expect(warningsFor(name)).toEqual([])
  })

  it("is a warning, not an error, and shows no value", () => {
    const { warnings } = readConfig({ LEDGER_MASTERKEY: "secret" })
    expect(warnings).toEqual(["Unknown setting LEDGER_MASTERKEY: did you mean LEDGER_MASTER_KEY?"])
  })
})

describe("settings", () => {
  it("are unset if they are blank", () => {
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
  ])("read %s of DATABASE_URL as the driver does", (given, taken) => {
    const url = "postgres://a:b@db.test/ledger"
    expect(readConfig({ DATABASE_URL: `${url}${given}` }).databaseUrl).toBe(`${url}${taken}`)
  })
})

const EXAMPLE = readFileSync(new URL("../../.env.example", import.meta.url), "utf8")

function settingsOf(form: RegExp): Record<string, string> {
  return Object.fromEntries(
    [...EXAMPLE.matchAll(form)].map(([, name = "", value = ""]) => [name, value]),
  )
}

describe("the example environment file", () => {
  it("names every setting, and no other", () => {
    const named = Object.keys(settingsOf(/^(?:# )?([A-Z_]+)=(.*)$/gm))
    expect(named.toSorted()).toEqual(
      listSettings({})
        .map(({ name }) => name)
        .toSorted(),
    )
  })

  it("sets only defaults", () => {
    const { settings: _read, ...example } = readConfig(settingsOf(/^([A-Z_]+)=(.*)$/gm))
    expect(readConfig({})).toMatchObject(example)
  })
})
