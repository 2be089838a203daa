/** What a parent and its processes tell each other. Sockets go along with it. */
import { z } from "zod"

/** What a process is told first: which of them it is, and what they have together. */
export const Seat = z.object({
  is: z.literal("seat"),
  /** 1 for the one that also serves operators, and what a machine has once. */
  number: z.int(),
  /** How many there are. */
  of: z.int(),
  /** Where calls of its own come in: what hands them over is no socket that listens. */
  socketPath: z.string(),
  url: z.string(),
  databaseUrl: z.string(),
  databaseConnections: z.int(),
  /** The parent, which is who is told to stop. */
  parentPid: z.int(),
  demo: z.boolean(),
  isPlayed: z.boolean(),
  /** Whether it was there before, and said everything then. */
  isAgain: z.boolean(),
})

/** The same, read. */
export type Seat = z.infer<typeof Seat>

/** What a process is told behind that. */
export type ToProcess =
  /** The socket that comes along is one of its connections, of which this was read. */
  | { readonly is: "connection"; readonly home: number; readonly head: Uint8Array }
  /** Connections whose home is that process find it there again. */
  | { readonly is: "home"; readonly number: number }
  | { readonly is: "stop" }
  /** Whether it still answers. */
  | { readonly is: "ask" }

/** What it says. */
export type FromProcess =
  /** It is loaded, and opens from now on what it serves from. */
  | { readonly is: "begun" }
  | { readonly is: "ready" }
  /** It does. */
  | { readonly is: "answer" }
  /** The connection that was sent has arrived. */
  | { readonly is: "taken" }
  | { readonly is: "fault"; readonly sentence: string }
