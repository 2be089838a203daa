/** The default branch: what names it, what follows it. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { beforeEach, describe, expect, it } from "vitest"
import type { Company } from "../support/world.ts"
import { makeCompany } from "../support/world.ts"
import { codeWorld, exportedFrom, folderOf } from "./code-world.ts"
import { bundleOf, commitFiles, git, workingCopy } from "./git.ts"
import { zipOf } from "./zips.ts"

const code = await codeWorld()
let company: Company
beforeEach(async () => {
  company = await makeCompany(code.world)
})

const operate = (name: string, input: object = {}) =>
  code.world.operate(`repository ${name}`, { company: company.companyId, ...input })

/** The branch that a clone of the company's repository checks out. */
const headOf = ({ companyId }: Company): string => {
  const folder = folderOf(code.codeDir, { companyId })
  return git(folder, "symbolic-ref", "HEAD")
}

describe("the default branch", () => {
  it("is the one of an imported bundle; exports and uploads use it", async () => {
    const copy = workingCopy(code.folder, { "a.txt": "one\n" })
    git(copy, "branch", "-m", "master")
    git(copy, "checkout", "-q", "-b", "feature")
    commitFiles(copy, { "b.txt": "two\n" })
    git(copy, "checkout", "-q", "master")
    await operate("import", { file: bundleOf(copy) })
    expect(headOf(company)).toBe("refs/heads/master")
    expect(await operate("show")).toMatchObject({ branch: "master" })
    const zip = await exportedFrom(code, company.companyId, { format: "zip" })
    expect(await operate("upload", { file: zip })).toMatchObject({
      pushId: null,
      commit: git(copy, "rev-parse", "master"),
    })
    const file = join(code.folder, "upload.zip")
    writeFileSync(file, zipOf([{ name: "c.txt", text: "three\n" }]))
    const uploaded = await operate("upload", { file })
    const { refs } = await operate("show")
    expect(refs).toContainEqual({ kind: "branch", name: "master", id: uploaded.commit })
  })

  it("is the branch that the bundle's HEAD points to, where it has several", async () => {
    const copy = workingCopy(code.folder, { "a.txt": "one\n" })
    git(copy, "branch", "-m", "alpha")
    git(copy, "checkout", "-q", "-b", "zeta")
    commitFiles(copy, { "b.txt": "two\n" })
    await operate("import", { file: bundleOf(copy) })
    expect(headOf(company)).toBe("refs/heads/zeta")
  })

  it("is changed by repository default-branch", async () => {
    const copy = workingCopy(code.folder, { "a.txt": "one\n" })
    git(copy, "branch", "trunk")
    await operate("import", { file: bundleOf(copy) })
    expect(headOf(company)).toBe("refs/heads/main")
    for (let i = 0; i < 2; i += 1) {
      expect(await operate("default-branch", { branch: "trunk" })).toEqual({
        companyId: company.companyId,
        branch: "trunk",
      })
    }
    expect(headOf(company)).toBe("refs/heads/trunk")
    expect(await operate("show")).toMatchObject({ branch: "trunk" })
    const stream = `code-${company.companyId}`
    const { events } = await code.world.operate("audit show", { stream })
    const types = events.map(({ type }: { readonly type: string }) => type)
    expect(types.filter((type: string) => type === "DefaultBranchChanged")).toHaveLength(1)
    await expect(operate("default-branch", { branch: "none" })).rejects.toMatchObject({
      code: "no_branch",
      message: expect.stringContaining("main, trunk"),
    })
  })

  it("of a restored repository is what the facts say, also where several branches are equal", async () => {
    const copy = workingCopy(code.folder, { "a.txt": "one\n" })
    git(copy, "branch", "trunk")
    await operate("import", { file: bundleOf(copy) })
    await operate("default-branch", { branch: "trunk" })
    await code.repositories.erase(company.companyId)
    await operate("create", { anew: true })
    await operate("import", { file: bundleOf(copy) })
    expect(headOf(company)).toBe("refs/heads/trunk")
  })
})
