import { boundedText } from "../frame/kernel/schema.ts"

/** A trimmed text of at least `least` and at most `most` characters. */
export const textBetween = (least: number, most: number) =>
  boundedText(most)
    .transform((text) => text.trim())
    .refine((text) => [...text].length >= least, `Must be at least ${least} characters.`)
