/** The operations on repositories and their default branch, with a real git. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { beforeEach, describe, expect, it, vi } from "vitest"
import { GitUnavailable } from "../../adapters/git/port.ts"
import type { Company } from "../support/world.ts"
import { makeCompany } from "../support/world.ts"
import { codeWorld, exportRepository, repositoryFolder } from "./code-world.ts"
import { writeBundle, commitFiles, git, makeWorkingCopy } from "./git.ts"
import type { ZipEntry } from "./zips.ts"
import { buildZip } from "./zips.ts"

const code = await codeWorld()
let company: Company
beforeEach(async () => {
  company = await makeCompany(code.world)
})

const operate = (name: string, input: object = {}) =>
  code.world.operate(`repository ${name}`, { company: company.companyId, ...input })

/** The types of the facts about the company's code. */
async function facts(): Promise<readonly string[]> {
  const stream = `code-${company.companyId}`
  const { events } = await code.world.operate("audit show", { stream })
  return events.map(({ type }: { readonly type: string }) => type)
}

const exported = (input: object = {}) => exportRepository(code, company.companyId, input)

/** Clones the company's repository from its export. */
async function cloned(): Promise<string> {
  const copy = join(code.folder, `clone-${Math.random().toString(36).slice(2)}`)
  git(code.folder, "clone", "-q", "-b", "main", await exported(), copy)
  return copy
}

describe("repository create", () => {
  it("creates an empty repository, once", async () => {
    const { companyId } = company
    for (let i = 0; i < 2; i += 1) {
      expect(await operate("create")).toEqual({ companyId, branch: "main" })
    }
    expect(await facts()).toEqual(["RepositoryCreated"])
    await expect(operate("export")).rejects.toMatchObject({ code: "empty_repository" })
    await expect(operate("export", { format: "zip" })).rejects.toMatchObject({
      code: "empty_repository",
    })
  })

  it("fails and records nothing while git cannot be used", async () => {
    const fault = new GitUnavailable("git cannot be run")
    const broken = vi.spyOn(code.repositories, "create").mockRejectedValueOnce(fault)
    await expect(operate("create")).rejects.toMatchObject({
      code: "unavailable",
      message: "git cannot be run",
    })
    broken.mockRestore()
    await expect(facts()).rejects.toThrow("There is no")
  })
})

describe("repository show", () => {
  it("shows whether the repository exists, and where its branches and tags point", async () => {
    const { companyId } = company
    const none = { companyId, isThere: false, branch: "main", refs: [] }
    expect(await operate("show")).toEqual(none)
    await operate("create")
    expect(await operate("show")).toEqual({ ...none, isThere: true })
    const copy = makeWorkingCopy(code.folder, { "a.txt": "one\n" })
    git(copy, "tag", "v1")
    await operate("import", { file: writeBundle(copy) })
    const id = git(copy, "rev-parse", "HEAD")
    const refs = [
      { kind: "branch", name: "main", id },
      { kind: "tag", name: "v1", id },
    ]
    expect(await operate("show")).toEqual({ companyId, isThere: true, branch: "main", refs })
  })
})

describe("repository import and export", () => {
  it("import a bundle like a push, and export all of it", async () => {
    const copy = makeWorkingCopy(code.folder, { "a.txt": "one\n" })
    git(copy, "tag", "v1")
    const first = await operate("import", { file: writeBundle(copy) })
    expect(first).toEqual({
      companyId: company.companyId,
      pushId: expect.stringMatching(/^push_/),
      refs: 2,
    })
    const tip = commitFiles(copy, { "b.txt": "two\n" })
    const file = writeBundle(copy)
    expect(await operate("import", { file })).toMatchObject({ refs: 2 })
    // Importing the same bundle again makes no push.
    expect(await operate("import", { file })).toMatchObject({ pushId: null, refs: 2 })
    const pushed = ["PushAccepted", "PushCompleted"]
    expect(await facts()).toEqual(["RepositoryCreated", ...pushed, ...pushed])
    const clone = await cloned()
    expect(git(clone, "rev-parse", "HEAD")).toBe(tip)
    expect(git(clone, "tag")).toBe("v1")
    const { pushes } = await code.world.operate("code pushes", { company: company.companyId })
    expect(pushes.map(({ status }: { status: string }) => status)).toEqual(["landed", "landed"])
  })

  it("write the files of the default branch to a zip, which can be uploaded", async () => {
    const copy = makeWorkingCopy(code.folder, { "a.txt": "one\n" })
    await operate("import", { file: writeBundle(copy) })
    const zip = await exported({ format: "zip" })
    expect(readFileSync(zip).subarray(0, 2).toString()).toBe("PK")
    const uploaded = await operate("upload", { file: zip })
    expect(uploaded).toMatchObject({ pushId: null, commit: git(copy, "rev-parse", "HEAD") })
  })

  it("reject a bundle for the same reasons as a push, and store nothing", async () => {
    const copy = makeWorkingCopy(code.folder, { "a.txt": `key ${company.key}\n` })
    await expect(operate("import", { file: writeBundle(copy) })).rejects.toMatchObject({
      code: "push_refused",
    })
    expect(await facts()).toEqual(["RepositoryCreated", "PushRefused"])
    expect(await code.repositories.listRefs(company.companyId)).toEqual([])
  })

  it("name the fault of a file", async () => {
    const file = join(code.folder, "no.bundle")
    await expect(operate("import", { file })).rejects.toMatchObject({ code: "bad_file" })
    writeFileSync(file, "no bundle\n")
    await expect(operate("import", { file })).rejects.toMatchObject({ code: "bad_file" })
  })

  it("fail without a repository", async () => {
    await expect(operate("export")).rejects.toMatchObject({ code: "no_repository" })
  })
})

function upload(entries: readonly ZipEntry[] | Buffer, input: object = {}) {
  const file = join(code.folder, "upload.zip")
  writeFileSync(file, Buffer.isBuffer(entries) ? entries : buildZip(entries))
  return operate("upload", { file, ...input })
}

describe("repository upload", () => {
  it("commits the files of a zip, and a second zip on top of it", async () => {
    const first = await upload([
      { name: "README.md", text: "hello\n" },
      { name: "bin/run", text: "#!/bin/sh\n", mode: 0o100_755 },
      { name: "bin/", mode: 0o040_755 },
      { name: "bin.d/a", text: "", isStored: true },
      { name: "bin0", text: "hello\n" },
      { name: "größe/ü.txt", text: "x".repeat(3_000_000) },
    ])
    expect(first).toEqual({
      companyId: company.companyId,
      files: 5,
      pushId: expect.stringMatching(/^push_/),
      commit: expect.stringMatching(/^[0-9a-f]{40}$/),
    })
    const second = await upload([{ name: "README.md", text: "hello again\n" }], {
      message: "Second\n\nwith more to say",
    })
    const clone = await cloned()
    git(clone, "fsck", "--strict")
    expect(git(clone, "log", "--format=%H %an %s")).toBe(
      `${second.commit} test Second\n${first.commit} test Upload upload.zip`,
    )
    const listed = git(clone, "-c", "core.quotePath=off", "ls-tree", "-r", first.commit)
    expect(listed.split("\n").map((line) => line.replace(/ blob \w+\t/, " "))).toEqual([
      "100644 README.md",
      "100644 bin.d/a",
      "100755 bin/run",
      "100644 bin0",
      "100644 größe/ü.txt",
    ])
    expect(git(clone, "ls-files")).toBe("README.md")
  })

  it("makes no commit if nothing changed", async () => {
    const first = await upload([{ name: "a", text: "1" }])
    const again = await upload([{ name: "a", text: "1" }])
    expect(again).toEqual({ ...first, pushId: null })
    expect(await facts()).toEqual(["RepositoryCreated", "PushAccepted", "PushCompleted"])
  })

  it("is rejected for a deleted company until it is restored, like create and import", async () => {
    const { companyId } = company
    await code.world.operate("company delete", { company: companyId }, "a test")
    const file = writeBundle(makeWorkingCopy(code.folder, { "a.txt": "one\n" }))
    const refused = { code: "company_deleted" }
    await expect(upload([{ name: "a", text: "1" }])).rejects.toMatchObject(refused)
    await expect(operate("create")).rejects.toMatchObject(refused)
    await expect(operate("import", { file })).rejects.toMatchObject(refused)
    expect(await code.repositories.has(companyId)).toBe(false)
    await code.world.operate("company restore", { company: companyId }, "a test")
    await upload([{ name: "a", text: "1" }])
  })

  it("is checked like a push", async () => {
    await expect(upload([{ name: "a", text: company.key }])).rejects.toMatchObject({
      code: "push_refused",
    })
    const sealed = [{ name: "src/sealed/core.ts", text: "mine" }]
    await expect(upload(sealed)).rejects.toMatchObject({ code: "push_refused" })
  })

  it.for<[string, readonly ZipEntry[], string]>([
    ["a link", [{ name: "a", text: "/etc/passwd", mode: 0o120_777 }], "is a link"],
    ["a device", [{ name: "a", mode: 0o020_644 }], "is not a regular file"],
    ["a name above it", [{ name: "../a" }], "invalid relative path"],
    ["a name above it in the middle", [{ name: "a/../../b" }], "invalid relative path"],
    ["an absolute name", [{ name: "/etc/passwd" }], "absolute path"],
    ["a drive", [{ name: "C:/a" }], "absolute path"],
    ["backslashes that lead above it", [{ name: "..\\a" }], "invalid relative path"],
    ["an empty part of a name", [{ name: "a//b" }], "not a valid path of a file"],
    ["a name that is no UTF-8", [{ name: `caf${Buffer.of(0xe9).toString()}` }], "is not UTF-8"],
    ["a NUL in a name", [{ name: "a\0b" }], "not a valid path of a file"],
    ["a folder .GIT", [{ name: ".GIT/config" }], "remove the folder"],
    ["a file twice", [{ name: "a" }, { name: "a" }], "twice"],
    ["a file that is a folder", [{ name: "a" }, { name: "a/b" }], "a file and a folder"],
    ["an encrypted file", [{ name: "a", isEncrypted: true }], "encrypted"],
    [
      "a file larger than its stated size",
      [{ name: "a", text: "x".repeat(999), statedSize: 3 }],
      "too many bytes",
    ],
    [
      "a file smaller than its stated size",
      [{ name: "a", text: "abc", statedSize: 999 }],
      "not enough bytes",
    ],
    ["a file over the limit", [{ name: "a", statedSize: 300 * 1024 * 1024 }], "256 MiB"],
    [
      "files over the total limit",
      Array.from({ length: 10 }, (_, i) => ({ name: `${i}`, statedSize: 250 * 1024 * 1024 })),
      "2 GiB",
    ],
    ["a damaged file", [{ name: "a", text: "abc", crc: 1 }], "corrupt"],
    ["no files", [{ name: "a/" }], "no files"],
  ])("refuses %s", async ([, entries, why]) => {
    await expect(upload(entries)).rejects.toMatchObject({
      code: "bad_file",
      message: expect.stringContaining(why),
    })
    expect(await code.repositories.has(company.companyId)).toBe(false)
  })

  it("rejects a file that is not a zip or cannot be read", async () => {
    await expect(upload(Buffer.from("no zip"))).rejects.toMatchObject({
      code: "bad_file",
      message: expect.stringMatching(/it is not a zip file, or is truncated\.$/),
    })
    const file = join(code.folder, "folder.zip")
    mkdirSync(file)
    await expect(operate("upload", { file })).rejects.toMatchObject({ code: "bad_file" })
  })
})

/** The branch that a clone of the company's repository checks out. */
const headOf = ({ companyId }: Company): string => {
  const folder = repositoryFolder(code.codeDir, { companyId })
  return git(folder, "symbolic-ref", "HEAD")
}

describe("the default branch", () => {
  it("is taken from an imported bundle; exports and uploads use it", async () => {
    const copy = makeWorkingCopy(code.folder, { "a.txt": "one\n" })
    git(copy, "branch", "-m", "master")
    git(copy, "checkout", "-q", "-b", "feature")
    commitFiles(copy, { "b.txt": "two\n" })
    git(copy, "checkout", "-q", "master")
    await operate("import", { file: writeBundle(copy) })
    expect(headOf(company)).toBe("refs/heads/master")
    expect(await operate("show")).toMatchObject({ branch: "master" })
    const zip = await exportRepository(code, company.companyId, { format: "zip" })
    expect(await operate("upload", { file: zip })).toMatchObject({
      pushId: null,
      commit: git(copy, "rev-parse", "master"),
    })
    const file = join(code.folder, "upload.zip")
    writeFileSync(file, buildZip([{ name: "c.txt", text: "three\n" }]))
    const uploaded = await operate("upload", { file })
    const { refs } = await operate("show")
    expect(refs).toContainEqual({ kind: "branch", name: "master", id: uploaded.commit })
  })

  it("is the branch that the bundle's HEAD points to, if it has several branches", async () => {
    const copy = makeWorkingCopy(code.folder, { "a.txt": "one\n" })
    git(copy, "branch", "-m", "alpha")
    git(copy, "checkout", "-q", "-b", "zeta")
    commitFiles(copy, { "b.txt": "two\n" })
    await operate("import", { file: writeBundle(copy) })
    expect(headOf(company)).toBe("refs/heads/zeta")
  })

  it("is changed by repository default-branch", async () => {
    const copy = makeWorkingCopy(code.folder, { "a.txt": "one\n" })
    git(copy, "branch", "trunk")
    await operate("import", { file: writeBundle(copy) })
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

  it("of a recreated repository is restored from the facts, even if several branches are equal", async () => {
    const copy = makeWorkingCopy(code.folder, { "a.txt": "one\n" })
    git(copy, "branch", "trunk")
    await operate("import", { file: writeBundle(copy) })
    await operate("default-branch", { branch: "trunk" })
    await code.repositories.erase(company.companyId)
    await operate("create", { replaceLost: true })
    await operate("import", { file: writeBundle(copy) })
    expect(headOf(company)).toBe("refs/heads/trunk")
  })
})
