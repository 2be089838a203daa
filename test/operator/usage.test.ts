import { describe, expect, it } from "vitest"
import { fakeHost, run, wordsOf } from "./fake-host.ts"

const KEY = "key create --company acme"
const LIMIT = "limit set --company acme --dollars 5"

/** Words that no command has a meaning for, and the reason that is given. */
const mistakes: readonly (readonly [string, RegExp])[] = [
  ["", /name a command/],
  ["company", /name a command/],
  ["nonsense", /unknown command 'nonsense'/],
  ["company nonsense", /unknown command 'nonsense'/],
  ["company list --nonsense", /unknown option '--nonsense'/],
  ["company list extra", /too many arguments/],
  ["company create", /missing required argument 'NAME'/],
  ['company create ""', /must not be empty/],
  ...["0", "-1", '""', "foo", "1.5", "65", "1e1"].map((count): [string, RegExp] => [
    `start --processes ${count}`,
    /Write a number from 1 to 64, or auto/,
  ]),
  ["company create acme --plan 30", /Allowed choices are payg, 29, 79, 197, 329/],
  ["company create acme --funds lots", /Write dollars such as 12.50/],
  ["company create acme --funds -1", /cannot be below zero/],
  ["company create acme --funds 0.0000001", /at most six decimals/],
  ["person add --company acme --name A --email a@b.c --role king", /Allowed choices/],
  ["person add --name A --email a@b.c --role user", /required option '--company <company>'/],
  ["key pause key_1 --as", /argument missing/],
  ['key pause key_1 --as ""', /must not be empty/],
  [`${KEY} --all-operations`, /exactly one/],
  [`${KEY} --person per_1 --app --all-operations`, /exactly one/],
  [`${KEY} --app`, /--operation, or give --all-operations/],
  [`${KEY} --app --all-operations --operation phone.messages.send`, /or give --all-operations/],
  [`${KEY} --app --all-operations --add-funds-per-month 5`, /go together/],
  [`${LIMIT} --class ai`, /required option '--period <period>'/],
  [`${LIMIT} --period week`, /needs --class/],
  [`${LIMIT} --class ai --period day`, /only a key's is for a day/],
  [`${LIMIT} --class ai --period day --person per_1`, /only a key's is for a day/],
  [`${LIMIT} --class ai --period week --key key_1`, /leave --class out/],
  [`${LIMIT} --class ai --period week --key key_1 --person per_1`, /not for both/],
  [`${LIMIT} --class ai --period week --leave-keys-out`, /--leave-keys-out is for/],
  [`${LIMIT} --period day --key key_1 --leave-keys-out`, /--leave-keys-out is for/],
  [`${LIMIT} --class ai --period week --remind 1 x`, /Write dollars/],
  ["limit remove --company acme", /needs --class/],
  ["limit remove --company acme --key key_1 --class ai", /leave --class out/],
  ["funds add --company acme", /required option '--dollars <dollars>'/],
  ["charge --company acme", /a charge needs --class, --dollars, --item/],
  ["charge give-back chg_1", /say why, with --reason/],
  ["funds correct --company acme --dollars 5", /say why, with --reason/],
  ["funds notice --company acme", /say the sum with --below, or --off/],
  ["funds notice --company acme --below 5 --off", /--below and --off exclude one another/],
  ["funds correct --company acme --dollars 0 --reason x", /not 0/],
  ["price set nothing --dollars 1", /Allowed choices are box_minute_small/],
  ["calls list --company acme --day 2026-02-30", /Write a day/],
  ["company change acme", /say what to change/],
  ["company change acme --prepaid-only maybe", /Allowed choices are on, off/],
  ["key change key_1", /say what to change/],
  ["key change key_1 --operation phone.messages.send --all-operations", /not both/],
  ["charge list --company acme --month November", /Write a month/],
  ["charge list", /required option '--company <company>'/],
  // A misspelt option is named itself, and not what is missing by it.
  ["limit list --compny acme", /unknown option '--compny'\s+\(Did you mean --company\?\)/],
  ["charge --compny acme --class ai", /unknown option '--compny'\s+\(Did you mean --company\?\)/],
  [`${LIMIT} --class ai --perod week`, /unknown option '--perod'\s+\(Did you mean --period\?\)/],
  ["person add --nam Ada", /unknown option '--nam'\s+\(Did you mean --name\?\)/],
  [
    "export billing --company acme --month 2026-11 --fromat csv --out a",
    /unknown option '--fromat'\s+\(Did you mean --format\?\)/,
  ],
  ["company lst", /unknown command 'lst'\s+\(Did you mean list\?\)/],
  ["message list --company acme --since soon", /Write a time/],
  ["carrier deliver msg_1", /required option '--status <status>'/],
  ["carrier deliver msg_1 --status lost", /Allowed choices are delivered, failed/],
  ["carrier deliver msg_1 --status delivered --code 1", /--code is for --status failed/],
  ["carrier deliver msg_1 --status failed --code x", /number in digits/],
  ["stand-in set nobody ok", /Allowed choices are carrier/],
  ["stand-in set carrier explode", /carrier knows ok/],
  ["stand-in set carrier ok --times 0", /whole number from 1/],
  ["clock set tomorrow", /Write a time/],
  ["clock set 2026-02-30", /Write a time/],
  ["clock advance 15", /Write a duration/],
  ["clock advance 1.5h", /Write a duration/],
  ["work retry x", /whole number from 1/],
  ["audit show", /missing required argument 'STREAM'/],
  ["audit show s --since soon", /Write a time/],
  ["export billing --company acme --month 2026-13 --format csv --out f", /Write a month/],
  ["export billing --company acme --month 2026-11 --format xml --out f", /Allowed choices are csv/],
  ["export billing --company acme --month 2026-11 --format csv", /required option '--out <file>'/],
]

describe("wrong usage", () => {
  it.each(mistakes)("exits 2 with the reason on standard error: %s", async (line, reason) => {
    const host = fakeHost([])
    const ran = await run(wordsOf(line), host)
    expect(ran).toMatchObject({ code: 2, stdout: "" })
    const isUnfinished = reason.source === "name a command"
    expect(ran.stderr).toMatch(isUnfinished ? /^Usage: company-ledger/ : reason)
    expect(host.deeds).toEqual([])
  })

  it.each(mistakes.filter(([line]) => !line.endsWith("--as")))(
    "is one JSON document with --json: %s",
    async (line, reason) => {
      const ran = await run([...wordsOf(line), "--json"], fakeHost([]))
      expect(ran.code).toBe(2)
      const document = JSON.parse(ran.stdout) as Record<string, unknown>
      expect(document["error"]).toBe("usage")
      // Before a command nobody knows --json, and that is then the reason.
      const isEarly = wordsOf(line).length < 2
      expect(document["message"]).toMatch(isEarly ? /unknown (option|command)/ : reason)
    },
  )

  it("refuses to write a file and a document to the same place", async () => {
    const line = "export billing --company acme --month 2026-11 --format csv --out - --json"
    const ran = await run(wordsOf(line), fakeHost([]))
    expect(ran.code).toBe(2)
    expect(JSON.parse(ran.stdout)).toMatchObject({ message: expect.stringMatching(/both write/) })
  })
})
