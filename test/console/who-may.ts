/**
 * Who may what in the console: a row for every operation that says so, written by hand, and with what it is
 * asked for. A call without its row fails the build.
 */
import type { Permission, Role } from "../../domain/access/permissions.ts"

/** Names of things of a company, or of none. */
export interface Ids {
  readonly company: string
  /** Who asks. */
  readonly me: string
  readonly person: string
  readonly key: string
  readonly charge: string
  readonly form: string
  readonly lead: string
  readonly publish: string
}

/** A row. */
export interface Row {
  readonly may: readonly Role[] | Permission
  /** Whether everybody may where it is about themselves; what is asked here is about others. */
  readonly isOwn: boolean
  readonly input: (ids: Ids) => Readonly<Record<string, unknown>>
  readonly hasReason: boolean
  readonly hasFile: boolean
}

const OWNER: readonly Role[] = ["owner"]
const OWNER_ADMIN: readonly Role[] = ["owner", "admin"]
const ALL: readonly Role[] = ["owner", "admin", "developer", "manager", "user"]

/** What stands in a row for the name of a thing. */
const company = "<company>"
const person = "<person>"
const keyId = "<key>"
const chargeId = "<charge>"

/** A row; `input` has the marks above for names. */
const row = (
  may: Row["may"],
  input: Readonly<Record<string, unknown>>,
  ...also: readonly ("own" | "reason" | "file")[]
): Row => ({
  may,
  isOwn: also.includes("own"),
  hasReason: also.includes("reason"),
  hasFile: also.includes("file"),
  input: (ids) => {
    const named = JSON.stringify(input).replaceAll(/<(\w+)>/g, (_, name) => ids[name as keyof Ids])
    return JSON.parse(named) as Readonly<Record<string, unknown>>
  },
})

const billing = row("See billing", { company })

/** By the names of the operations in paths. */
export const ROWS: Readonly<Record<string, Row>> = {
  "key-create": row(OWNER_ADMIN, { company, person, allOperations: true }, "own"),
  "key-change": row(OWNER_ADMIN, { keyId, operations: ["phone.messages.read"] }, "own"),
  "key-pause": row(OWNER_ADMIN, { keyId }, "own"),
  "key-resume": row(OWNER_ADMIN, { keyId }, "own"),
  "key-delete": row(OWNER_ADMIN, { keyId }, "own"),
  "key-list": row(OWNER_ADMIN, { company, person }, "own"),
  "person-change": row("Team", { personId: person, name: "Grace" }, "own"),
  "person-app": row("Team", { personId: person }),
  // Nobody, so that whoever may removes nobody.
  "person-remove": row("Team", { personId: "per_0000000000000000000000" }),
  "person-invite": row("Team", { company, email: "invited@example.com", role: "user" }),
  // None, so that whoever may withdraws none.
  "person-uninvite": row("Team", { company, inviteId: "inv_0000000000000000000000" }),
  "person-list": row("Team", { company }),
  "limit-set": row(OWNER_ADMIN, { company, person, class: "ai", period: "month", dollars: "9" }),
  "limit-remove": row(OWNER_ADMIN, { company, person, class: "ai" }),
  "limit-list": row("See billing", { company, person }, "own"),
  "funds-notice": row(OWNER_ADMIN, { company, off: true }),
  "charge-refund": row(OWNER_ADMIN, { company, chargeId }, "reason"),
  "charge-pending": billing,
  "charge-list": row("See billing", { company, person }, "own"),
  "charge-days": row("See billing", { company, person }, "own"),
  "charge-show": row("See billing", { company, chargeId }, "own"),
  "calls-list": billing,
  "price-list": row(ALL, {}),
  "company-show": billing,
  "company-change": row(OWNER_ADMIN, { company, channel: "stable" }),
  "company-delete": row(OWNER, { company }),
  "company-restore": row(OWNER, { company }),
  "company-export": row(OWNER, { company }),
  "card-set": row(OWNER_ADMIN, { company, verified: true }),
  "card-remove": row(OWNER_ADMIN, { company }),
  "card-verify": row(OWNER_ADMIN, { company }),
  "card-page": row(OWNER_ADMIN, { company }),
  "card-look": row(OWNER_ADMIN, { company }),
  "connect-approve": row(OWNER, { company, person: "<me>", code: "ABCD-EFGH-JKMN-PQRS" }),
  "app-list": row(OWNER_ADMIN, { company }),
  "affiliate-join": row(OWNER_ADMIN, { company }),
  "email-test": row("Send email", { company, to: "ada@example.com" }),
  "email-list": row("Send email", { company }),
  "suppression-list": row("Send email", { company }),
  "suppression-lift": row(OWNER_ADMIN, { company, email: "ada@example.com" }),
  "suppression-offer": row(OWNER_ADMIN, { company, domain: "acme.example", turn: "off" }),
  "domain-list": row("Manage domains", { company }),
  "domain-remove": row(OWNER_ADMIN, { company, domain: "acme.example" }),
  "form-list": row("Read leads", { company }),
  "form-add": row(OWNER_ADMIN, { company, name: "Contact" }),
  "form-close": row(OWNER_ADMIN, { formId: "<form>" }),
  "lead-erase": row(OWNER_ADMIN, { leadId: "<lead>" }),
  "repository-create": row("Push and upload code", { company }),
  "repository-import": row("Push and upload code", { company }, "file"),
  "repository-upload": row("Push and upload code", { company }, "file"),
  "repository-export": row("Download and pull the code", { company }),
  "repository-scrub": row(OWNER, { company, blob: "0".repeat(40) }, "reason"),
  "repository-allow-secret": row(OWNER_ADMIN, { company, fingerprint: "0".repeat(32) }, "reason"),
  "repository-default-branch": row(OWNER_ADMIN, { company, branch: "main" }),
  "repository-show": row("Download and pull the code", { company }),
  "code-pushes": row("Download and pull the code", { company }),
  "publish-log": row("Create test environments", { publishId: "<publish>" }),
  "box-list": row(OWNER_ADMIN, { company }),
  "preview-show": row("Create test environments", { company }),
  "preview-reset": row(OWNER_ADMIN, { company }),
  "bill-list": billing,
  "export-billing": row("See billing", { company, month: "2026-01", format: "csv" }),
  "refusals-list": row("See billing", { company, key: keyId }, "own"),
  ask: row("See billing", { company, key: keyId, item: "text", quantity: 1 }, "own"),
  "audit-show": row("See billing", { stream: `ledger-${company}` }),
  "audit-streams": billing,
  "audit-verify": billing,
  "audit-export": billing,
  "audit-head": billing,
  "audit-proof": row("See billing", { company, chargeId }),
}

/** Routes that only a key can be spent by: boxes and publishes end with it. */
export const NEEDS_KEY: readonly string[] = ["startBox", "publishPreview"]

/** What the console's other calls ask of whoever asks: nothing, or a session at the company. */
export const PAGES: Readonly<Record<string, "open" | "session" | "operation">> = {
  askCode: "open",
  signIn: "open",
  readSession: "open",
  signOut: "open",
  followLink: "open",
  consoleHome: "open",
  consolePage: "open",
  consoleAsset: "open",
  listOperations: "session",
  beat: "session",
  doOperation: "operation",
  sendFileTo: "operation",
}
