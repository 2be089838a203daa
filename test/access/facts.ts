/** Facts with which the tests of a company's access begin. */
import type { AccessEvent } from "../../domain/access/access-events.ts"

/** The time of every fact, UTC milliseconds. */
export const NOW = Date.parse("2026-03-02T10:00:00.000Z")

export const COMPANY = {
  companyId: "co_Ab3dE6",
  name: "s1.company.YWNtZQ",
  plan: "payg",
  pays: "prepaid",
} as const

export const companyOpened: AccessEvent = { type: "CompanyOpened", at: NOW, ...COMPANY }
