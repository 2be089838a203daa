/** Chromium, if this machine has it. */
import { spawnSync } from "node:child_process"
import { chromium } from "playwright-core"
import type { Browser } from "playwright-core"

/** Program names in different distributions. */
const NAMES = ["chromium", "chromium-browser", "google-chrome"]

const PROGRAM = NAMES.map((name) =>
  spawnSync("which", [name], { encoding: "utf8" }).stdout.trim(),
).find((path) => path !== "")

/** Why Chromium cannot be used; null if it can. */
export const noChromiumReason: string | null =
  PROGRAM === undefined ? "chromium is not installed" : null

/** Disable background requests, so that nothing leaves the machine. */
const QUIET_OPTIONS = [
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-quic",
  "--disable-gpu",
  "--no-first-run",
  // Pages are open too briefly for optimizing compilers to pay off.
  "--js-flags=--no-opt --no-maglev",
]

/**
 * Disabled features. Chromium's toolbar consists of web pages that load in each window and take longer than most
 * tested pages. Only the last list counts, so it repeats Playwright's.
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

/** Opens a browser with a new profile. @param args additional arguments */
export function openChromium(args: readonly string[] = []): Promise<Browser> {
  if (PROGRAM === undefined) throw new Error(String(noChromiumReason))
  return chromium.launch({
    executablePath: PROGRAM,
    chromiumSandbox: false,
    args: [...QUIET_OPTIONS, `--disable-features=${DISABLED_FEATURES.join(",")}`, ...args],
  })
}
