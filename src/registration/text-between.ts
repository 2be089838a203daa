/** Text with something in it, as callers write it. */
import { boundedText } from "../frame/kernel/schema.ts"

/** Text of at least and at most so many characters, without the spaces around it. */
export const textBetween = (least: number, most: number) =>
  boundedText(most)
    .transform((text) => text.trim())
    .refine((text) => [...text].length >= least, `Must be at least ${least} characters.`)
