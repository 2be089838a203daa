/** The console: web pages on which a company's people run operations and see their company's data. */
import type { Slice } from "../frame/slice.ts"
import { consoleAsset, consolePages } from "./files.ts"
import { consoleLink } from "./operate/link.ts"
import { doOperation, listOperations, doOperationWithFile, heartbeat } from "./operations.ts"
import {
  requestSignInCode,
  followLink,
  readSession,
  signIn,
  signOut,
  sessionEntryPoint,
} from "./sign-in.ts"

/** The console's pages, sign-in and operations. */
export const consoleSlice: Slice = {
  name: "console",
  pages: [
    requestSignInCode,
    signIn,
    readSession,
    signOut,
    followLink,
    listOperations,
    doOperation,
    doOperationWithFile,
    heartbeat,
    consoleAsset,
    ...consolePages,
  ],
  entryPoints: [sessionEntryPoint],
  commands: [consoleLink],
  topics: { console: "the console" },
}
