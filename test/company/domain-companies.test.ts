import { describe, expect, it } from "vitest"
import type { CompanyRegistration } from "../../domain/company/companies.ts"
import {
  companiesDecider,
  companyByNameTag,
  companyCount,
  isCompanyRegistered,
} from "../../domain/company/companies.ts"
import { foldFacts, given } from "../support/decider-spec.ts"

const NOW = Date.parse("2026-03-02T10:00:00.000Z")
const plan: CompanyRegistration = {
  companyId: "co_Ab3dE6",
  name: "s1.co_Ab3dE6.YWNtZQ",
  nameTag: "acme-tag",
  plan: "payg",
  pays: "prepaid",
  fundsMicros: 50_000_000,
  withNumber: true,
  owner: { personId: "per_1", name: "s1.per_1.YQ", email: "s1.per_1.Yg", emailTag: "e1" },
}
const register = { type: "RegisterCompany", at: NOW, ...plan } as const
const registered = { type: "CompanyRegistered", at: NOW, ...plan } as const

describe("RegisterCompany", () => {
  it("registers a company with its opening terms", () => {
    given(companiesDecider).when(register).records(registered)
  })

  it("records nothing for a registered company", () => {
    given(companiesDecider, registered).when(register).recordsNothing()
    given(companiesDecider, registered)
      .when({ ...register, fundsMicros: 0 })
      .recordsNothing()
  })

  it("is rejected for a name that another company has", () => {
    given(companiesDecider, registered)
      .when({ ...register, companyId: "co_other1" })
      .refuses("name_taken")
  })

  it("is rejected for an id that another company has, since it routes that company's keys", () => {
    given(companiesDecider, registered)
      .when({ ...register, nameTag: "other-tag" })
      .refuses("id_taken")
  })

  it("registers another company", () => {
    const other = { companyId: "co_other1", nameTag: "other-tag" } as const
    given(companiesDecider, registered)
      .when({ ...register, ...other })
      .records({ ...registered, ...other })
  })
})

describe("companies", () => {
  it("are found by name and by id", () => {
    const state = foldFacts(companiesDecider, registered)
    expect(companyByNameTag(state, "acme-tag")).toBe("co_Ab3dE6")
    expect(companyByNameTag(state, "other-tag")).toBeNull()
    expect([
      isCompanyRegistered(state, "co_Ab3dE6"),
      isCompanyRegistered(state, "co_other1"),
    ]).toEqual([true, false])
    expect(companyCount(state)).toBe(1)
  })
})

describe("EraseCompany", () => {
  const erase = { type: "EraseCompany", at: NOW, companyId: "co_Ab3dE6" } as const
  const erased = { type: "CompanyErased", at: NOW, companyId: "co_Ab3dE6" } as const

  it("removes a company's name once", () => {
    given(companiesDecider, registered).when(erase).records(erased)
    given(companiesDecider, registered, erased).when(erase).recordsNothing()
    given(companiesDecider).when(erase).refuses("no_such_company")
  })

  it("frees the name for another company, but not the id", () => {
    const other = { ...registered, companyId: "co_other1" } as const
    given(companiesDecider, registered, erased)
      .when({ ...register, companyId: "co_other1" })
      .records(other)
    given(companiesDecider, registered, erased).when(register).refuses("id_taken")
    const state = foldFacts(companiesDecider, registered, erased)
    expect(companyByNameTag(state, "acme-tag")).toBeNull()
    expect([isCompanyRegistered(state, "co_Ab3dE6"), companyCount(state)]).toEqual([true, 1])
    const taken = foldFacts(companiesDecider, registered, erased, other)
    expect(companyByNameTag(taken, "acme-tag")).toBe("co_other1")
  })
})
