import { describe, expect, it } from "vitest"
import type { CompanyPlan } from "../../domain/company/companies.ts"
import {
  companies,
  companyByNameTag,
  companyCount,
  isRegistered,
} from "../../domain/company/companies.ts"
import { fold, given } from "../support/spec.ts"

const NOW = Date.parse("2026-03-02T10:00:00.000Z")
const plan: CompanyPlan = {
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
  it("registers a company with all that it begins with", () => {
    given(companies).when(register).records(registered)
  })

  it("records nothing for a company that is registered", () => {
    given(companies, registered).when(register).recordsNothing()
    given(companies, registered)
      .when({ ...register, fundsMicros: 0 })
      .recordsNothing()
  })

  it("is refused a name that another company has", () => {
    given(companies, registered)
      .when({ ...register, companyId: "co_other1" })
      .refuses("name_taken")
  })

  it("is refused an id that another company has, for it routes that one's keys", () => {
    given(companies, registered)
      .when({ ...register, nameTag: "other-tag" })
      .refuses("id_taken")
  })

  it("registers another company beside it", () => {
    const other = { companyId: "co_other1", nameTag: "other-tag" } as const
    given(companies, registered)
      .when({ ...register, ...other })
      .records({ ...registered, ...other })
  })
})

describe("the companies", () => {
  it("are found by name and by id", () => {
    const state = fold(companies, registered)
    expect(companyByNameTag(state, "acme-tag")).toBe("co_Ab3dE6")
    expect(companyByNameTag(state, "other-tag")).toBeNull()
    expect([isRegistered(state, "co_Ab3dE6"), isRegistered(state, "co_other1")]).toEqual([
      true,
      false,
    ])
    expect(companyCount(state)).toBe(1)
  })
})

describe("EraseCompany", () => {
  const erase = { type: "EraseCompany", at: NOW, companyId: "co_Ab3dE6" } as const
  const erased = { type: "CompanyErased", at: NOW, companyId: "co_Ab3dE6" } as const

  it("strikes a company off the names, once", () => {
    given(companies, registered).when(erase).records(erased)
    given(companies, registered, erased).when(erase).recordsNothing()
    given(companies).when(erase).refuses("no_such_company")
  })

  it("leaves its name to another company, its id and its place to nobody", () => {
    const other = { ...registered, companyId: "co_other1" } as const
    given(companies, registered, erased)
      .when({ ...register, companyId: "co_other1" })
      .records(other)
    given(companies, registered, erased).when(register).refuses("id_taken")
    const state = fold(companies, registered, erased)
    expect(companyByNameTag(state, "acme-tag")).toBeNull()
    expect([isRegistered(state, "co_Ab3dE6"), companyCount(state)]).toEqual([true, 1])
    const taken = fold(companies, registered, erased, other)
    expect(companyByNameTag(taken, "acme-tag")).toBe("co_other1")
  })
})
