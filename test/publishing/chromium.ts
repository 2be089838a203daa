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
export const noChromiumReason: string | null =
  PROGRAM === undefined ? "chromium is not installed" : null

/** What it would else do by itself: nothing of a test leaves the machine. */
const QUIET_OPTIONS = [
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-quic",
  "--disable-gpu",
  "--no-first-run",
  // No page is looked at for so long that what its script is compiled to by then pays.
  "--js-flags=--no-opt --no-maglev",
]

/**
 * What it leaves out. Its own toolbar is made of pages too, in each window anew, which take longer to load than
 * most of those that are looked at. The last list that is given counts: that of the one who starts it is said again.
 */
const DISABLED_FEATURES = [
  "WebUIOmniboxPopup",
  "WebUIOmniboxAimPopup",
  "WebUIOmniboxFullPopup",
  "WebUIReloadButton",
  "InitialWebUI",
  "PreloadTopChromeWebUI",
  "AimEnabled",
  "AvoidCorsURLLoaderRestartOnRedirect",
  "AvoidUnnecessaryBeforeUnloadCheckSync",
  "DestroyProfileOnBrowserClose",
  "HttpsFirstBalancedModeAutoEnable",
  "HttpsUpgrades",
  "LensOverlay",
  "MediaRouter",
  "NetworkTimeServiceQuerying",
  "OptimizationHints",
  "PaintHolding",
  "PreconnectToSearch",
  "ThirdPartyStoragePartitioning",
]

/** Opens one with a profile of its own. @param args what it is told besides */
export function openChromium(args: readonly string[] = []): Promise<Browser> {
  if (PROGRAM === undefined) throw new Error(String(noChromiumReason))
  return chromium.launch({
    executablePath: PROGRAM,
    chromiumSandbox: false,
    args: [...QUIET_OPTIONS, `--disable-features=${DISABLED_FEATURES.join(",")}`, ...args],
  })
}
