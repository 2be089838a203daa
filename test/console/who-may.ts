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
  readonly own?: true
  readonly input: (ids: Ids) => Readonly<Record<string, unknown>>
  readonly reason?: true
  readonly file?: true
}

const OWNER: readonly Role[] = ["owner"]
const OWNER_ADMIN: readonly Role[] = ["owner", "admin"]
const ALL: readonly Role[] = ["owner", "admin", "developer", "manager", "user"]

const nothing = () => ({})
const ofCompany = ({ company }: Ids) => ({ company })
const ofKey = ({ key }: Ids) => ({ keyId: key })
const ofPerson = ({ person }: Ids) => ({ personId: person })
const billing = { may: "See billing", input: ofCompany } as const
const STREAM_OF = ({ company }: Ids) => ({ stream: `ledger-${company}` })

/** By the names of the operations in paths. */
export const ROWS: Readonly<Record<string, Row>> = {
  "key-create": {
    may: OWNER_ADMIN,
    own: true,
    input: ({ company, person }) => ({ company, person, allOperations: true }),
  },
  "key-change": {
    may: OWNER_ADMIN,
    own: true,
    input: ({ key }) => ({ keyId: key, operations: ["phone.messages.read"] }),
  },
  "key-pause": { may: OWNER_ADMIN, own: true, input: ofKey },
  "key-resume": { may: OWNER_ADMIN, own: true, input: ofKey },
  "key-delete": { may: OWNER_ADMIN, own: true, input: ofKey },
  "key-list": {
    may: OWNER_ADMIN,
    own: true,
    input: ({ company, person }) => ({ company, person }),
  },
  "person-change": {
    may: "Team",
    own: true,
    input: ({ person }) => ({ personId: person, name: "Grace" }),
  },
  "person-app": { may: "Team", input: ofPerson },
  // Nobody, so that whoever may removes nobody.
  "person-remove": { may: "Team", input: () => ({ personId: "per_0000000000000000000000" }) },
  "person-invite": {
    may: "Team",
    input: ({ company }) => ({ company, email: "invited@example.com", role: "user" }),
  },
  // None, so that whoever may withdraws none.
  "person-uninvite": {
    may: "Team",
    input: ({ company }) => ({ company, inviteId: "inv_0000000000000000000000" }),
  },
  "person-list": { may: "Team", input: ofCompany },
  "limit-set": {
    may: OWNER_ADMIN,
    input: ({ company, person }) => {
      return { company, person, class: "ai", period: "month", dollars: "9" }
    },
  },
  "limit-remove": {
    may: OWNER_ADMIN,
    input: ({ company, person }) => ({ company, person, class: "ai" }),
  },
  "limit-list": {
    may: "See billing",
    own: true,
    input: ({ company, person }) => ({ company, person }),
  },
  "funds-notice": { may: OWNER_ADMIN, input: ({ company }) => ({ company, off: true }) },
  "charge-give-back": {
    may: OWNER_ADMIN,
    reason: true,
    input: ({ company, charge }) => ({ company, chargeId: charge }),
  },
  "charges-open": billing,
  "charge-list": {
    may: "See billing",
    own: true,
    input: ({ company, person }) => ({ company, person }),
  },
  "charge-days": {
    may: "See billing",
    own: true,
    input: ({ company, person }) => ({ company, person }),
  },
  "charge-show": {
    may: "See billing",
    own: true,
    input: ({ company, charge }) => ({ company, chargeId: charge }),
  },
  "calls-list": billing,
  "price-list": { may: ALL, input: nothing },
  "company-show": billing,
  "company-change": { may: OWNER_ADMIN, input: ({ company }) => ({ company, channel: "stable" }) },
  "company-delete": { may: OWNER, input: ofCompany },
  "company-restore": { may: OWNER, input: ofCompany },
  "company-export": { may: OWNER, input: ofCompany },
  "card-set": { may: OWNER_ADMIN, input: ({ company }) => ({ company, verified: true }) },
  "card-remove": { may: OWNER_ADMIN, input: ofCompany },
  "card-verify": { may: OWNER_ADMIN, input: ofCompany },
  "card-page": { may: OWNER_ADMIN, input: ofCompany },
  "card-look": { may: OWNER_ADMIN, input: ofCompany },
  "connect-approve": {
    may: OWNER,
    input: ({ company, me }) => ({ company, person: me, code: "ABCD-EFGH-JKMN-PQRS" }),
  },
  "app-list": { may: OWNER_ADMIN, input: ofCompany },
  "affiliate-join": { may: OWNER_ADMIN, input: ofCompany },
  "email-test": {
    may: "Send email",
    input: ({ company }) => ({ company, to: "ada@example.com" }),
  },
  "email-list": { may: "Send email", input: ofCompany },
  "suppression-list": { may: "Send email", input: ofCompany },
  "suppression-lift": {
    may: OWNER_ADMIN,
    input: ({ company }) => ({ company, email: "ada@example.com" }),
  },
  "suppression-offer": {
    may: OWNER_ADMIN,
    input: ({ company }) => ({ company, domain: "acme.example", turn: "off" }),
  },
  "domain-list": { may: "Manage domains", input: ofCompany },
  "domain-remove": {
    may: OWNER_ADMIN,
    input: ({ company }) => ({ company, domain: "acme.example" }),
  },
  "form-list": { may: "Read leads", input: ofCompany },
  "form-add": { may: OWNER_ADMIN, input: ({ company }) => ({ company, name: "Contact" }) },
  "form-close": { may: OWNER_ADMIN, input: ({ form }) => ({ formId: form }) },
  "lead-erase": { may: OWNER_ADMIN, input: ({ lead }) => ({ leadId: lead }) },
  "repository-create": { may: "Push and upload code", input: ofCompany },
  "repository-import": { may: "Push and upload code", input: ofCompany, file: true },
  "repository-upload": { may: "Push and upload code", input: ofCompany, file: true },
  "repository-export": { may: "Download and pull the code", input: ofCompany },
  "repository-scrub": {
    may: OWNER,
    reason: true,
    input: ({ company }) => ({ company, blob: "0".repeat(40) }),
  },
  "repository-allow-secret": {
    may: OWNER_ADMIN,
    reason: true,
    input: ({ company }) => ({ company, fingerprint: "0".repeat(32) }),
  },
  "repository-default-branch": {
    may: OWNER_ADMIN,
    input: ({ company }) => ({ company, branch: "main" }),
  },
  "repository-show": { may: "Download and pull the code", input: ofCompany },
  "code-pushes": { may: "Download and pull the code", input: ofCompany },
  "publish-log": {
    may: "Create test environments",
    input: ({ publish }) => ({ publishId: publish }),
  },
  "box-list": { may: OWNER_ADMIN, input: ofCompany },
  "preview-show": { may: "Create test environments", input: ofCompany },
  "preview-reset": { may: OWNER_ADMIN, input: ofCompany },
  "bill-list": billing,
  "export-billing": {
    may: "See billing",
    input: ({ company }) => ({ company, month: "2026-01", format: "csv" }),
  },
  "refusals-list": {
    may: "See billing",
    own: true,
    input: ({ company, key }) => ({ company, key }),
  },
  ask: {
    may: "See billing",
    own: true,
    input: ({ company, key }) => ({ company, key, item: "text", quantity: 1 }),
  },
  "audit-show": { may: "See billing", input: STREAM_OF },
  "audit-streams": billing,
  "audit-verify": billing,
  "audit-export": billing,
  "audit-head": billing,
  "audit-proof": {
    may: "See billing",
    input: ({ company, charge }) => ({ company, chargeId: charge }),
  },
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
