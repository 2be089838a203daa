/** The facts of a company's access that its specifications begin with. */
import type { AccessEvent } from "../../domain/access/access-events.ts"

/** When everything happens, UTC milliseconds. */
export const NOW = Date.parse("2026-03-02T10:00:00.000Z")

/** A company as it is opened. */
export const COMPANY = {
  companyId: "co_Ab3dE6",
  name: "s1.company.YWNtZQ",
  plan: "payg",
  pays: "prepaid",
} as const

/** It is open. */
export const companyOpened: AccessEvent = { type: "CompanyOpened", at: NOW, ...COMPANY }
