import type { LimitStatus } from "../parts/limit-bar.tsx"

/** Answers of operations, with the fields that pages show. */
export interface KeyList {
  readonly keys: readonly Key[]
}

export interface Key {
  readonly keyId: string
  /** Null for the key of the company's app. */
  readonly personId: string | null
  readonly label: string | null
  readonly status: "active" | "paused" | "deleted"
  readonly operations: readonly string[]
  readonly createdAt: string
  /** Null if it was never used. */
  readonly lastUsedAt: string | null
  readonly spentThisMonthMicros: number
  /** What the key can buy; null if it never could. */
  readonly addFunds: KeyPurchases | null
}

/** Purchases of a key. Amounts are micro-dollars. */
export interface KeyPurchases {
  readonly mode: "on" | "needs_owner_review" | "off"
  readonly perPurchaseMicros: number
  readonly perMonthMicros: number
}

/** A new key, which is shown only once. */
export interface CreatedKey {
  readonly keyId: string
  readonly key: string
  readonly appSecret?: string
}

export interface PersonList {
  readonly people: readonly TeamMember[]
  readonly invited: readonly Invitation[]
}

/** A person, as holders of `Team` see them. */
export interface TeamMember {
  readonly personId: string
  readonly name: string | null
  readonly email: string | null
  readonly role: string
  /** Permissions of the role and individual ones. */
  readonly permissions: readonly string[]
  readonly rolePermissions: readonly string[]
  readonly grant: readonly string[]
  readonly deny: readonly string[]
  readonly addedAt: string
}

/** An invitation that was not accepted yet. */
export interface Invitation {
  readonly inviteId: string
  readonly email: string | null
  readonly role: string
  readonly expiresAt: string
}

/** The limits of the company, its people and keys. */
export interface LimitList {
  readonly limits: readonly Limit[]
}

export interface Limit extends LimitStatus {
  readonly leaveKeysOut: boolean
  readonly remindersMicros: readonly number[]
}

/** A page of charges, newest first. */
export interface ChargeList {
  readonly charges: readonly Charge[]
  readonly next: number | null
}

/** A month's charges by UTC day and item. Amounts are micro-dollars. */
export interface ChargeDays {
  readonly month: string
  readonly days: readonly ChargeDay[]
  readonly chargedMicros: number
  readonly refundedMicros: number
  readonly netMicros: number
  readonly charges: number
}

export interface ChargeDay {
  /** `YYYY-MM-DD`. */
  readonly day: string
  readonly item: string
  readonly chargedMicros: number
  readonly refundedMicros: number
  readonly netMicros: number
  readonly charges: number
}

/** A charge. Amounts are micro-dollars. */
export interface Charge {
  readonly revision: number
  readonly at: string
  readonly chargeId: string
  readonly kind: string
  readonly item: string
  readonly quantity: number
  readonly unitPriceMicros: number
  readonly priceVersion: number
  readonly amountMicros: number
  readonly class: "ai" | "general"
  readonly via: "own_key" | "app_key" | "person" | "company"
  readonly keyId: string | null
  readonly personId: string | null
  readonly resource: string | null
  readonly servedFrom: string | null
  readonly state: "pending" | "settled" | "refunded"
  readonly refundedMicros: number
}

export interface ChargeWithRefunds extends Charge {
  readonly refunds: readonly {
    readonly revision: number
    readonly at: string
    readonly amountMicros: number
    readonly reason: string | null
  }[]
}

/** A page of refusals, newest first. */
export interface RefusalList {
  readonly refusals: readonly RefusedCharge[]
  readonly next: number | null
}

export interface RefusedCharge {
  readonly revision: number
  readonly at: string
  readonly code: string
  readonly chargeId: string
  readonly keyId: string | null
  readonly personId: string | null
  readonly class: "ai" | "general"
  readonly item: string
  readonly quantity: number
  readonly amountMicros: number
  readonly ledgerRevision: number
  readonly fundsMicros: number
  readonly limit: LimitStatus | null
  readonly times: number
  readonly lastAt: string
}

/** Whether a charge would fit. */
export interface ChargeCheck {
  readonly fits: boolean
  readonly code: string | null
  readonly unitPriceMicros: number
  readonly amountMicros: number
  readonly limit: LimitStatus | null
  readonly fitsAt: string | null
  readonly shortMicros: number
  readonly fundsMicros: number
  readonly creditLineMicros: number
}

export interface PriceList {
  readonly version: number
  readonly prices: readonly {
    readonly item: string
    /** Name on bills. */
    readonly name: string
    readonly unitPriceMicros: number
  }[]
}

/** The company's account. */
export interface CompanyDetails {
  readonly companyId: string
  readonly name: string | null
  readonly plan: string
  readonly channel: string
  readonly affiliate: boolean
  readonly pays: "prepaid" | "card"
  readonly card: { readonly verified: boolean; readonly failing: boolean } | null
  readonly balanceMicros: number
  readonly noticeBelowMicros: number | null
  readonly creditLineMicros: number
  readonly prepaidOnly: boolean
  readonly locked: boolean
}
