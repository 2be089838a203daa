/** Finds statements about sharing numbers: a denial, and any admission. */

const PASSED_ON =
  /\b(?:shar(?:e|es|ed|ing)|sold|sell(?:s|ing)?|rent(?:s|ed|ing)?|disclos(?:e|es|ed|ing)|trad(?:e|es|ed|ing)|transfer(?:s|red|ring)?)\b/i
const TO_OTHERS =
  /\bthird[- ]part(?:y|ies)\b|\b(?:affiliate|partner|advertiser|sponsor|marketer|data broker)s?\b|\bother (?:companies|businesses|organizations)\b/i
/** Other verbs of sharing, with a third party as the recipient. */
const OTHERS =
  "(?:third[- ]part(?:y|ies)|affiliate|partner|advertiser|sponsor|marketer|data broker)"
const DATA = "(?:numbers?|data|information|details|consent|contacts?|lists?|it|them)"
const HANDED = new RegExp(
  // "provide numbers to them", "give them numbers", "made available to them".
  `\\b(?:provid(?:e|es|ed|ing)|giv(?:e|es|ing)|gave|pass(?:es|ing)?|hand(?:s|ing)?|releas(?:e|es|ing)|leas(?:e|es|ing)|mak(?:e|es|ing)) (?:[\\w'-]+ ){0,6}${DATA} (?:[\\w'-]+ ){0,4}to (?:[\\w'-]+ ){0,4}${OTHERS}|` +
    `\\b(?:provid(?:e|es|ing)|giv(?:e|es|ing)) (?:[\\w'-]+ ){0,3}${OTHERS}s? (?:with )?(?:your|mobile|phone|customer|numbers?)\\b|` +
    `\\b(?:given|provided|passed|passed on|handed over|released|leased|available) (?:[\\w'-]+ ){0,3}to (?:[\\w'-]+ ){0,4}${OTHERS}`,
  "i",
)
/** Admissions of sharing customers' numbers, whatever the recipient. */
const OUR_SHARING =
  /\bwe (?:[\w'-]+ ){0,3}(?:share|sell|rent|trade)\b (?:(?:and|or) [\w'-]+ ){0,2}(?:[\w'-]+ ){0,2}(?:your|customers?'?|users?'?|mobile|phone|cell|personal|opt-in) (?:[\w'-]+ ){0,3}(?:numbers?|data|information|details|consent)\b|\b(?:your|mobile|phone|personal) (?:[\w'-]+ ){0,3}(?:numbers?|data|information|details|consent) (?:[\w'-]+ ){0,2}(?:is|are|be) (?:[\w'-]+ ){0,2}(?:shared|sold|rented|traded)\b/i
/** Recipients to whom sharing is necessary, or no recipient at all. */
const REQUIRED_RECIPIENTS =
  /\b(?:carriers?|operators?|providers?|processors?|vendors?|services?|laws?|legal|courts?|authorities|us|nobody|no one|your (?:consent|permission))\b/i
/** Companies that deliver texts must receive the numbers. */
const DELIVERS =
  /\bthird[- ]party (?:service )?(?:providers?|vendors?|processors?|carriers?|platforms?)\b/gi
const NUMBERS =
  /\b(?:mobile|phone|telephone|cell|numbers?|sms|texts?|texting|messaging|opt[- ]?in|consent)\b/i
const NOT =
  /\b(?:not(?! only)|never|cannot|neither|nor|refrain|prohibited|none of|under no circumstances)\b|n't\b|\bno (?:mobile|phone|text|sms|opt|personal|customer|consumer|data|information|number|such|part)/i
/** A verb that makes the clause a statement; a mere mention is none. */
const DONE = /\b(?:we|our|is|are|be|been|may|will|can|might|reserve)\b/i
/** A second verb that affirms sharing after a negation in the same clause. */
const AFTER_ALL =
  /\b(?:may|will|can|might|but) (?:also |still |then |be |do ){0,3}(?:share|shared|sell|sold|rent|rented|disclose|disclosed|trade|traded|transfer|transferred)\b/i
/** Boundaries of clauses, past which a negation does not reach. */
const CLAUSES =
  /[.!?;](?= |$)|\bbut (?=(?:we|our|they|it|your|may|will|can|might)\b)|\b(?:however|except|unless|although|though|while|yet)\b|[,)] (?=(?:and )?we\b)|\band (?=(?:we|may|will|can)\b)/i
const MAX_CLAUSE = 2_000

const isNegated = (clause: string, before: number) => NOT.test(clause.slice(0, before))

/** Whether a text denies and admits sharing. */
export interface SharingStatements {
  readonly hasSharingDenial: boolean
  readonly hasSharingAdmission: boolean
}

/** Finds the statements of a text about sharing numbers. @param text with single spaces */
export function findSharingStatements(text: string): SharingStatements {
  let hasSharingDenial = false
  let hasSharingAdmission = false
  for (const rawClause of text.split(CLAUSES)) {
    const clause = rawClause.slice(0, MAX_CLAUSE).replaceAll(DELIVERS, "providers")
    const passed = TO_OTHERS.test(clause) ? PASSED_ON.exec(clause) : null
    for (const found of [passed, HANDED.exec(clause)]) {
      if (found === null) continue
      if (isNegated(clause, found.index)) {
        const rest = clause.slice(found.index + found[0].length)
        hasSharingDenial ||= NUMBERS.test(clause)
        hasSharingAdmission ||= AFTER_ALL.test(rest)
      } else {
        hasSharingAdmission ||= DONE.test(clause)
      }
    }
    hasSharingAdmission ||=
      OUR_SHARING.test(clause) && !NOT.test(clause) && !REQUIRED_RECIPIENTS.test(clause)
  }
  return { hasSharingDenial, hasSharingAdmission }
}
