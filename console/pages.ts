import type { ComponentType } from "react"
import type { Profile } from "./api/session.ts"
import { isAdmin } from "./api/session.ts"

export interface PageEntry {
  /** Path after the company; `$name` is a parameter. */
  readonly path: string
  readonly title: string
  /** Group in the navigation; null for a page that is not listed. */
  readonly group: "Money" | "Access" | "Work" | "Company" | null
  /** Who sees the page in the navigation; the server checks access to its data. */
  readonly isVisible: (me: Profile) => boolean
  readonly load: () => Promise<{ readonly default: ComponentType }>
}

const always = (): boolean => true
/** Pages for people with any of these permissions. */
export const hasAnyPermission =
  (...permissions: readonly string[]) =>
  (me: Profile): boolean =>
    permissions.some((permission) => me.permissions.includes(permission))

/** All pages, in the order of the navigation. */
export const PAGES: readonly PageEntry[] = [
  {
    path: "",
    title: "Overview",
    group: "Money",
    isVisible: always,
    load: () => import("./pages/overview.tsx"),
  },
  {
    path: "spending",
    title: "Spending",
    group: "Money",
    isVisible: always,
    load: () => import("./pages/spending.tsx"),
  },
  {
    path: "spending/$chargeId",
    title: "Charge",
    group: null,
    isVisible: always,
    load: () => import("./pages/charge.tsx"),
  },
  {
    path: "refusals",
    title: "Refusals",
    group: "Money",
    isVisible: always,
    load: () => import("./pages/refusals.tsx"),
  },
  {
    path: "limits",
    title: "Limits",
    group: "Money",
    isVisible: always,
    load: () => import("./pages/limits.tsx"),
  },
  {
    path: "billing",
    title: "Billing",
    group: "Money",
    isVisible: hasAnyPermission("See billing"),
    load: () => import("./pages/billing.tsx"),
  },
  {
    path: "billing/$month",
    title: "Month",
    group: null,
    isVisible: always,
    load: () => import("./pages/bill.tsx"),
  },
  {
    path: "ledger",
    title: "Ledger",
    group: "Money",
    isVisible: hasAnyPermission("See billing"),
    load: () => import("./pages/ledger.tsx"),
  },
  {
    path: "ledger/$stream",
    title: "Stream",
    group: null,
    isVisible: always,
    load: () => import("./pages/stream.tsx"),
  },
  {
    path: "keys",
    title: "Keys",
    group: "Access",
    isVisible: always,
    load: () => import("./pages/keys.tsx"),
  },
  {
    path: "keys/$keyId",
    title: "Key",
    group: null,
    isVisible: always,
    load: () => import("./pages/key.tsx"),
  },
  {
    path: "team",
    title: "Team",
    group: "Access",
    isVisible: hasAnyPermission("Team"),
    load: () => import("./pages/team.tsx"),
  },
  {
    path: "team/$personId",
    title: "Person",
    group: null,
    isVisible: always,
    load: () => import("./pages/person.tsx"),
  },
  {
    path: "code",
    title: "Code",
    group: "Work",
    isVisible: hasAnyPermission("Download and pull the code", "Push and upload code"),
    load: () => import("./pages/code.tsx"),
  },
  {
    path: "code/$revision",
    title: "Push",
    group: null,
    isVisible: always,
    load: () => import("./pages/push.tsx"),
  },
  {
    path: "previews",
    title: "Previews",
    group: "Work",
    isVisible: always,
    load: () => import("./pages/previews.tsx"),
  },
  {
    path: "previews/$publishId",
    title: "Publish",
    group: null,
    isVisible: always,
    load: () => import("./pages/publish.tsx"),
  },
  {
    path: "boxes",
    title: "Boxes",
    group: "Work",
    isVisible: hasAnyPermission("Create test environments"),
    load: () => import("./pages/boxes.tsx"),
  },
  {
    path: "boxes/$boxId",
    title: "Box",
    group: null,
    isVisible: always,
    load: () => import("./pages/box.tsx"),
  },
  {
    path: "phone",
    title: "Phone",
    group: "Work",
    isVisible: hasAnyPermission("Use phone"),
    load: () => import("./pages/phone.tsx"),
  },
  {
    path: "phone/numbers/$numberId",
    title: "Number",
    group: null,
    isVisible: always,
    load: () => import("./pages/phone/number.tsx"),
  },
  {
    path: "phone/texts/$number",
    title: "Texts",
    group: null,
    isVisible: always,
    load: () => import("./pages/phone/text-thread.tsx"),
  },
  {
    path: "phone/calls/$callId",
    title: "Call",
    group: null,
    isVisible: always,
    load: () => import("./pages/phone/call.tsx"),
  },
  {
    path: "email",
    title: "Email",
    group: "Work",
    isVisible: hasAnyPermission("Send email", "Manage domains"),
    load: () => import("./pages/email.tsx"),
  },
  {
    path: "email/$mailId",
    title: "Mail",
    group: null,
    isVisible: always,
    load: () => import("./pages/email/mail.tsx"),
  },
  {
    path: "domains",
    title: "Domains",
    group: "Work",
    isVisible: hasAnyPermission("Manage domains"),
    load: () => import("./pages/domains.tsx"),
  },
  {
    path: "domains/$domainId",
    title: "Domain",
    group: null,
    isVisible: always,
    load: () => import("./pages/domains/domain.tsx"),
  },
  {
    path: "leads",
    title: "Leads",
    group: "Work",
    isVisible: hasAnyPermission("Read leads", "Look up addresses"),
    load: () => import("./pages/leads.tsx"),
  },
  {
    path: "leads/$leadId",
    title: "Lead",
    group: null,
    isVisible: always,
    load: () => import("./pages/leads/lead.tsx"),
  },
  {
    path: "settings",
    title: "Settings",
    group: "Company",
    isVisible: always,
    load: () => import("./pages/settings.tsx"),
  },
  {
    path: "settings/apps/$installId",
    title: "App",
    group: null,
    isVisible: always,
    load: () => import("./pages/installed-app.tsx"),
  },
]

/** The pages in a person's navigation. */
export function visiblePages(me: Profile): readonly PageEntry[] {
  return PAGES.filter(({ group, isVisible }) => group !== null && (isAdmin(me) || isVisible(me)))
}
