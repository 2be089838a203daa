/** Pieces that the routes of billing share. */
import { z } from "zod"

/** Why these routes are there, for the document. */
export const BEYOND_SPEC =
  "Not in the specification: finance gets by HTTP what the command line exports. Not counted, not charged."

/** A UTC month. */
export const monthText = z
  .string({ error: "Must be a month such as 2026-11." })
  .regex(/^\d{4}-(0[1-9]|1[0-2])$/, "Must be a month such as 2026-11.")
