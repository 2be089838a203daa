/** A real browser, where this machine has one. */
import { spawnSync } from "node:child_process"
import { chromium } from "playwright-core"
import type { Browser } from "playwright-core"

/** The names that distributions give it. */
const NAMES = ["chromium", "chromium-browser", "google-chrome"]

const PROGRAM = NAMES.map((name) =>
  spawnSync("which", [name], { encoding: "utf8" }).stdout.trim(),
).find((path) => path !== "")

/** Why there is none; null where there is one. */
export const noBrowser: string | null = PROGRAM === undefined ? "chromium is not installed" : null

/** What it would else do by itself: nothing of a test leaves the machine. */
const QUIET = [
  ...["--disable-background-networking", "--disable-component-update", "--disable-sync"],
  ...["--disable-quic", "--disable-gpu", "--no-first-run"],
]

/** Opens one with a profile of its own. @param args what it is told besides */
export function openBrowser(args: readonly string[] = []): Promise<Browser> {
  if (PROGRAM === undefined) throw new Error(String(noBrowser))
  return chromium.launch({
    executablePath: PROGRAM,
    chromiumSandbox: false,
    args: [...QUIET, ...args],
  })
}
