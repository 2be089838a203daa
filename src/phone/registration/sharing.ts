/** What a page says of passing numbers on: a sentence that it is not done, and any that it is. */

const PASSED_ON =
  /\b(?:shar(?:e|es|ed|ing)|sold|sell(?:s|ing)?|rent(?:s|ed|ing)?|disclos(?:e|es|ed|ing)|trad(?:e|es|ed|ing)|transfer(?:s|red|ring)?)\b/i
const TO_OTHERS =
  /\bthird[- ]part(?:y|ies)\b|\b(?:affiliate|partner|advertiser|sponsor|marketer|data broker)s?\b|\bother (?:companies|businesses|organizations)\b/i
/** Who delivers texts has to get them. */
const DELIVERS =
  /\bthird[- ]party (?:service )?(?:providers?|vendors?|processors?|carriers?|platforms?)\b/gi
const NUMBERS =
  /\b(?:mobile|phone|telephone|cell|numbers?|sms|texts?|texting|messaging|opt[- ]?in|consent)\b/i
const NOT =
  /\b(?:not(?! only)|never|cannot|neither|nor|refrain|prohibited|none of|under no circumstances)\b|n't\b|\bno (?:mobile|phone|text|sms|opt|personal|customer|consumer|data|information|number|such|part)/i
/** Something is done, or may be: what is only named is not said. */
const DONE = /\b(?:we|our|is|are|be|been|may|will|can|might|reserve)\b/i
/** What was not done so far in a clause, and is at its end after all. */
const AFTER_ALL =
  /\b(?:may|will|can|might|but) (?:also |still |then |be |do ){0,3}(?:share|shared|sell|sold|rent|rented|disclose|disclosed|trade|traded|transfer|transferred)\b/i
/** Where another clause begins, for which a "not" before does not stand. */
const CLAUSES =
  /[.!?;](?= |$)|\bbut (?=(?:we|our|they|it|your|may|will|can|might)\b)|\b(?:however|except|unless|although|though|while|yet)\b|[,)] (?=(?:and )?we\b)|\band (?=(?:we|may|will|can)\b)/i
/** Longer than any clause that somebody reads. */
const MOST_CLAUSE = 2_000

const isNegated = (clause: string, before: number) => NOT.test(clause.slice(0, before))

/** What a text says of it. */
export interface Sharing {
  readonly saysItDoesNot: boolean
  readonly saysItDoes: boolean
}

/** What a text says of passing numbers on. @param text with single spaces */
export function sharingIn(text: string): Sharing {
  let saysItDoesNot = false
  let saysItDoes = false
  for (const whole of text.split(CLAUSES)) {
    const clause = whole.slice(0, MOST_CLAUSE).replaceAll(DELIVERS, "providers")
    const found = PASSED_ON.exec(clause)
    if (found === null || !TO_OTHERS.test(clause)) continue
    const rest = clause.slice(found.index + found[0].length)
    if (isNegated(clause, found.index)) {
      saysItDoesNot ||= NUMBERS.test(clause)
      saysItDoes ||= AFTER_ALL.test(rest)
    } else {
      saysItDoes ||= DONE.test(clause)
    }
  }
  return { saysItDoesNot, saysItDoes }
}
