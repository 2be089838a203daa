/** The worker thread that analyzes one untrusted page. */
import { parentPort, workerData } from "node:worker_threads"
import { findPageProblems } from "./page-problems.ts"
import type { PageToAnalyze } from "./page-analysis.ts"

const { page, html, brand } = workerData as PageToAnalyze
// This is a worker thread, not a window.
// eslint-disable-next-line unicorn/require-post-message-target-origin
parentPort?.postMessage(findPageProblems(page, html, brand))
