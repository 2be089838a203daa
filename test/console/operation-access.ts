/**
 * Who may what in the console: a row for every operation that says so, written by hand, and with what it is
 * asked for. A call without its row fails the build.
 */
import type { Permission, Role } from "../../domain/access/permissions.ts"

/** Names of things of a company, or of none. */
export interface SampleIds {
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
export interface OperationAccess {
  readonly allowed: readonly Role[] | Permission
  /** Whether everybody may where it is about themselves; what is asked here is about others. */
  readonly isOwn: boolean
  readonly input: (ids: SampleIds) => Readonly<Record<string, unknown>>
  readonly takesReason: boolean
  readonly takesFile: boolean
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
const accessRow = (
  allowed: OperationAccess["allowed"],
  input: Readonly<Record<string, unknown>>,
  ...also: readonly ("own" | "reason" | "file")[]
): OperationAccess => ({
  allowed,
  isOwn: also.includes("own"),
  takesReason: also.includes("reason"),
  takesFile: also.includes("file"),
  input: (ids) => {
    const named = JSON.stringify(input).replaceAll(
      /<(\w+)>/g,
      (_, name) => ids[name as keyof SampleIds],
    )
    return JSON.parse(named) as Readonly<Record<string, unknown>>
  },
})

const billing = accessRow("See billing", { company })

/** By the names of the operations in paths. */
export const OPERATION_ACCESS: Readonly<Record<string, OperationAccess>> = {
  "key-create": accessRow(OWNER_ADMIN, { company, person, allOperations: true }, "own"),
  "key-change": accessRow(OWNER_ADMIN, { keyId, operations: ["phone.messages.read"] }, "own"),
  "key-pause": accessRow(OWNER_ADMIN, { keyId }, "own"),
  "key-resume": accessRow(OWNER_ADMIN, { keyId }, "own"),
  "key-delete": accessRow(OWNER_ADMIN, { keyId }, "own"),
  "key-list": accessRow(OWNER_ADMIN, { company, person }, "own"),
  "person-change": accessRow("Team", { personId: person, name: "Grace" }, "own"),
  "person-app": accessRow("Team", { personId: person }),
  // Nobody, so that whoever may removes nobody.
  "person-remove": accessRow("Team", { personId: "per_0000000000000000000000" }),
  "person-invite": accessRow("Team", { company, email: "invited@example.com", role: "user" }),
  // None, so that whoever may withdraws none.
  "person-uninvite": accessRow("Team", { company, inviteId: "inv_0000000000000000000000" }),
  "person-list": accessRow("Team", { company }),
  "limit-set": accessRow(OWNER_ADMIN, {
    company,
    person,
    class: "ai",
    period: "month",
    dollars: "9",
  }),
  "limit-remove": accessRow(OWNER_ADMIN, { company, person, class: "ai" }),
  "limit-list": accessRow("See billing", { company, person }, "own"),
  "funds-notice": accessRow(OWNER_ADMIN, { company, off: true }),
  "charge-refund": accessRow(OWNER_ADMIN, { company, chargeId }, "reason"),
  "charge-pending": billing,
  "charge-list": accessRow("See billing", { company, person }, "own"),
  "charge-days": accessRow("See billing", { company, person }, "own"),
  "charge-show": accessRow("See billing", { company, chargeId }, "own"),
  "calls-list": billing,
  "price-list": accessRow(ALL, {}),
  "company-show": billing,
  "company-change": accessRow(OWNER_ADMIN, { company, channel: "stable" }),
  "company-delete": accessRow(OWNER, { company }),
  "company-restore": accessRow(OWNER, { company }),
  "company-export": accessRow(OWNER, { company }),
  "card-set": accessRow(OWNER_ADMIN, { company, verified: true }),
  "card-remove": accessRow(OWNER_ADMIN, { company }),
  "card-verify": accessRow(OWNER_ADMIN, { company }),
  "card-page": accessRow(OWNER_ADMIN, { company }),
  "card-refresh": accessRow(OWNER_ADMIN, { company }),
  "connect-approve": accessRow(OWNER, { company, person: "<me>", code: "ABCD-EFGH-JKMN-PQRS" }),
  "app-list": accessRow(OWNER_ADMIN, { company }),
  "affiliate-join": accessRow(OWNER_ADMIN, { company }),
  "email-test": accessRow("Send email", { company, to: "ada@example.com" }),
  "email-list": accessRow("Send email", { company }),
  "suppression-list": accessRow("Send email", { company }),
  "suppression-lift": accessRow(OWNER_ADMIN, { company, email: "ada@example.com" }),
  "suppression-offer": accessRow(OWNER_ADMIN, { company, domain: "acme.example", enabled: "no" }),
  "domain-list": accessRow("Manage domains", { company }),
  "domain-remove": accessRow(OWNER_ADMIN, { company, domain: "acme.example" }),
  "form-list": accessRow("Read leads", { company }),
  "form-add": accessRow(OWNER_ADMIN, { company, name: "Contact" }),
  "form-close": accessRow(OWNER_ADMIN, { formId: "<form>" }),
  "lead-erase": accessRow(OWNER_ADMIN, { leadId: "<lead>" }),
  "repository-create": accessRow("Push and upload code", { company }),
  "repository-import": accessRow("Push and upload code", { company }, "file"),
  "repository-upload": accessRow("Push and upload code", { company }, "file"),
  "repository-export": accessRow("Download and pull the code", { company }),
  "repository-scrub": accessRow(OWNER, { company, blob: "0".repeat(40) }, "reason"),
  "repository-allow-secret": accessRow(
    OWNER_ADMIN,
    { company, fingerprint: "0".repeat(32) },
    "reason",
  ),
  "repository-default-branch": accessRow(OWNER_ADMIN, { company, branch: "main" }),
  "repository-show": accessRow("Download and pull the code", { company }),
  "code-pushes": accessRow("Download and pull the code", { company }),
  "publish-log": accessRow("Create test environments", { publishId: "<publish>" }),
  "box-list": accessRow(OWNER_ADMIN, { company }),
  "preview-show": accessRow("Create test environments", { company }),
  "preview-reset": accessRow(OWNER_ADMIN, { company }),
  "bill-list": billing,
  "export-billing": accessRow("See billing", { company, month: "2026-01", format: "csv" }),
  "refusals-list": accessRow("See billing", { company, key: keyId }, "own"),
  ask: accessRow("See billing", { company, key: keyId, item: "text", quantity: 1 }, "own"),
  "audit-show": accessRow("See billing", { stream: `ledger-${company}` }),
  "audit-streams": billing,
  "audit-verify": billing,
  "audit-export": billing,
  "audit-head": billing,
  "audit-proof": accessRow("See billing", { company, chargeId }),
}

/** Routes that only a key can be spent by: boxes and publishes end with it. */
export const KEY_ONLY_ROUTES: readonly string[] = ["startBox", "publishPreview"]

/** What the console's other calls ask of whoever asks: nothing, or a session at the company. */
export const CONSOLE_CALL_ACCESS: Readonly<Record<string, "open" | "session" | "operation">> = {
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
