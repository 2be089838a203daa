/** Words of auditors, and the input that they become. */
export const AUDIT_ROWS: readonly (readonly [string, object])[] = [
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
