/** A world whose companies have code and boxes, simulated or in sandboxes of this machine. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect } from "vitest"
import { boxStreamOf } from "../../domain/boxes/aggregates.ts"
import type { BoxView } from "../../domain/boxes/box.ts"
import { viewOfBox } from "../../domain/boxes/box.ts"
import type { BoxId } from "../../domain/boxes/ids.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { CodeWorld } from "../code/code-world.ts"
import { codeWorld, openCodeWorld } from "../code/code-world.ts"
import { writeBundle, makeWorkingCopy } from "../code/git.ts"
import { buildZip } from "../code/zips.ts"
import type { Company, World, WorldOptions } from "../support/world.ts"
import { makeCallsFree, makeCompany, ownWorld } from "../support/world.ts"

/** Micro-dollars per minute of a small and a medium box. */
export const BOX_MINUTE_PRICES = { small: 2_000, medium: 4_000 } as const

/** The path of all boxes. */
export const BOXES_PATH = "/api/v1/sandboxes"

/** Opens a world whose clock and simulators the calling file may set. Call it at the top level of the file. */
export async function ownBoxWorld(): Promise<CodeWorld> {
  const world = await ownWorld("time", { rateLimits: "off" })
  await makeCallsFree(world)
  return codeWorld(world)
}

/**
 * Opens a world whose boxes are sandboxes of this machine; the tests of the file are skipped without sandboxes. Call
 * it at the top level of the file.
 */
export async function ownSandboxBoxWorld(): Promise<CodeWorld> {
  // Loading this module starts a process, which files with simulated boxes may not do.
  const { noSandboxReason, skipTestsBecause } = await import("../boxhost/sandbox-hosts.ts")
  skipTestsBecause(noSandboxReason)
  // The path must be short, because sockets are in it.
  const runDir = mkdtempSync(join(tmpdir(), "boxes-"))
  const BOX_HOST = noSandboxReason === null ? "bubblewrap" : "simulator"
  const settings = { BOX_HOST, LEDGER_BOX_DIR: runDir }
  const world = await ownWorld("settings", { rateLimits: "off", settings })
  await makeCallsFree(world)
  afterAll(async () => {
    const { boxHost } = world.ports
    for (const boxId of await boxHost.listBoxes()) await (await boxHost.find(boxId))?.stop()
    await world.ports.boxMachine?.sweep()
    rmSync(runDir, { recursive: true })
  })
  return codeWorld(world)
}

/** Opens a world that the caller closes and may restart. */
export async function openBoxWorld(options: WorldOptions = {}): Promise<CodeWorld> {
  const one = await openCodeWorld({ ...options, rateLimits: "off" })
  await makeCallsFree(one.world)
  return one
}

/** The bundle that all companies of a world import, by the world's folder: creating one runs git five times. */
const bundles = new Map<string, string>()

/** Creates a company with a repository of one commit. */
export async function makeBoxCompany(
  { world, folder }: Pick<CodeWorld, "world" | "folder">,
  funds = "50",
): Promise<Company> {
  const company = await makeCompany(world, { funds })
  const file =
    bundles.get(folder) ?? writeBundle(makeWorkingCopy(folder, { "README.md": "# Hello\n" }))
  bundles.set(folder, file)
  await world.operate("repository import", { company: company.companyId, file })
  return company
}

const companiesWithCode = new Set<CompanyId>()

/** Gives a company a repository of one commit, once. */
export async function importStarterCode(
  world: World,
  { companyId }: Pick<Company, "companyId">,
): Promise<void> {
  if (companiesWithCode.has(companyId)) return
  const folder = mkdtempSync(join(tmpdir(), "ledger-box-code-"))
  const file = join(folder, "code.zip")
  writeFileSync(file, buildZip([{ name: "README.md", text: "# Hello\n" }]))
  await world.operate("repository upload", { company: companyId, file })
  companiesWithCode.add(companyId)
  rmSync(folder, { recursive: true })
}

/** Requests a box, by default a small one. */
export async function requestBox(
  world: World,
  { key }: Pick<Company, "key">,
  options: object = {},
) {
  const body = { size: "small", ...options }
  return world.call(key, "POST", BOXES_PATH, { body })
}

/** Starts a box and waits until it runs or fails; returns its id. */
export async function startBoxAndWait(
  world: World,
  company: Pick<Company, "key">,
  options: object = {},
): Promise<BoxId> {
  const started = await requestBox(world, company, options)
  expect(started).toMatchObject({ status: 201, body: { status: "starting" } })
  await world.operate("wait")
  return started.body.id
}

/** Reads a box through the API. */
export async function getBox(world: World, { key }: Pick<Company, "key">, boxId: BoxId) {
  return (await world.call(key, "GET", `${BOXES_PATH}/${boxId}`)).body
}

/** Reads a box from its stream. */
export function boxViewOf(
  { ports }: World,
  companyId: CompanyId,
  boxId: BoxId,
): Promise<BoxView | null> {
  return ports.runner.readLatest(boxStreamOf(companyId, boxId), viewOfBox)
}
