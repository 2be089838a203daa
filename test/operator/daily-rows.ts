/** Words of daily work, and the input that they become. */
export const DAILY_ROWS: readonly (readonly [string, object])[] = [
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
