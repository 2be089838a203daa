import { boundedText } from "../frame/kernel/schema.ts"

/** A trimmed text of at least `minLength` and at most `maxLength` characters. */
export const textBetween = (minLength: number, maxLength: number) =>
  boundedText(maxLength)
    .transform((text) => text.trim())
    .refine((text) => [...text].length >= minLength, `Must be at least ${minLength} characters.`)
