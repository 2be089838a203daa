/**
 * Who may call each console operation, and an input for it: a row for every operation, written by hand.
 * An operation without a row fails a test.
 */
import type { Permission, Role } from "../../domain/access/permissions.ts"

/** Ids of a company's things, or unknown ids. */
export interface SampleIds {
  readonly company: string
  /** The calling person. */
  readonly me: string
  readonly person: string
  readonly key: string
  readonly charge: string
  readonly form: string
  readonly lead: string
  readonly publish: string
}

export interface OperationAccess {
  readonly allowed: readonly Role[] | Permission
  /** Whether every person may call it about themselves; the input here is about another person. */
  readonly isOwn: boolean
  readonly input: (ids: SampleIds) => Readonly<Record<string, unknown>>
  readonly takesReason: boolean
  readonly takesFile: boolean
}

const OWNER: readonly Role[] = ["owner"]
const OWNER_ADMIN: readonly Role[] = ["owner", "admin"]
const ALL: readonly Role[] = ["owner", "admin", "developer", "manager", "user"]

/** Placeholders for ids in the inputs of rows. */
const company = "<company>"
const person = "<person>"
const keyId = "<key>"
const chargeId = "<charge>"

/** Makes a row; `input` has the placeholders above for ids. */
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

/** Rows by operation slug. */
export const OPERATION_ACCESS: Readonly<Record<string, OperationAccess>> = {
  "key-create": accessRow(OWNER_ADMIN, { company, person, allOperations: true }, "own"),
  "key-change": accessRow(OWNER_ADMIN, { keyId, operations: ["phone.messages.read"] }, "own"),
  "key-pause": accessRow(OWNER_ADMIN, { keyId }, "own"),
  "key-resume": accessRow(OWNER_ADMIN, { keyId }, "own"),
  "key-delete": accessRow(OWNER_ADMIN, { keyId }, "own"),
  "key-list": accessRow(OWNER_ADMIN, { company, person }, "own"),
  "person-change": accessRow("Team", { personId: person, name: "Grace" }, "own"),
  "person-app": accessRow("Team", { personId: person }),
  // An unknown id, so that visitors who may remove people remove no one.
  "person-remove": accessRow("Team", { personId: "per_0000000000000000000000" }),
  "person-invite": accessRow("Team", { company, email: "invited@example.com", role: "user" }),
  // An unknown id, so that visitors who may withdraw invitations withdraw none.
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

/** Routes that require a key and reject sessions: boxes and publishes end with the key that started them. */
export const KEY_ONLY_ROUTES: readonly string[] = ["startBox", "publishPreview"]

/** What each other console call requires: nothing, a session of the company, or access to its operation. */
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
