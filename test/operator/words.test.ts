import { describe, expect, it } from "vitest"
import { PROGRAM } from "../../src/slices.ts"
import { CATALOGUE, parseLine as parse } from "./fake-host.ts"

/** Command lines of audits, and the input that they become. */
const AUDIT_ROWS: readonly (readonly [string, object])[] = [
  ["audit show ledger-co_1", { stream: "ledger-co_1" }],
  [
    "audit show ledger-co_1 --type Charged --key key_1 --person per_1 --since 2026-11-01T00:00 " +
      "--unseal",
    {
      stream: "ledger-co_1",
      type: "Charged",
      key: "key_1",
      person: "per_1",
      since: "2026-11-01T00:00:00.000Z",
      unseal: true,
    },
  ],
  ["audit verify", {}],
  ["audit verify --company acme", { company: "acme" }],
  [`audit verify --head ${"A1".repeat(32)}`, { head: "a1".repeat(32) }],
  [
    "audit show ledger-co_1 --from 20 --limit 5 --until 2026-12-01",
    { stream: "ledger-co_1", from: 20, limit: 5, until: "2026-12-01T00:00:00.000Z" },
  ],
  [
    "audit streams --company acme --type Charged --request req_1 --after access-co_1 --limit 2",
    {
      company: "acme",
      type: "Charged",
      request: "req_1",
      after: "access-co_1",
      limit: 2,
    },
  ],
  ["audit head --company acme", { company: "acme" }],
  ["audit head", {}],
  ["audit export --company acme --to 1z --out -", { company: "acme", to: "1z" }],
  ["audit proof chg_1 --company acme --out -", { chargeId: "chg_1", company: "acme" }],
  ["audit check a.ndjson", { file: "a.ndjson" }],
  ["audit replay --company acme", { company: "acme" }],
  [
    `audit replay --rules v1.2 --file a.ndjson --public-key ${"A".repeat(43)}=`,
    { rules: "v1.2", file: "a.ndjson", publicKey: `${"A".repeat(43)}=` },
  ],
  [
    "refusals list --company acme --key key_1 --before 9 --limit 3",
    { company: "acme", key: "key_1", before: 9, limit: 3 },
  ],
  [
    "ask --company acme --key key_1 --item text --quantity 3 --at revision:4",
    { company: "acme", key: "key_1", item: "text", quantity: 3, at: "revision:4" },
  ],
]

/** Command lines of daily work, and the input that they become. */
const DAILY_ROWS: readonly (readonly [string, object])[] = [
  [
    "charge list --company acme --month 2026-11 --key key_1 --person per_1 --item text_segment " +
      "--resource msg_1 --before 9 --limit 3",
    {
      company: "acme",
      month: "2026-11",
      key: "key_1",
      person: "per_1",
      item: "text_segment",
      resource: "msg_1",
      before: 9,
      limit: 3,
    },
  ],
  [
    "charge days --company acme --month 2026-11 --class ai",
    { company: "acme", month: "2026-11", class: "ai" },
  ],
  ["charge show chg_1 --company acme", { chargeId: "chg_1", company: "acme" }],
  [
    "message list --company acme --since 2026-11-01T00:00 --before 2026-12-01 --limit 3",
    {
      company: "acme",
      since: "2026-11-01T00:00:00.000Z",
      before: "2026-12-01T00:00:00.000Z",
      limit: 3,
    },
  ],
  ["operation list", {}],
  [
    "key change key_1 --operation phone.messages.send team.people.read",
    { keyId: "key_1", operations: ["phone.messages.send", "team.people.read"] },
  ],
  ["key change key_1 --all-operations", { keyId: "key_1", allOperations: true }],
]

const COMMANDS = CATALOGUE.commands

function invocationOf(line: string) {
  const parsed = parse(line)
  if (parsed.kind !== "command") throw new Error(JSON.stringify(parsed))
  return parsed.invocation
}

/** Command lines of every form, and the input that they become. Each command's example is tested separately. */
const inputs: readonly (readonly [string, object])[] = [
  ["company create acme", { name: "acme", withNumber: true }],
  [
    'company create "Big Co" --no-number --plan 79 --pays card --funds 12.50 ' +
      "--owner-name Ada --owner-email ada@example.com",
    {
      name: "Big Co",
      withNumber: false,
      plan: "79",
      pays: "card",
      funds: "12.50",
      ownerName: "Ada",
      ownerEmail: "ada@example.com",
    },
  ],
  ...["show", "lock", "unlock", "delete", "restore"].map(
    (verb) => [`company ${verb} acme`, { company: "acme" }] as const,
  ),
  ["company list", {}],
  [
    "person add --company acme --name Ada --email ada@example.com --role user",
    { company: "acme", name: "Ada", email: "ada@example.com", role: "user" },
  ],
  [
    "person add --company acme --name Ada --email a@b.c --role user " +
      '--permission "Use phone" --permission "See billing"',
    {
      company: "acme",
      name: "Ada",
      email: "a@b.c",
      role: "user",
      permissions: ["Use phone", "See billing"],
    },
  ],
  [
    'person change per_1 --name Ada --email a@b.c --role admin --permission Team "Use phone"',
    {
      personId: "per_1",
      name: "Ada",
      email: "a@b.c",
      role: "admin",
      permissions: ["Team", "Use phone"],
    },
  ],
  ["person change per_1 --without-permissions", { personId: "per_1", withoutPermissions: true }],
  [
    'person app per_1 --grant phone.messages.send "Use phone" --deny sandbox.start --clear Team',
    {
      personId: "per_1",
      grant: ["phone.messages.send", "Use phone"],
      deny: ["sandbox.start"],
      clear: ["Team"],
    },
  ],
  ["person remove per_1", { personId: "per_1" }],
  [
    "person invite --company acme --email a@b.c --role user",
    { company: "acme", email: "a@b.c", role: "user" },
  ],
  ["person seen per_1 --in launcher", { personId: "per_1", in: "launcher" }],
  ["person list --company acme", { company: "acme" }],
  ["affiliate join --company acme", { company: "acme" }],
  [
    'release publish --version 2.1.0-rc.1 --notes "New: lists" --channel beta --required',
    { version: "2.1.0-rc.1", notes: "New: lists", channel: "beta", required: true },
  ],
  [
    "release seal --version 2.1.0 --tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    { version: "2.1.0", tree: "4b825dc642cb6eb9a060e54bf8d69288fbee4904" },
  ],
  [
    "connect approve ABCD-EFGH-JKMN-PQRS --company acme --person per_1",
    { code: "ABCD-EFGH-JKMN-PQRS", company: "acme", person: "per_1" },
  ],
  ["app list --company acme", { company: "acme" }],
  ["company change acme --channel beta", { company: "acme", channel: "beta" }],
  [
    "key create --company acme --person per_1 --operation phone.messages.send",
    { company: "acme", person: "per_1", operations: ["phone.messages.send"] },
  ],
  [
    "key create --company acme --app --all-operations --label front " +
      "--add-funds-per-purchase 10 --add-funds-per-month 100",
    {
      company: "acme",
      app: true,
      allOperations: true,
      label: "front",
      addFundsPerPurchase: "10",
      addFundsPerMonth: "100",
    },
  ],
  ["key pause key_1", { keyId: "key_1" }],
  ["key resume key_1", { keyId: "key_1" }],
  ["key delete key_1", { keyId: "key_1" }],
  ["key list --company acme", { company: "acme" }],
  [
    "limit set --company acme --class ai --period week --dollars 0",
    { company: "acme", class: "ai", period: "week", dollars: "0" },
  ],
  [
    "limit set --company acme --person per_1 --class general --period month --dollars 20 " +
      "--leave-keys-out --remind 10 15",
    {
      company: "acme",
      person: "per_1",
      class: "general",
      period: "month",
      dollars: "20",
      leaveKeysOut: true,
      reminders: ["10", "15"],
    },
  ],
  [
    "limit set --company acme --key key_1 --period day --dollars 1.000001",
    { company: "acme", key: "key_1", period: "day", dollars: "1.000001" },
  ],
  ["limit remove --company acme --class ai", { company: "acme", class: "ai" }],
  ["limit remove --company acme --key key_1", { company: "acme", key: "key_1" }],
  ["limit list --company acme", { company: "acme" }],
  ["funds add --company acme --dollars 25", { company: "acme", dollars: "25" }],
  [
    "funds add --company acme --dollars 25 --reference r-1",
    { company: "acme", dollars: "25", reference: "r-1" },
  ],
  [
    'funds correct --company acme --dollars -3 --reason "a chargeback"',
    { company: "acme", dollars: "-3" },
  ],
  ["funds notice --company acme --below 20", { company: "acme", below: "20" }],
  ["funds notice --company acme --off", { company: "acme", off: true }],
  [
    "charge --company acme --class ai --dollars 0.42 --item tokens --id run-1 --person per_1",
    {
      company: "acme",
      class: "ai",
      dollars: "0.42",
      item: "tokens",
      id: "run-1",
      person: "per_1",
    },
  ],
  ["charge refund chg_1 --reason why", { chargeId: "chg_1" }],
  [
    "charge refund chg_1 --company acme --dollars 0.1 --reason why",
    { chargeId: "chg_1", company: "acme", dollars: "0.1" },
  ],
  ["charge pending", {}],
  ["bill list --company acme", { company: "acme" }],
  ["calls list --company acme --day 2026-11-21", { company: "acme", day: "2026-11-21" }],
  ["price list", {}],
  ["price set text_segment --dollars 0.01", { item: "text_segment", dollars: "0.01" }],
  [
    "company change acme --plan 79 --pays card --prepaid-only off --credit-line 100",
    { company: "acme", plan: "79", pays: "card", prepaidOnly: "off", creditLine: "100" },
  ],
  [
    "key change key_1 --purchases review --add-funds-per-month 5",
    { keyId: "key_1", purchases: "review", addFundsPerMonth: "5" },
  ],
  ...DAILY_ROWS,
  ["card set --company acme --verified", { company: "acme", verified: true }],
  ["card set --company acme --failing", { company: "acme", failing: true }],
  ["card set --company acme --outcome paid", { company: "acme", outcome: "paid" }],
  ["card remove --company acme", { company: "acme" }],
  [
    "carrier text-in --company acme --from +15555550123 --to +15555550100 --body STOP",
    { company: "acme", from: "+15555550123", to: "+15555550100", body: "STOP" },
  ],
  ["carrier deliver msg_1 --status delivered", { messageId: "msg_1", status: "delivered" }],
  [
    "carrier deliver msg_1 --status failed --code 30003",
    { messageId: "msg_1", status: "failed", code: "30003" },
  ],
  ["simulator list", {}],
  ["simulator set carrier reject", { name: "carrier", outcome: "reject" }],
  ["simulator set carrier ok --times 2", { name: "carrier", outcome: "ok", times: 2 }],
  ["mail list", {}],
  ["mail list --company acme", { company: "acme" }],
  ["clock show", {}],
  ["clock set 2026-11-30t23:59:00+01:00", { to: "2026-11-30T22:59:00.000Z" }],
  ["clock set 2026-12-01", { to: "2026-12-01T00:00:00.000Z" }],
  ["clock advance 15m", { duration: "15m" }],
  ["wait", {}],
  ["backup ledger.backup", {}],
  ["job list", {}],
  ["job retry 42", { jobId: 42 }],
  ["job discard 42", { jobId: 42 }],
  ...AUDIT_ROWS,
  [
    "export billing --company acme --month 2026-11 --format csv --out a.csv",
    { company: "acme", month: "2026-11", format: "csv" },
  ],
  ["projections status", {}],
  ["projections rebuild charges", { name: "charges" }],
  ["projections verify", {}],
  ["projections verify charges", { name: "charges" }],
]

describe("a command line", () => {
  it.each(inputs)("becomes the input of an operation: %s", (line, input) => {
    expect(invocationOf(line).input).toEqual(input)
  })

  it.each(COMMANDS.map(({ name, does, example }) => [name, does, example] as const))(
    "is parsed from the example of %s, and its operation accepts the input",
    async (name, does, example) => {
      const { command, input } = invocationOf(example)
      expect(command.name).toBe(name)
      const found = PROGRAM.operations.find((operation) => operation.name === name)
      if (found === undefined) return expect(does).not.toBe("operation")
      const taken = await found.input.safeParseAsync(input)
      expect(taken.error?.issues ?? [], `the example of ${name}: ${example}`).toEqual([])
    },
  )

  it("exists for every operation but internal ones", () => {
    const operations = COMMANDS.filter(({ does }) => does === "operation").map(({ name }) => name)
    // Operations that a command calls to do part of its work.
    const internal = ["audit raw", "audit replay"]
    const all = PROGRAM.operations.map(({ name }) => name)
    expect([...operations, ...internal].toSorted()).toEqual(all.toSorted())
  })

  it.each(inputs)("becomes input that the operation accepts: %s", async (line, input) => {
    const { command } = invocationOf(line)
    const found = PROGRAM.operations.find(({ name }) => name === command.name)
    if (found === undefined) return expect(command.does).toBe("local")
    // A command without an operation needs no store.
    expect(await found.input.safeParseAsync(input)).toMatchObject({ success: true })
  })

  it("has an actor and a reason if the command changes something", () => {
    const { actor, reason } = invocationOf('key pause key_1 --as ada --reason "lost it"')
    expect({ actor, reason }).toEqual({ actor: "ada", reason: "lost it" })
    expect(parse("key list --company acme --as ada").kind).toBe("usage")
  })

  it("has the output file outside the input", () => {
    const line = "export billing --company acme --month 2026-11 --format csv --out -"
    expect(invocationOf(line).out).toBe("-")
  })
})

describe("help", () => {
  it.each(COMMANDS.map((command) => [command.name, command] as const))(
    "of %s shows a valid example",
    (name, { example }) => {
      const help = parse(`${name} --help`)
      expect(help.kind === "help" && help.text).toContain(`Example:\n  company-ledger ${example}`)
      expect(invocationOf(example).command.name).toBe(name)
    },
  )

  it.each([
    "company create",
    "key create",
    "limit set",
    "limit list",
    "funds add",
    "audit show",
    "company show",
  ])("of %s names the unit of money", (name) => {
    const help = parse(`${name} --help`)
    const text = help.kind === "help" ? help.text.replaceAll(/\s+/g, " ") : ""
    expect(text).toMatch(/US dollars?/)
    expect(text).toContain("micros")
  })

  it("of the program and of a topic lists the commands", () => {
    expect(parse("--help")).toMatchObject({ kind: "help" })
    expect(parse("help limit")).toMatchObject({ kind: "help" })
    expect(parse("limit --help")).toMatchObject({
      kind: "help",
      text: expect.stringContaining("set a spending limit"),
    })
  })

  it("fits the width of the terminal", () => {
    const help = parse("limit set --help", 72)
    const text = help.kind === "help" ? help.text.split("Example:")[0] : ""
    const longest = Math.max(...(text ?? "").split("\n").map((line) => line.length))
    expect(longest).toBeLessThanOrEqual(72)
  })
})
