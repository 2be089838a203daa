/** The console: the page on which a company's people do what the API has no route for, and look at the rest. */
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

/** What is served to browsers, and who is signed in there. */
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
