/** The thread that looks through one page of a stranger's. */
import { parentPort, workerData } from "node:worker_threads"
import { problemsIn } from "./page-problems.ts"
import type { LookedThrough } from "./looking-through.ts"

const { page, html, brand } = workerData as LookedThrough
// It is a thread's, and no window's.
// eslint-disable-next-line unicorn/require-post-message-target-origin
parentPort?.postMessage(problemsIn(page, html, brand))
