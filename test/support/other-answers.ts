/** How each slice's tests come to those answers of its routes that the route's own example does not lead to. */
import { existsSync, readdirSync } from "node:fs"
import type { ApiAnswer, Company, World } from "./world.ts"

/** By the route's name for clients and the status, such as `buyCredits 202`. */
export type OtherAnswers = Readonly<
  Record<string, (world: World, company: Company) => Promise<ApiAnswer>>
>

const TESTS = new URL("../", import.meta.url)

/** What stands in the `other-answers.ts` of any folder of tests but this one. */
export async function allOtherAnswers(): Promise<OtherAnswers> {
  const files = readdirSync(TESTS)
    .filter((folder) => folder !== "support")
    .map((folder) => new URL(`${folder}/other-answers.ts`, TESTS))
    .filter((file) => existsSync(file))
  const found = await Promise.all(
    files.map(
      async (file) => (await import(file.href)) as { readonly OTHER_ANSWERS: OtherAnswers },
    ),
  )
  return Object.assign({}, ...found.map(({ OTHER_ANSWERS }) => OTHER_ANSWERS)) as OtherAnswers
}
