/** The thread that looks through one page of a stranger's. */
import { parentPort, workerData } from "node:worker_threads"
import { findPageProblems } from "./page-problems.ts"
import type { PageToAnalyze } from "./page-analysis.ts"

const { page, html, brand } = workerData as PageToAnalyze
// It is a thread's, and no window's.
// eslint-disable-next-line unicorn/require-post-message-target-origin
parentPort?.postMessage(findPageProblems(page, html, brand))
